package inputwait_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// A server without free descriptors does not see the waiter, and says so.
func TestNoDescriptorLeft(t *testing.T) {
	for name, code := range map[string]string{
		"a thread and a socket": "import sys, threading, socket\na = socket.create_server(('127.0.0.1', 0))\nthreading.Thread(target=sys.stdin.readline, daemon=True).start()\nprint('ready', flush=True)\na.accept()",
		"a pair of sockets":     "import select, socket\na, b = socket.socketpair()\nprint('ready', flush=True)\nselect.select([0, a], [], [])",
	} {
		t.Run(name, func(t *testing.T) {
			j := onTerminal(t, "bash", "-c", `python3 -c "$0"; :`, code)
			want := j.await("waiting", func(v inputwait.Verdict) bool {
				return v.Waiting && j.printed() != "" && j.quiet() > 200*time.Millisecond
			})
			least := lowest(t)
			prober, short := inputwait.New(j.target), 0
			for room := range 8 {
				v := within(t, least+uint64(room), func() inputwait.Verdict { return prober.Look(200 * time.Millisecond) })
				switch {
				case v.Waiting && v.State == want.State && v.Confidence == want.Confidence:
				case !v.Waiting && v.Again > 0:
					short++
				default:
					t.Errorf("with room for %d: %+v", room, v)
				}
			}
			if short == 0 {
				t.Error("there was always room")
			}
			if v := prober.Look(200 * time.Millisecond); v.State != want.State || v.Confidence != want.Confidence {
				t.Errorf("and then: %+v", v)
			}
		})
	}
}

// lowest returns the first free descriptor, after occupying all gaps below it.
func lowest(t *testing.T) uint64 {
	t.Helper()
	all := descriptors()
	most := 2
	for _, fd := range all {
		most = max(most, fd)
	}
	for {
		fd, err := unix.Dup(0)
		if err != nil {
			t.Fatal(err)
		}
		if fd > most {
			_ = unix.Close(fd)
			return uint64(fd)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
	}
}

// within probes while no descriptor from limit on can be opened.
func within(t *testing.T, limit uint64, look func() inputwait.Verdict) inputwait.Verdict {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	return look()
}
