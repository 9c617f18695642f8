package probe

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A probe that hangs is abandoned, and reported under its name.
func TestBounded(t *testing.T) {
	hangs := make(chan struct{})
	defer close(hangs)
	f := Bounded(Probe{"slow", func() Finding { <-hangs; return Finding{} }}, time.Millisecond)
	if f.Name != "slow" || f.Grade != Missing || f.Reason == "" || f.Advice == "" {
		t.Errorf("it found %+v", f)
	}
	f = Bounded(Probe{"quick", func() Finding { return Finding{Grade: OK, Found: "all"} }}, time.Minute)
	if f.Name != "quick" || f.Grade != OK || f.Found != "all" {
		t.Errorf("it found %+v", f)
	}
}

// A probe that has no descriptor left has not found that something is missing.
func TestShortOfDescriptors(t *testing.T) {
	err := &fs.PathError{Op: "open", Path: "/proc/self/stat", Err: syscall.EMFILE}
	f := Bounded(Probe{"proc", func() Finding { return Finding{Grade: Missing, Reason: err.Error(), Advice: "mount it"} }}, time.Minute)
	if f.Name != "proc" || f.Grade != Limited || f.Reason != err.Error() || !strings.Contains(f.Advice, "ulimit -n") {
		t.Errorf("it found %+v", f)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 KiB", 1 << 20: "1.0 MiB", 3 << 29: "1.5 GiB", 5 << 40: "5.0 TiB"} {
		if got := size(n); got != want {
			t.Errorf("%d is %q, not %q", n, got, want)
		}
	}
}
