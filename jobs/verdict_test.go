package jobs

import (
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// If a leader ends by itself just when its time is over, the reason is not the timeout. If the timeout has ended it, it
// is.
func TestEndInTime(t *testing.T) {
	for _, c := range []struct {
		byItself bool
		want     Reason
	}{{true, ReasonExited}, {false, ReasonTimeout}} {
		synctest.Test(t, func(t *testing.T) {
			f := startFake(t, &recorder{})
			run := f.Run(RunOptions{Timeout: time.Second})
			<-f.proc.kills
			f.proc.tell(keeper.Event{Kind: keeper.Exited, Code: 3, ByItself: c.byItself})
			f.proc.gone()
			r := must(t, run)
			if r.Info.Exit.Reason != c.want || deref(t, r.Info.Exit.Code) != 3 || r.TimedOut == c.byItself {
				t.Errorf("by itself %v: %+v, timed out %v", c.byItself, deref(t, r.Info.Exit), r.TimedOut)
			}
			f.finish()
		})
	}
}

// If the patterns of a killed job are behind, the answer to the kill waits for the exit, but not for ever.
func TestKillWaitsForTheExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		p := f.Kill(KillOptions{})
		<-f.proc.kills
		synctest.Wait()
		gone := time.Now()
		f.lock.Lock()
		f.st.empty, f.st.step, f.ending.settling = true, stepSettleExit, new(token) // It is never answered.
		for _, c := range []struct {
			after    time.Duration
			answered bool
		}{{0, false}, {fileTime, false}, {fileTime + exitTime - 1, false}, {fileTime + exitTime, true}} {
			f.kills.review(gone.Add(c.after))
			if got := len(f.kills.all) == 0; got != c.answered {
				t.Errorf("answered %v after %v", got, c.after)
			}
		}
		f.st.empty, f.st.step, f.ending.settling, f.kills.until = false, stepNone, nil, time.Time{}
		f.lock.Unlock()
		must(t, p)
		f.end()
	})
}

// If a killed job neither ends nor reports, the kill is still answered, and the answer does not say that no process is
// left.
func TestKillWithoutReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		began := time.Now()
		p := f.Kill(KillOptions{Grace: time.Second})
		<-f.proc.kills
		r := must(t, p)
		if took := time.Since(began); took != time.Second+reportTime {
			t.Errorf("answered after %v", took)
		}
		if len(r.Survivors) != 1 || r.Survivors[0].PID == 0 || r.Survivors[0].Why == "" || r.State.Status != StatusRunning {
			t.Errorf("%+v", r)
		}
		f.end()
	})
}

// If the keeper of a job is lost, the closed event names the processes that could not be ended.
func TestLostWithSurvivors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events recorder
		f := startFake(t, &events)
		f.proc.tell(keeper.Event{Kind: keeper.Lost, Report: keeper.Report{Survivors: []keeper.Survivor{{Proc: keeper.Proc{PID: 42}, Why: "it is not known"}}}})
		f.proc.end()
		<-f.ended
		f.finish()
		last := events.events[len(events.events)-1]
		if c := last.Closed; c == nil || len(c.Survivors) != 1 || c.Survivors[0].PID != 42 {
			t.Errorf("the last event is %+v", last)
		}
	})
}

// If a command survives a kill without force, that kill is not the reason of its later end. If it does not survive, it
// is.
func TestSparedByAKill(t *testing.T) {
	for name, c := range map[string]struct {
		spared bool
		then   func(f *fakeJob)
		want   Reason
	}{
		"by itself": {true, func(*fakeJob) {}, ReasonExited},
		"shutdown":  {true, func(f *fakeJob) { go f.m.Shutdown(); <-f.proc.kills }, ReasonShutdown},
		"a kill":    {true, func(f *fakeJob) { f.Kill(KillOptions{}); <-f.proc.kills }, ReasonKilled},
		"at once":   {false, func(*fakeJob) {}, ReasonKilled},
		"meanwhile": {false, func(f *fakeJob) { go f.m.Shutdown(); <-f.proc.kills }, ReasonShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFake(t, &recorder{})
				p := f.Kill(KillOptions{NoForce: true})
				<-f.proc.kills
				if c.spared {
					f.proc.tell(keeper.Event{Kind: keeper.Killed, Report: keeper.Report{Survivors: []keeper.Survivor{{}}}})
					if r := must(t, p); len(r.Survivors) != 1 || r.State.Status != StatusRunning {
						t.Errorf("%+v", r)
					}
				}
				c.then(f)
				f.proc.exit(0)
				f.proc.gone()
				<-f.ended
				f.finish()
				if got := f.Published().Exit.Reason; got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}
