package jobs

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/turn"
)

// These tests simulate the system in a synctest bubble, so that times are exact. They use no patterns, since the
// matcher's clock does not work in a bubble.

func TestExitedWaitsForTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFake(t, sink)
		f.proc.tell(keeper.Event{Kind: keeper.Exited, Code: 3})
		f.out.data <- []byte("late but the leader's own")
		f.proc.gone()
		synctest.Wait()
		if got := sink.names(); !slices.Equal(got, []string{"exited", "closed"}) {
			t.Fatalf("events %v", got)
		}
		if e := sink.events[0]; deref(t, e.Exited.Exit.Code) != 3 || e.After[PTY] > 25 {
			t.Errorf("exited %+v after %v", e.Exited.Exit, e.After)
		}
		if e := sink.events[1]; e.After[PTY] != 25 {
			t.Errorf("closed does not wait for the output: %v", e.After)
		}
		f.finish()
	})
}

func TestBackgroundKeepsTheJobOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFake(t, sink)
		f.proc.tell(keeper.Event{Kind: keeper.Exited, Background: []keeper.Proc{{PID: 5, Command: "sleep 300"}}})
		synctest.Wait()
		if got := sink.names(); !slices.Equal(got, []string{"exited"}) {
			t.Fatalf("events %v", got)
		}
		info := must(t, f.Info())
		if info.Status != StatusExited || len(info.Background) != 1 || info.Background[0].PID != 5 {
			t.Errorf("info %+v", info)
		}
		f.out.data <- []byte("late")
		f.proc.gone()
		synctest.Wait()
		info = must(t, f.Info())
		if info.Status != StatusClosed || info.Background != nil || info.Streams[0].NextOffset != 4 {
			t.Errorf("info at the end %+v", info)
		}
		f.finish()
	})
}

func TestKillOfTheDeafTakesTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFake(t, sink)
		began := time.Now()
		p := f.Kill(KillOptions{Grace: 5 * time.Second})
		o := <-f.proc.kills
		time.AfterFunc(o.Grace, func() {
			f.proc.tell(keeper.Event{Kind: keeper.Exited, Code: -1, Signal: 9})
			f.proc.tell(keeper.Event{Kind: keeper.Killed, Report: keeper.Report{
				Signals: []keeper.SignalSent{{Name: "TERM"}, {Name: "KILL", After: o.Grace}},
				Killed:  []keeper.KilledProc{{Proc: keeper.Proc{PID: 4711, Command: "deaf"}, How: "KILL"}},
			}})
			f.proc.gone()
		})
		r := must(t, p)
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
		if r.State.Status != StatusClosed || r.State.Exit.Reason != ReasonKilled || r.State.Exit.Signal != "SIGKILL" {
			t.Errorf("state %+v %+v", r.State, r.State.Exit)
		}
		if len(r.Signals) != 2 || r.Signals[1] != (SignalSent{"SIGKILL", 5 * time.Second}) || r.Killed[0].How != "SIGKILL" {
			t.Errorf("report %+v", r)
		}
		if again := must(t, f.Kill(KillOptions{})); !again.AlreadyClosed || len(again.Signals) != 0 {
			t.Errorf("a second kill: %+v", again)
		}
		f.finish()
	})
}

// If a job handles TERM and exits with 0, the reason is still the kill. If the leader had ended before the kill, it is
// not.
func TestReasonIsSettledBeforeTheSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		p := f.Kill(KillOptions{Grace: time.Second})
		<-f.proc.kills
		f.proc.exit(0)
		f.proc.gone()
		if e := must(t, p).State.Exit; e.Reason != ReasonKilled || deref(t, e.Code) != 0 {
			t.Errorf("exit %+v", e)
		}
		f.finish()

		f = startFake(t, &recorder{})
		f.proc.exit(7)
		synctest.Wait()
		p = f.Kill(KillOptions{})
		<-f.proc.kills
		f.proc.gone()
		if e := must(t, p).State.Exit; e.Reason != ReasonExited || deref(t, e.Code) != 7 {
			t.Errorf("exit of one that had ended %+v", e)
		}
		f.finish()
	})
}

func TestSurvivorsAnswerTheKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		p := f.Kill(KillOptions{Grace: time.Second, NoForce: true})
		if o := <-f.proc.kills; !o.NoForce {
			t.Error("NoForce was lost")
		}
		f.proc.tell(keeper.Event{Kind: keeper.Killed, Report: keeper.Report{
			Survivors: []keeper.Survivor{{Proc: keeper.Proc{PID: 4711}, Why: "it ignores TERM"}},
		}})
		r := must(t, p)
		if len(r.Survivors) != 1 || r.Survivors[0].Why == "" || r.State.Status != StatusRunning {
			t.Errorf("%+v", r)
		}
		f.end()
	})
}

func TestLostKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFake(t, sink)
		f.proc.tell(keeper.Event{Kind: keeper.Lost})
		f.proc.end()
		synctest.Wait()
		if got := sink.names(); !slices.Equal(got, []string{"exited", "closed"}) {
			t.Fatalf("events %v", got)
		}
		if e := sink.events[0].Exited.Exit; e.Reason != ReasonLost || e.Code != nil || e.Signal != "" {
			t.Errorf("exit %+v", e)
		}
		f.finish()
	})
}

func TestStopAndContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		for _, want := range []struct {
			kind   keeper.Kind
			status Status
		}{{keeper.Stopped, StatusStopped}, {keeper.Continued, StatusRunning}} {
			f.proc.tell(keeper.Event{Kind: want.kind})
			synctest.Wait()
			if got := must(t, f.Info()).Status; got != want.status || f.Published().Status != got {
				t.Errorf("status %s, published %s, want %s", got, f.Published().Status, want.status)
			}
		}
		f.end()
	})
}

func TestStuckInputIsAnsweredAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		first, _ := f.Write(Input{Text: "0123456789"})
		second, _ := f.Write(Input{Text: "abc", Wait: &WaitSpec{Timeout: -1}})
		f.in.room <- 4
		synctest.Wait()
		f.proc.exit(1)
		for i, c := range []struct {
			p    Pending[WriteResult]
			want int64
		}{{first, 4}, {second, 0}} {
			e := refused(t, c.p, CodeJobExited)
			if e.BytesWritten == nil || *e.BytesWritten != c.want || e.Exit == nil || deref(t, e.Exit.Code) != 1 {
				t.Errorf("write %d: %+v", i, e)
			}
		}
		late, _ := f.Write(Input{Text: "x"})
		refused(t, late, CodeJobExited)
		f.proc.gone()
		f.finish()
	})
}

func TestCancelOfAWriteTellsWhatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		first, _ := f.Write(Input{Text: "0123456789"})
		second, _ := f.Write(Input{Text: "abcdef"})
		f.in.room <- 3
		synctest.Wait()
		second.Cancel()
		if e := refused(t, second, CodeCanceled); deref(t, e.BytesWritten) != 0 {
			t.Errorf("the second: %+v", e)
		}
		first.Cancel()
		if e := refused(t, first, CodeCanceled); deref(t, e.BytesWritten) != 3 {
			t.Errorf("the first: %d bytes", deref(t, e.BytesWritten))
		}
		third, _ := f.Write(Input{Text: "xyz"})
		f.in.room <- 100
		if r := must(t, third); r.BytesWritten != 3 {
			t.Errorf("a write after the cancelled ones: %+v", r)
		}
		f.end()
	})
}

func TestInputQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.m.settings.limits.InputQueueBytes = 10
		first, _ := f.Write(Input{Text: "01234567"})
		second, _ := f.Write(Input{Text: "abc"})
		if e := refused(t, second, CodeInputQueueFull); e.Max != 10 {
			t.Errorf("%+v", e)
		}
		f.in.room <- 8
		must(t, first)
		third, _ := f.Write(Input{Text: "abcdefghij"})
		f.in.room <- 10
		must(t, third)
		f.end()
	})
}

func TestShutdownPassesAStuckLoopBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{block: make(chan struct{})}
		f := startFake(t, sink)
		synctest.Wait()
		var log strings.Builder
		f.m.log = slog.New(slog.NewTextHandler(&log, nil))
		began := time.Now()
		f.m.Shutdown()
		if took := time.Since(began); took != DefaultGrace+2*shutdownSlack {
			t.Errorf("took %v", took)
		}
		if o := <-f.proc.kills; o.Grace != 0 {
			t.Errorf("kill %+v, want one without grace", o)
		}
		if err := f.m.Close(); err == nil {
			t.Error("Close does not tell of the stuck loop")
		}
		// Close has returned the error. On a busy machine this can also happen to jobs with which nothing is wrong.
		if log.Len() > 0 {
			t.Errorf("a person is told %s", &log)
		}
		close(sink.block)
		<-f.Job.done
		f.Job.output.loops.Wait()
	})
}

func TestShutdownAnswersWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.out.data <- []byte("seen")
		w, _ := f.Wait(&WaitSpec{Timeout: -1, MaxBytes: 100})
		write, _ := f.Write(Input{Text: "never read"})
		ran := f.Run(RunOptions{Timeout: -1})
		synctest.Wait()
		down := make(chan struct{})
		go func() { f.m.Shutdown(); close(down) }()
		e := refused(t, w, CodeShuttingDown)
		if e.Outcome == nil || e.Outcome.Output[PTY] != (Range{From: 0, To: 4}) || e.Outcome.Reason != "shuttingDown" {
			t.Errorf("the wait's outcome: %+v", e.Outcome)
		}
		refused(t, write, CodeShuttingDown)
		if o := <-f.proc.kills; o.Grace != DefaultGrace {
			t.Errorf("grace %v", o.Grace)
		}
		f.proc.exit(0)
		f.proc.gone()
		if r := must(t, ran); r.Info.Exit.Reason != ReasonShutdown || !r.Complete {
			t.Errorf("the run: %+v %+v", r, r.Info.Exit)
		}
		<-down
		if _, _, err := f.m.Start(Spec{}); err == nil || err.Code != CodeShuttingDown {
			t.Errorf("a start after it: %v", err)
		}
		f.finish()
	})
}

// Goroutines that end late, one after the other in any order, as on a busy machine, are not reported as stuck. If they
// delay the server's end for too long, they are.
func TestCloseWaitsWhileSomethingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const step = shutdownSlack * 4 / 5
		f := startFake(t, &recorder{})
		f.Job.output.loops.Go(func() { time.Sleep(2 * step) })
		f.m.end.inquiries.Go(func() { time.Sleep(step) })
		f.end() // no error is reported
	})
	synctest.Test(t, func(t *testing.T) {
		m := newManager(slog.New(slog.DiscardHandler))
		for i := range 20 {
			j := &Job{base: base{done: make(chan struct{}), mail: turn.NewMailbox[message]()}}
			close(j.done)
			m.registry.jobs[ID(i)] = j
			j.output.loops.Go(func() { time.Sleep(time.Duration(i) * shutdownSlack * 4 / 5) })
		}
		began := time.Now()
		if err := m.Close(); err == nil || time.Since(began) != shutdownFiles {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		for _, j := range m.All() {
			j.output.loops.Wait()
		}
	})
}

// If the wait of a write is armed at shutdown, the error has the wait's outcome. The error of a write behind it has
// none.
func TestShutdownOfWritesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		first, _ := f.Write(Input{Text: "never read", Wait: &WaitSpec{Timeout: -1, MaxBytes: 100}})
		behind, _ := f.Write(Input{Text: "nor this", Wait: &WaitSpec{Timeout: -1, MaxBytes: 100}})
		synctest.Wait()
		f.out.data <- []byte("seen")
		synctest.Wait()
		down := make(chan struct{})
		go func() { f.m.Shutdown(); close(down) }()
		if e := refused(t, first, CodeShuttingDown); e.Outcome == nil || e.Outcome.Reason != "shuttingDown" || e.Outcome.Output[PTY] != (Range{From: 0, To: 4}) {
			t.Errorf("the outcome of the first one: %+v", e.Outcome)
		}
		if e := refused(t, behind, CodeShuttingDown); e.Outcome != nil {
			t.Errorf("the outcome of the one behind: %+v", e.Outcome)
		}
		f.proc.exit(0)
		f.proc.gone()
		<-down
		f.finish()
	})
}
