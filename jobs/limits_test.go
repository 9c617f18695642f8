package jobs

import (
	"sync"
	"testing"
	"time"
)

// Output beyond a budget is not kept, in whatever order goroutines take from the budget.
func TestBudget(t *testing.T) {
	b := budget{max: 10}
	for _, step := range []struct {
		n, kept int
		over    bool
	}{{4, 4, false}, {0, 0, false}, {6, 6, false}, {0, 0, false}, {1, 0, true}, {100, 0, true}} {
		if kept := b.take(step.n); kept != step.kept || b.isOver() != step.over {
			t.Errorf("of %d: %d kept, over %v; want %d, %v", step.n, kept, b.isOver(), step.kept, step.over)
		}
	}
	b = budget{max: 10}
	if kept := b.take(25); kept != 10 || !b.isOver() {
		t.Errorf("of 25: %d", kept)
	}
	if b = (budget{}); b.take(1<<30) != 1<<30 || b.isOver() {
		t.Error("without a limit there is one")
	}
	b = budget{max: 1000}
	var all sync.WaitGroup
	kept := make([]int, 4)
	for i := range kept {
		all.Go(func() {
			for range 1000 {
				kept[i] += b.take(3)
			}
		})
	}
	all.Wait()
	if sum := kept[0] + kept[1] + kept[2] + kept[3]; sum != 1000 {
		t.Errorf("%d bytes kept of 1000", sum)
	}
}

// The shorter of the two time limits counts.
func TestLifetime(t *testing.T) {
	for _, test := range []struct{ own, all, want time.Duration }{
		{0, 0, 0}, {5, 0, 5}, {0, 5, 5}, {3, 5, 3}, {5, 3, 3}, {4, 4, 4},
	} {
		j := withParts(&actor{Job: Job{base: base{mgr: &services{settings: settings{limits: Limits{JobTimeout: test.all}}}, spec: Spec{KillAfter: test.own}}}})
		if got := j.limits.lifetime(); got != test.want {
			t.Errorf("%d of its own, %d of all: %d, want %d", test.own, test.all, got, test.want)
		}
	}
}

// A limit is the reason only if the leader is alive and there is no other reason.
func TestLimitAsReason(t *testing.T) {
	for _, test := range []struct {
		before func(*state)
		reason Reason
		limit  LimitName
	}{
		{func(*state) {}, ReasonLimit, LimitOutputBytes},
		{func(s *state) { s.intend(ReasonKilled, false) }, ReasonKilled, ""},
		{func(s *state) { s.intend(ReasonKilled, true) }, ReasonLimit, LimitOutputBytes},
		{func(s *state) { s.intendLimit(LimitProcesses) }, ReasonLimit, LimitProcesses},
		{func(s *state) { s.leaderExited(0, 0, false, false, time.Now()) }, ReasonExited, ""},
	} {
		var s state
		test.before(&s)
		s.intendLimit(LimitOutputBytes)
		if s.exit == nil {
			s.leaderExited(0, 0, false, false, time.Now())
		}
		if s.exit.Reason != test.reason || s.exit.Limit != test.limit {
			t.Errorf("%+v, want %s %s", s.exit, test.reason, test.limit)
		}
	}
}

// If a limit cannot be enforced on this system, a start that requests it is refused.
func TestLimitsThatCannotBe(t *testing.T) {
	for _, k := range limitKinds {
		var s Spec
		*k.of(&s.Limits) = 5
		err := s.checkLimits(&PlatformInfo{Tree: treeSession})
		if exact := k.Name == LimitOutputBytes; exact != (err == nil) {
			t.Errorf("%s: %v", k.Name, err)
		}
		if err != nil && (err.Code != CodeUnsupported || err.Name != string(k.Name) || err.Pointer != "/limits/"+string(k.Name)) {
			t.Errorf("%s: %+v", k.Name, err)
		}
		if err := s.checkLimits(&PlatformInfo{Tree: treeKeeper}); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
}
