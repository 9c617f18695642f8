package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/cmd/internal/basetest"
)

func TestMain(m *testing.M) {
	basetest.Main(m, programs)
}

// programs are the programs that TestMain puts on PATH: copies of this binary under other names.
var programs = map[string]func(){"shelld": main}

var (
	needJobs  = basetest.NeedJobs
	needShell = basetest.NeedProgram
)

const raceOptions = basetest.RaceOptions

// watchdog limits steps that normally take a second.
const watchdog = 30 * time.Second

// testServer returns a function that makes the command for the server that TestMain has put on PATH under its real
// name. The server is killed if ctx is done, and logs to log.
func testServer(log io.Writer) func(context.Context) (*exec.Cmd, error) {
	return func(ctx context.Context) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, "shelld", "serve")
		cmd.Stderr = log
		cmd.WaitDelay = time.Second // No other process should hold stderr; a hang would be the worse report.
		return cmd, cmd.Err
	}
}

// writeProgram writes an executable file. Meanwhile this process does not fork: until its execve, a child started by
// another test would have the file open for writing, and executing the file would fail with "text file busy".
func writeProgram(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, 0o755)
}

// deref returns *p. If p is nil, it ends the test, and not the whole run of the package.
func deref[T any](t testing.TB, p *T) T {
	t.Helper()
	if p == nil {
		t.Fatal("a value is missing")
	}
	return *p
}
