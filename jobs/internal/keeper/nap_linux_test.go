package keeper

import (
	"testing"
	"time"
)

// A sweep that found a new process is followed by the next at once. One that did not leaves the processors to the dying
// processes, for a time that grows with its duration, up to a maximum.
func TestKillSweepPause(t *testing.T) {
	op := &killOp{omitted: 1}
	for i, test := range []struct {
		n, met, listed, slipped int
		took                    time.Duration
		want                    time.Duration
	}{
		{0, 0, 1, 0, time.Minute, firstNap},
		{1, 1, 1, 0, 0, 2 * firstNap},
		{2, 1, 1, 0, 10 * firstNap, restTimes * 10 * firstNap},
		{3, 1, 1, 0, 0, 8 * firstNap},
		{4, 0, 1, 0, time.Minute, firstNap}, // from here on as at the start
		{5, 1, 1, 0, time.Microsecond, 2 * firstNap},
		{6, 1, 1, 0, time.Minute, maxRest},
		{7, 1, 9, 1, time.Minute, firstNap},     // one was gone before it was inspected
		{8, 1, 0, 0, time.Minute, 2 * firstNap}, // all were
		{stopFirstAfter + 1000, 1, 1, 0, 0, maxNap},
	} {
		op.listed, op.slipped = test.listed, test.slipped
		if got := op.nap(test.n, test.met, test.took); got != test.want {
			t.Errorf("%d: %v, want %v", i, got, test.want)
		}
	}
	op.reported = true
	if got := op.nap(9, 1, 0); got < 100*time.Millisecond {
		t.Errorf("%v after the report", got)
	}
}

// The pause does not become shorter with the number of sweeps.
func TestNapAfter(t *testing.T) {
	last := napAfter(0, false)
	for n := range 1000 {
		d := napAfter(n, false)
		if d < last || d <= 0 || d > 20e6 {
			t.Fatalf("nap %d is %v after %v", n, d, last)
		}
		last = d
	}
}
