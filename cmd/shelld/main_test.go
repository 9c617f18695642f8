package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"shelld/jobs"
)

func TestMain(m *testing.M) {
	// Under the race detector each of them would sleep for a second before it exits.
	_ = os.Setenv(raceOptions, os.Getenv(raceOptions)+" atexit_sleep_ms=0") // The name is valid.
	testscript.Main(leakless{m}, programs)
}

// programs are what TestMain puts on PATH: copies of this binary under other names.
var programs = map[string]func(){"shelld": main}

const raceOptions = "GORACE"

// leakless fails a run that left a goroutine behind.
type leakless struct{ *testing.M }

func (m leakless) Run() int {
	// The output files of the servers below are none of the user's.
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
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// watchdog is for what takes a second where all is well.
const watchdog = 30 * time.Second

// testServer is the server that TestMain has put on PATH under its real name. It
// is killed when ctx is done. What it logs is the test's to look at.
func testServer(log io.Writer) func(context.Context) (*exec.Cmd, error) {
	return func(ctx context.Context) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, "shelld", "serve")
		cmd.Stderr = log
		cmd.WaitDelay = time.Second // Nobody else should hold stderr; a hang is the worse report.
		return cmd, cmd.Err
	}
}

// needJobs skips where this version of shelld cannot run jobs at all.
func needJobs(t *testing.T) {
	t.Helper()
	if len(jobs.Platform().Modes) == 0 {
		t.Skip(strings.Join(jobs.Platform().NotReached, "; "))
	}
}
