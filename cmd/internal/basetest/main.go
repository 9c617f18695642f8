// Package basetest contains helpers that the tests of the commands share. Only tests import it.
package basetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"shelld.dev/shelld/jobs"
)

// RaceOptions is the environment variable with the options of the race detector.
const RaceOptions = "GORACE"

// Main is the TestMain of a command: it puts copies of the test binary on PATH under the names of these programs, keeps
// output files out of the user's directory, and fails a run that leaves a goroutine behind.
func Main(m *testing.M, programs map[string]func()) {
	// Under the race detector each of these programs would sleep for a second before it exits.
	_ = os.Setenv(RaceOptions, os.Getenv(RaceOptions)+" atexit_sleep_ms=0") // The name is valid.
	testscript.Main(leakless{m}, programs)
}

// leakless fails a run that leaves a goroutine behind.
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
	// A server does not wait at its end for its spare keeper, a process as large as the server, which ends slowly under
	// the race detector; the goroutine that reaps the keeper ends with it. One goleak search takes about a second.
	for range 20 {
		if err = goleak.Find(); err == nil {
			return code
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return max(code, 1)
}

// NeedJobs skips the test if this version of shelld cannot run jobs at all.
func NeedJobs(t testing.TB) {
	t.Helper()
	if len(jobs.Platform().Modes) == 0 {
		t.Skip(strings.Join(jobs.Platform().NotReached, "; "))
	}
}

// NeedProgram skips the test if the program is missing. In CI, which must have all programs, it fails the test.
func NeedProgram(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("SHELLD_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
