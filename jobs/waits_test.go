package jobs

import (
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

func pattern(p string) Condition { return Condition{Kind: UntilPattern, Watch: WatchSpec{Pattern: p}} }

func until(c ...Condition) *WaitSpec {
	return &WaitSpec{Until: c, Timeout: 30 * time.Second, MaxBytes: 1000}
}

func TestWaitTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		for _, c := range []struct {
			name   string
			spec   *WaitSpec
			output time.Duration // when a byte comes; 0: never
			reason string
			took   time.Duration
		}{
			{"timeout", &WaitSpec{Timeout: ms(70)}, 0, "timeout", ms(70)},
			{"no time at all", &WaitSpec{Timeout: 0}, 0, "timeout", 0},
			{"quiet from the arming on", until(Condition{Kind: UntilQuiet, Quiet: ms(200)}), 0, "quietMs", ms(200)},
			{"quiet after output", until(Condition{Kind: UntilQuiet, Quiet: ms(200)}), ms(150), "quietMs", ms(350)},
			{"bytes", until(Condition{Kind: UntilBytes, Bytes: 1}), ms(40), "bytes", ms(40)},
			{"the timeout before the quiet", &WaitSpec{Timeout: ms(100), Until: []Condition{{Kind: UntilQuiet, Quiet: ms(101)}}}, 0, "timeout", ms(100)},
		} {
			c.spec.From = Origin{Kind: FromNow}
			began := time.Now()
			p, _ := f.Wait(c.spec)
			if c.output > 0 {
				time.AfterFunc(c.output, func() { f.out.data <- []byte("x") })
			}
			o := must(t, p)
			if took := time.Since(began); o.Reason != c.reason || took != c.took {
				t.Errorf("%s: %s after %v, want %s after %v", c.name, o.Reason, took, c.reason, c.took)
			}
		}
		f.end()
	})
}

func TestWaitLowestIndexThenTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.out.data <- []byte("12345")
		synctest.Wait()
		both, _ := f.Wait(until(Condition{Kind: UntilBytes, Bytes: 99}, Condition{Kind: UntilBytes, Bytes: 2}, Condition{Kind: UntilBytes, Bytes: 1}))
		if o := must(t, both); o.Index != 1 || o.Reason != "bytes" {
			t.Errorf("of several: %+v", o)
		}
		never, _ := f.Wait(until(Condition{Kind: UntilBytes, Bytes: 99}))
		exit, _ := f.Wait(until(Condition{Kind: UntilBytes, Bytes: 99}, Condition{Kind: UntilExit}))
		closed, _ := f.Wait(until(Condition{Kind: UntilClosed}))
		synctest.Wait()
		f.proc.exit(0)
		if o := must(t, never); o.Reason != "exit" || o.Index != -1 || o.State.Status != StatusExited {
			t.Errorf("one that the end ends: %+v", o)
		}
		if o := must(t, exit); o.Reason != "exit" || o.Index != 1 {
			t.Errorf("one for the exit: %+v", o)
		}
		synctest.Wait()
		if len(closed.C) != 0 {
			t.Error("the exit has ended a wait for closed")
		}
		f.proc.gone()
		if o := must(t, closed); o.Reason != "closed" || o.Index != 0 || o.State.Status != StatusClosed {
			t.Errorf("one for closed: %+v", o)
		}
		late, _ := f.Wait(until(Condition{Kind: UntilClosed}, Condition{Kind: UntilExit}))
		if o := must(t, late); o.Index != 0 {
			t.Errorf("one that comes after the end: %+v", o)
		}
		f.finish()
	})
}

func TestWaitUnreadMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.out.data <- []byte("abc")
		synctest.Wait()
		for i, want := range []Range{{From: 0, To: 3}, {From: 3, To: 5}} {
			p, _ := f.Wait(&WaitSpec{Timeout: 0})
			if o := must(t, p); o.Output[PTY] != want {
				t.Errorf("wait %d: %v, want %v", i, o.Output[PTY], want)
			}
			if i == 0 {
				f.out.data <- []byte("de")
				synctest.Wait()
			}
		}
		r := must(t, f.Read(ReadOptions{MaxBytes: 2}))
		if string(r.Data) != "ab" || !r.HasMore || r.NextOffset != 2 {
			t.Errorf("the cursor has moved with the waits: %q", r.Data)
		}
		if r = must(t, f.Read(ReadOptions{MaxBytes: 100})); string(r.Data) != "cde" || r.HasMore {
			t.Errorf("the cursor: %q", r.Data)
		}
		minus := int64(-2)
		if r = must(t, f.Read(ReadOptions{Offset: &minus, MaxBytes: 100})); string(r.Data) != "de" || r.Offset != 3 {
			t.Errorf("from the end: %q at %d", r.Data, r.Offset)
		}
		f.end()
	})
}

func TestReadWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		began := time.Now()
		if r := must(t, f.Read(ReadOptions{MaxBytes: 10, Wait: ms(80)})); len(r.Data) != 0 || time.Since(began) != ms(80) {
			t.Errorf("%q after %v", r.Data, time.Since(began))
		}
		p := f.Read(ReadOptions{MaxBytes: 10, Wait: time.Hour})
		f.out.data <- []byte("x")
		if r := must(t, p); string(r.Data) != "x" {
			t.Errorf("%q", r.Data)
		}
		p = f.Read(ReadOptions{MaxBytes: 10, Wait: time.Hour})
		f.proc.exit(0)
		f.proc.gone()
		if r := must(t, p); len(r.Data) != 0 || r.State.Status != StatusClosed {
			t.Errorf("at the end: %q %s", r.Data, r.State.Status)
		}
		f.finish()
	})
}

func TestWriteArmsItsWaitBeforeTheFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.out.data <- []byte("before")
		synctest.Wait()
		p, _ := f.Write(Input{Text: "hi", AppendNewline: true, Wait: until(Condition{Kind: UntilBytes, Bytes: 3})})
		f.in.room <- 1
		f.out.data <- []byte("abc") // The condition holds before the write is complete.
		synctest.Wait()
		if len(p.C) != 0 {
			t.Error("answered before the bytes were taken")
		}
		f.in.room <- 2
		r := must(t, p)
		if r.BytesWritten != 3 || r.Outcome == nil || r.Outcome.Output[PTY] != (Range{From: 6, To: 9}) {
			t.Errorf("%+v %+v", r, r.Outcome)
		}
		f.end()
	})
}

func TestCancelOfAWaitTellsWhatItSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		p, _ := f.Wait(until(Condition{Kind: UntilExit}))
		f.out.data <- []byte("abc")
		synctest.Wait()
		p.Cancel()
		e := refused(t, p, CodeCanceled)
		if e.Outcome == nil || e.Outcome.Reason != "canceled" || e.Outcome.Output[PTY] != (Range{From: 0, To: 3}) {
			t.Errorf("%+v", e.Outcome)
		}
		f.end()
	})
}

func TestRunTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		began := time.Now()
		kill := f.Run(RunOptions{Timeout: ms(300)})
		back := f.Run(RunOptions{Timeout: ms(200), Background: true})
		if r := must(t, back); !r.TimedOut || r.Info.Exit != nil || time.Since(began) != ms(200) {
			t.Errorf("background: %+v after %v", r, time.Since(began))
		}
		if o := <-f.proc.kills; o.Grace != DefaultGrace || time.Since(began) != ms(300) {
			t.Errorf("kill %+v after %v", o, time.Since(began))
		}
		f.proc.exit(0)
		f.proc.gone()
		if r := must(t, kill); !r.TimedOut || r.Info.Exit.Reason != ReasonTimeout || !r.Complete {
			t.Errorf("kill: %+v %+v", r, r.Info.Exit)
		}
		f.finish()
	})
}

// If the leader has ended but another process holds the terminal, a run is answered after the drain time, and the
// answer says that there may be more output.
func TestRunDrainTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		p := f.Run(RunOptions{Timeout: -1, Drain: ms(500)})
		synctest.Wait()
		began := time.Now()
		f.proc.tell(keeper.Event{Kind: keeper.Exited, Background: []keeper.Proc{{PID: 5, Command: "holder"}}})
		time.AfterFunc(ms(100), func() { f.out.data <- []byte("late") })
		r := must(t, p)
		if took := time.Since(began); took != ms(500) || r.Complete || r.Output[PTY] != (Range{From: 0, To: 4}) {
			t.Errorf("after %v: %+v", took, r)
		}
		f.proc.gone()
		f.finish()
	})
}
