package jobs

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A slowDrain reports each Drain to the test, which answers it.
type slowDrain struct {
	*fakeSource
	asked chan struct{}
}

func (s slowDrain) Drain() { s.asked <- struct{}{} }

// If a leader ends before the timeout, and the drain of its output takes longer, the run has not timed out, and the
// processes that the leader has left are not ended.
func TestTimeoutWhileDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeJob{t: t, m: newManager(slog.New(slog.DiscardHandler)), sink: &recorder{}, proc: newFakeProcess(), out: newFakeSource()}
		slow := slowDrain{f.out, make(chan struct{}, 8)}
		f.m.system.plan = func(*Spec) (plan, *Error) { return plan{argv: []string{"fake"}, mode: ModePipe, dir: "/"}, nil }
		f.m.launch = func(_ *Spec, p plan) (*launched, *Error) {
			return &launched{plan: p, proc: f.proc, outputs: []output{{Stdout, slow}}}, nil
		}
		j, started, err := f.m.Start(Spec{Sink: f.sink})
		if err != nil {
			t.Fatal(err)
		}
		f.actor = actorOf(j)
		must(t, started)
		run := f.Run(RunOptions{Timeout: time.Second})
		time.Sleep(ms(999))
		f.proc.tell(keeper.Event{Kind: keeper.Exited, ByItself: true, Background: []keeper.Proc{{PID: 7, Command: "daemon"}}})
		<-slow.asked
		time.Sleep(ms(2))
		select {
		case k := <-f.proc.kills:
			t.Errorf("killed: %+v", k)
		default:
		}
		f.out.drain <- struct{}{}
		f.proc.gone()
		<-slow.asked
		f.out.drain <- struct{}{}
		if r := must(t, run); r.TimedOut || r.Info.Exit.Reason != ReasonExited {
			t.Errorf("timed out %v, exit %+v", r.TimedOut, deref(t, r.Info.Exit))
		}
		f.finish()
	})
}
