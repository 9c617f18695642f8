package main

import (
	"testing"

	"shelld.dev/shelld/cmd/internal/basetest"
)

func TestMain(m *testing.M) {
	basetest.Main(m, map[string]func(){"shelld-mcp": main})
}

var (
	needJobs    = basetest.NeedJobs
	needProgram = basetest.NeedProgram
)
