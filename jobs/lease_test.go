package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// expectEnd checks that the job is not ended before the given time, and that it is then ended as by a limit.
func (f *fakeJob) expectEnd(at time.Time) {
	f.t.Helper()
	time.Sleep(time.Until(at) - 1)
	synctest.Wait()
	if n := len(f.proc.kills); n != 0 {
		f.t.Fatalf("it is ended too early, %d times", n)
	}
	time.Sleep(time.Nanosecond)
	synctest.Wait()
	if n := len(f.proc.kills); n != 1 {
		f.t.Fatalf("it is ended %d times", n)
	}
	if o := <-f.proc.kills; o.Grace != DefaultGrace || o.NoForce {
		f.t.Errorf("kill %+v", o)
	}
}

// endsAt checks the time at which the job is ended, in its turn and as published.
func (f *fakeJob) endsAt(want time.Time) {
	f.t.Helper()
	if got := must(f.t, f.Info()).EndsAt; !got.Equal(want) {
		f.t.Errorf("it ends at %v, want %v", got, want)
	}
	if got := f.Published().EndsAt; !got.Equal(want) {
		f.t.Errorf("published as ending at %v, want %v", got, want)
	}
}

// A job is ended at the time that was set last, and not if that was withdrawn.
func TestLeaseEndsAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.endsAt(time.Time{})
		f.EndAt(time.Now().Add(time.Minute))
		f.endsAt(time.Now().Add(time.Minute))
		f.EndAt(time.Time{})
		f.endsAt(time.Time{})
		time.Sleep(time.Hour)
		f.EndAt(time.Now().Add(time.Minute))
		later := time.Now().Add(time.Hour)
		f.EndAt(later)
		f.expectEnd(later)
		f.endsAt(time.Time{}) // it is over
		f.proc.exit(0)        // a handler of TERM
		f.proc.gone()
		synctest.Wait()
		if e := must(t, f.Info()).Exit; e.Reason != ReasonDetached || deref(t, e.Code) != 0 {
			t.Errorf("exit %+v", e)
		}
		f.EndAt(time.Now().Add(time.Minute)) // of a closed job
		f.endsAt(time.Time{})
		time.Sleep(time.Hour)
		f.finish()
		f.EndAt(time.Now()) // of a job whose loop has ended
	})
}

// A time that has passed ends the job at once.
func TestLeaseIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		began := time.Now()
		f.EndAt(began.Add(-time.Second))
		<-f.proc.kills
		if took := time.Since(began); took != 0 {
			t.Errorf("ended after %v", took)
		}
		f.end()
	})
}

// A job that ends by itself while the time runs keeps its reason, and shows no time any more.
func TestLeaseOfEndedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.EndAt(time.Now().Add(time.Minute))
		f.proc.exit(3)
		f.proc.gone()
		synctest.Wait()
		if info := must(t, f.Info()); info.Status != StatusClosed || info.Exit.Reason != ReasonExited {
			t.Errorf("%s, exit %+v", info.Status, info.Exit)
		}
		f.endsAt(time.Time{})
		time.Sleep(time.Hour)
		if n := len(f.proc.kills); n != 0 {
			t.Errorf("%d kills of a closed job", n)
		}
		f.finish()
	})
}

// The processes that outlive the leader are ended, too; the exit does not change.
func TestLeaseEndsBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.proc.tell(keeper.Event{Kind: keeper.Exited, ByItself: true, Background: []keeper.Proc{{PID: 7, Command: "daemon"}}})
		at := time.Now().Add(time.Minute)
		f.EndAt(at)
		f.endsAt(at)
		f.expectEnd(at)
		f.proc.gone()
		synctest.Wait()
		if info := must(t, f.Info()); info.Status != StatusClosed || info.Exit.Reason != ReasonExited {
			t.Errorf("%s, exit %+v", info.Status, info.Exit)
		}
		f.finish()
	})
}

// The first reason of an end stays, whether the lease or a kill came first. A kill without force, which the job has
// survived, is no reason.
func TestLeaseAndOtherReasons(t *testing.T) {
	kill := func(f *fakeJob) {
		f.Kill(KillOptions{Grace: time.Hour})
		<-f.proc.kills
	}
	mild := func(f *fakeJob) {
		p := f.Kill(KillOptions{NoForce: true})
		<-f.proc.kills
		f.proc.tell(keeper.Event{Kind: keeper.Killed, Report: keeper.Report{Survivors: []keeper.Survivor{{Why: "deaf"}}}})
		must(f.t, p)
	}
	lease := func(f *fakeJob) { f.expectEnd(time.Now().Add(time.Minute)) }
	for _, test := range []struct {
		name  string
		steps []func(*fakeJob)
		want  Reason
	}{
		{"kill, lease", []func(*fakeJob){kill, lease}, ReasonKilled},
		{"lease, kill", []func(*fakeJob){lease, kill}, ReasonDetached},
		{"survived kill, lease", []func(*fakeJob){mild, lease}, ReasonDetached},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFake(t, &recorder{})
				f.EndAt(time.Now().Add(time.Minute))
				for _, step := range test.steps {
					step(f)
				}
				f.proc.exit(0)
				f.proc.gone()
				synctest.Wait()
				if e := must(t, f.Info()).Exit; e.Reason != test.want {
					t.Errorf("exit %+v", e)
				}
				f.finish()
			})
		})
	}
}

