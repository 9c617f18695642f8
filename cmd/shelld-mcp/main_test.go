package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"shelld/jobs"
)

func TestMain(m *testing.M) {
	// Under the race detector each of them would sleep for a second before it exits.
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0") // The name is valid.
	testscript.Main(leakless{m}, map[string]func(){"shelld-mcp": main})
}

// leakless fails a run that left a goroutine behind.
type leakless struct{ *testing.M }

func (m leakless) Run() int {
	// The output files of the servers below are none of the user's.
	state, err := os.MkdirTemp("", "shelld-mcp-")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(state)
	code := m.M.Run()
	// The end of a server does not wait for its spare keeper, which is a process of this size,
	// slow to end under the race detector; the goroutine that reaps it ends with it. goleak
	// itself looks for about a second.
	for range 20 {
		if err = goleak.Find(); err == nil {
			return code
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return max(code, 1)
}

// needJobs skips where this version of shelld cannot run jobs at all.
func needJobs(t testing.TB) {
	t.Helper()
	if len(jobs.Platform().Modes) == 0 {
		t.Skip(strings.Join(jobs.Platform().NotReached, "; "))
	}
}

// needProgram skips where a program is missing, but not in CI.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("SHELLD_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
