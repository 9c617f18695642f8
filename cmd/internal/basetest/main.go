// Package basetest is what the tests of the commands need alike. It is imported by tests alone.
package basetest

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

// RaceOptions is the variable that programs with the race detector read their options from.
const RaceOptions = "GORACE"

// Main is TestMain of a command: it puts copies of the test binary on PATH that are programs of
// these names, keeps output files out of the user's directory, and fails a run that left a
// goroutine behind.
func Main(m *testing.M, programs map[string]func()) {
	// Under the race detector each of them would sleep for a second before it exits.
	_ = os.Setenv(RaceOptions, os.Getenv(RaceOptions)+" atexit_sleep_ms=0") // The name is valid.
	testscript.Main(leakless{m}, programs)
}

// leakless fails a run that left a goroutine behind.
type leakless struct{ *testing.M }

func (m leakless) Run() int {
	state, err := os.MkdirTemp("", "shelld-cmd-")
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

// NeedJobs skips where this version of shelld cannot run jobs at all.
func NeedJobs(t testing.TB) {
	t.Helper()
	if len(jobs.Platform().Modes) == 0 {
		t.Skip(strings.Join(jobs.Platform().NotReached, "; "))
	}
}

// NeedProgram skips where a program is missing, but not where all of them have to be there.
func NeedProgram(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("SHELLD_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
