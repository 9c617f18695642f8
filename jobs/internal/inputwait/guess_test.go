package inputwait

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// modes is a terminal that only reports its modes.
type modes struct {
	canonical, echo bool
	err             error
}

func (modes) ID() (ID, error)                  { return ID{}, errors.ErrUnsupported }
func (modes) Unread() (bool, error)            { return false, errors.ErrUnsupported }
func (modes) OutputIdle() bool                 { return true }
func (modes) ForegroundGroup() (int, error)    { return 0, errors.ErrUnsupported }
func (m modes) Modes() (bool, bool, error)     { return m.canonical, m.echo, m.err }
func target(m modes) Target                    { return Target{Leader: 12, Input: m, Terminal: m} }
func after(ms time.Duration) (d time.Duration) { return ms * time.Millisecond }

// If nothing can be seen, quiet and the modes yield a guess, and the verdict says so.
func TestGuess(t *testing.T) {
	for _, test := range []struct {
		name  string
		modes modes
		kind  Kind
		need  time.Duration
	}{
		{"line", modes{true, true, nil}, Line, after(500)},
		{"password", modes{true, false, nil}, Password, after(200)},
		{"raw", modes{false, false, nil}, Raw, after(500)},
		{"raw with echo", modes{false, true, nil}, Raw, after(500)},
		{"unknown", modes{false, false, errors.ErrUnsupported}, Line, after(500)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := New(target(test.modes))
			if v := p.Look(test.need - after(10)); v.Waiting || v.Again != after(10) {
				t.Errorf("too early: %+v", v)
			}
			v := p.Look(test.need)
			if !v.Waiting || v.State != Reading || v.Kind != test.kind || v.Confidence != Guess || v.PID != 12 || v.Again != 0 {
				t.Errorf("%+v", v)
			}
			if !strings.Contains(v.Why, "guess") {
				t.Errorf("it does not say that it guesses: %s", v.Why)
			}
		})
	}
	if v := New(Target{Leader: 12, Input: modes{}}).Look(time.Second); !v.Waiting || v.Kind != Line || v.Confidence != Guess {
		t.Errorf("a pipe: %+v", v)
	}
}
