package rpc_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// long is set by go test ./rpc -long; see docs/architecture.md.
var long = flag.Bool("long", false, "run the long forms of the tests")

// inCI is set by go test ./rpc -ci, which .ci/run uses: more than usual, and less than -long.
var inCI = flag.Bool("ci", false, "run as much of the tests as .ci/run does")

// markName is a variable in the environment of every job of these tests. It identifies processes that outlive their
// server.
const markName = "SHELLD_WIRE_TEST"

var mark = strconv.Itoa(os.Getpid())

// TestMain runs the tests and then searches for leaks: goroutines, children of this process, and processes that any of
// their jobs started.
func TestMain(m *testing.M) {
	state, err := os.MkdirTemp("", "shelld-rpc-")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state) // no output files in the user's directory
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 {
		if err := nothingLeft(); err != nil {
			fmt.Fprintln(os.Stderr, "after the tests:", err)
			code = 1
		}
	}
	_ = os.RemoveAll(state) // Best effort: it is in the system's temporary directory.
	os.Exit(code)
}

func nothingLeft() error {
	return errors.Join(
		// The clock of the pattern engine goes on for a second after its last use.
		goleak.Find(goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock")),
		eventually(childrenLeft),
		eventually(strangersLeft),
	)
}

// eventually repeats a check until it succeeds: processes and goroutines that are ending do not report their end.
func eventually(f func() error) (err error) {
	for end := time.Now().Add(watchdog); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = f(); err == nil {
			return nil
		}
	}
	return err
}
