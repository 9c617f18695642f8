package inputwait_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

const listener = `
import select, socket
a = socket.create_server(('127.0.0.1', 0))
print('ready', flush=True)
select.select([0, a], [], [])
`

// Earlier quiet does not count: it must be quiet again after each output.
func TestQuietOnceMore(t *testing.T) {
	t.Parallel()
	j := onTerminal(t, "python3", "-c", listener)
	j.waits("ready", listening, line, likely)
	for start := time.Now(); time.Since(start) < 1200*time.Millisecond; pause() {
		if v := j.prober.Look(200 * time.Millisecond); !v.Waiting {
			t.Fatalf("it was quiet, and %+v", v)
		}
	}
	for range 3 {
		if v := j.prober.Look(10 * time.Millisecond); v.Waiting || v.Again != 140*time.Millisecond {
			t.Fatalf("10 ms after an output that came at last: %+v", v)
		}
	}
}

// A process that takes input and is never quiet is reported after a second of repeated probes. Probes before a write do
// not count.
func TestNeverQuiet(t *testing.T) {
	t.Parallel()
	j := onTerminal(t, "python3", "-c", listener+"input()\nselect.select([0, a], [], [])")
	j.waits("ready", listening, line, likely)
	met := func(start time.Time) { // start: before the first possible probe
		t.Helper()
		v := j.prober.Look(time.Millisecond)
		for ; !v.Waiting; v = j.prober.Look(time.Millisecond) {
			if time.Since(start) > deadline {
				t.Fatalf("it is never told: %+v", v)
			}
			pause()
		}
		if v.State != listening || v.Confidence != likely || time.Since(start) < time.Second {
			t.Errorf("after %v %+v", time.Since(start), v)
		}
	}
	met(time.Now())
	j.signal(syscall.SIGSTOP)
	j.write("typed\n")
	if v := j.prober.Look(time.Millisecond); v.Waiting {
		t.Errorf("something is to be read, and %+v", v)
	}
	start := time.Now()
	j.signal(syscall.SIGCONT)
	for !strings.Contains(j.prober.Look(time.Millisecond).Why, "pselect6") {
		if time.Since(start) > deadline {
			t.Fatal("it never waits again")
		}
		pause()
	}
	met(start)
}
