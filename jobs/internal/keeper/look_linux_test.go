package keeper

import (
	"testing"
	"time"
)

// There is a probe at half of the grace period, and only one, whatever the times and the number of the other probes.
func TestProbeAtHalfGrace(t *testing.T) {
	now := time.Now()
	after := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	for _, test := range []struct {
		name   string
		looker looker
		want   int // seconds
	}{
		{"the next is after it", looker{next: after(9)}, 5},
		{"the next is before it", looker{next: after(2)}, 2},
		{"news", looker{next: after(9), rested: after(1), news: true}, 1},
		{"no more looks", looker{next: after(1), looks: maxLooks}, 5},
		{"made", looker{next: after(9), late: true}, 9},
		{"made, and no more looks", looker{next: after(6), looks: maxLooks, late: true}, 10},
	} {
		op := &killOp{began: now, deadline: after(10), looker: test.looker}
		if got := op.lookDue(); !got.Equal(after(test.want)) {
			t.Errorf("%s: due after %v, want %d s", test.name, got.Sub(now), test.want)
		}
	}
}
