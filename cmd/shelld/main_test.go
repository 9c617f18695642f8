package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"shelld/cmd/internal/basetest"
)

func TestMain(m *testing.M) {
	basetest.Main(m, programs)
}

// programs are what TestMain puts on PATH: copies of this binary under other names.
var programs = map[string]func(){"shelld": main}

var (
	needJobs  = basetest.NeedJobs
	needShell = basetest.NeedProgram
)

const raceOptions = basetest.RaceOptions

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

// writeProgram writes a file that is to be run. Meanwhile this process does not fork: until its execve a child
// of another test would have the file open for writing, and to run it would fail as "text file busy".
func writeProgram(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, 0o755)
}

// deref is *p. It ends the test if there is none, and not the whole run of the package.
func deref[T any](t testing.TB, p *T) T {
	t.Helper()
	if p == nil {
		t.Fatal("a value is missing")
	}
	return *p
}
