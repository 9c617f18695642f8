package main

import (
	"testing"

	"shelld.dev/shelld/cmd/internal/basetest"
)

func TestMain(m *testing.M) {
	programs["shelld-mcp"] = main
	basetest.Main(m, programs)
}

// programs are what the test binary is under other names.
var programs = map[string]func(){}

var (
	needJobs    = basetest.NeedJobs
	needProgram = basetest.NeedProgram
)
