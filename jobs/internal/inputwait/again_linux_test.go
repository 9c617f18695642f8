package inputwait_test

import (
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// If only quiet is missing, a probe returns when to probe again, and the verdict at that time is final.
func TestAgain(t *testing.T) {
	j := onTerminal(t, "python3", "-u", "-c", "import select,socket\na=socket.create_server(('127.0.0.1',0))\nprint('ready')\nselect.select([0,a],[],[])")
	v := j.await("about to wait", func(v inputwait.Verdict) bool {
		return v.Again > 0 && j.printed() != "" && v.Why != "output is still coming" // which the probe may still have seen
	})
	if v.Waiting || v.Again > 150*time.Millisecond || v.Why == "" {
		t.Errorf("too early: %+v", v)
	}
	if v = j.prober.Look(10 * time.Millisecond); v.Waiting || v.Again != 140*time.Millisecond {
		t.Errorf("10 ms after the last output: %+v", v)
	}
	if v = j.prober.Look(150 * time.Millisecond); !v.Waiting || v.State != listening || v.Again != 0 {
		t.Errorf("150 ms after the last output: %+v", v)
	}
	j = onTerminal(t, "dash", "-c", "printf '> '; sleep 60; :")
	for start := time.Now(); time.Since(start) < 200*time.Millisecond; pause() {
		if v := j.look(); v.Waiting || v.Again > 0 && time.Since(start) > 100*time.Millisecond {
			t.Fatalf("nothing is pending, but %+v", v)
		}
	}
}

// Root may differ from the leader: its descendants are the job, without Root itself.
func TestRoot(t *testing.T) {
	j := onTerminal(t, "bash", "-c", "(sleep 60 & cat; :); :")
	v := j.waits("", reading, line, exact)
	j.target.Root = j.cmd.Process.Pid
	j.prober = inputwait.New(j.target)
	if again := j.waits("", reading, line, exact); again.PID != v.PID {
		t.Errorf("below the leader waits %d, not %d", again.PID, v.PID)
	}
}

// A reused pid is not mistaken for the last waiter.
func TestPidUsedAgain(t *testing.T) {
	other := onPipes(t, "python3", "-u", "-c", "print('runs')\nwhile True: pass")
	for start := time.Now(); other.printed() == ""; pause() {
		if time.Since(start) > deadline {
			t.Fatal("it does not run")
		}
	}
	j := onPipes(t, "cat")
	j.waits("", reading, line, exact)
	inputwait.WaitedLast(j.prober, other.cmd.Process.Pid)
	if v := j.prober.Look(time.Millisecond); v.Confidence != exact {
		t.Errorf("%+v", v)
	}
}