// A lease is part of the job's info and can be changed while anything of the job lives. That does not change the time.
func TestLeaseIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := Lease{Owner: "editor", Grace: time.Minute}
		f := startFakeWith(t, &recorder{}, func(*Manager) {}, func(s *Spec) { s.Lease = given })
		at := time.Now().Add(time.Hour)
		f.EndAt(at)
		for _, test := range []struct {
			keep  *bool
			grace *time.Duration
			want  Lease
		}{
			{nil, nil, given},
			{new(true), nil, Lease{Owner: "editor", Keep: true, Grace: time.Minute}},
			{nil, new(time.Duration(0)), Lease{Owner: "editor", Keep: true}},
			{new(false), new(time.Second), Lease{Owner: "editor", Grace: time.Second}},
		} {
			info := must(t, f.SetLease(test.keep, test.grace))
			if info.Lease != test.want || f.Published().Lease != test.want || !info.EndsAt.Equal(at) {
				t.Errorf("%+v, ends at %v, published %+v; want %+v", info.Lease, info.EndsAt, f.Published().Lease, test.want)
			}
		}
		f.proc.exit(0)
		synctest.Wait()
		must(t, f.SetLease(new(true), nil)) // other processes live on
		f.proc.gone()
		synctest.Wait()
		refused(t, f.SetLease(new(false), nil), CodeJobExited)
		if l := must(t, f.Info()).Lease; !l.Keep {
			t.Errorf("a refused request has changed it to %+v", l)
		}
		f.finish()
	})
}

// If the start itself waits for a person when the time comes, nothing is started, and the question is withdrawn.
func TestLeaseOfHeldStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, askStarts)
		j, p := begin(t, m, command("x"))
		j.EndAt(time.Now().Add(time.Second))
		j.EndAt(time.Now().Add(time.Hour))
		time.Sleep(time.Hour - 1)
		waits(t, p)
		j.EndAt(time.Time{})
		time.Sleep(time.Hour)
		waits(t, p)
		j.EndAt(time.Now().Add(time.Minute))
		time.Sleep(time.Minute - 1)
		waits(t, p)
		time.Sleep(time.Nanosecond)
		if e := refused(t, p, CodeCanceled); !strings.Contains(e.Message, "client was away too long; nothing was started") {
			t.Error(e.Message)
		}
		synctest.Wait()
		if len(who.withdrawn) != 1 || job() != nil || len(m.All()) != 0 {
			t.Errorf("withdrawn %v, started %v, %d jobs", who.withdrawn, job() != nil, len(m.All()))
		}
	})
}

// A time that is set before the start is complete counts for the job.
func TestLeaseOfStartingJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, askStarts)
		j, p := begin(t, m, command("x"))
		at := time.Now().Add(time.Hour)
		j.EndAt(at)
		synctest.Wait()
		who.asked[0].Answer(AnswerOnce)
		if info := must(t, p).Info; info.Status != StatusRunning {
			t.Errorf("%+v", info)
		}
		job().actor = actorOf(j)
		f := job()
		f.endsAt(at)
		time.Sleep(time.Hour)
		synctest.Wait()
		if e := must(t, f.Info()).Exit; e == nil || e.Reason != ReasonDetached {
			t.Errorf("exit %+v", e)
		}
	})
}

// info.json follows the lease and its time, since another program may list the jobs.
func TestLeaseIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := startFakeWith(t, &recorder{}, func(m *Manager) {
			p := persistIn(dir)
			p.Encode = func(i Info) ([]byte, error) {
				return fmt.Appendf(nil, "%s keep %v ends %v", i.Status, i.Lease.Keep, !i.EndsAt.IsZero()), nil
			}
			keepFiles(t, m, p, m.settings.limits)
		})
		expect := func(want string) {
			t.Helper()
			time.Sleep(recordTime)
			synctest.Wait()
			if got, err := os.ReadFile(filepath.Join(dir, "session", "1", "info.json")); err != nil || string(got) != want {
				t.Errorf("info.json is %q, %v, want %q", got, err, want)
			}
		}
		expect("running keep false ends false")
		f.EndAt(time.Now().Add(time.Hour))
		expect("running keep false ends true")
		must(t, f.SetLease(new(true), nil))
		expect("running keep true ends true")
		f.EndAt(time.Time{})
		expect("running keep true ends false")
		f.EndAt(time.Now().Add(time.Hour))
		f.proc.exit(0)
		f.proc.gone()
		expect("closed keep true ends false")
		f.finish()
	})
}
