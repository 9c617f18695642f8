package jobs

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// takes takes the input of a job for a client, and checks the answer. Holders in away are not there.
func (f *fakeJob) takes(owner string, force bool, away ...string) {
	f.t.Helper()
	info := must(f.t, f.TakeInput(takeBy(owner, force, away...)))
	f.holds(owner, info)
}

func takeBy(owner string, force bool, away ...string) TakeOptions {
	return TakeOptions{Owner: owner, Force: force, Away: func(holder string) bool {
		for _, a := range away {
			if a == holder {
				return true
			}
		}
		return false
	}}
}

// holds checks the holder of the input, in an answer and as published.
func (f *fakeJob) holds(holder string, info Info) {
	f.t.Helper()
	if info.Lease.Holder != holder || f.Published().Lease.Holder != holder {
		f.t.Errorf("the holder is %q, published %q; want %q", info.Lease.Holder, f.Published().Lease.Holder, holder)
	}
}

// inputChanges returns the reported changes of the holder.
func (r *recorder) inputChanges() (all []InputChanged) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Input != nil {
			all = append(all, *e.Input)
		}
	}
	return all
}

// isHeld checks that a request is refused since a client holds the input.
func isHeld[T any](t *testing.T, p Pending[T], holder string) {
	t.Helper()
	if e := refused(t, p, CodeInputHeld); e.Name != holder || e.Handle != 1 || !strings.Contains(e.Message, holder) {
		t.Errorf("%+v; want the holder %s", e, holder)
	}
}

// Only the holder types and resizes. Any client may if there is none. Signals and the server's own input need no holder.
func TestHolderTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(100)
		must(t, f.typeIn(Input{Text: "1", Owner: "a"}))
		must(t, f.typeIn(Input{Text: "2", Owner: "b"}))
		must(t, f.Resize(90, 30, "b"))
		f.takes("a", false)
		isHeld(t, f.typeIn(Input{Text: "3", Owner: "b"}), "a")
		isHeld(t, f.typeIn(Input{Text: "3", Owner: "b", IfWaiting: "1.1"}), "a")
		isHeld(t, f.Resize(100, 40, "b"), "a")
		must(t, f.typeIn(Input{Text: "4", Owner: "a"}))
		must(t, f.Resize(110, 50, "a"))
		must(t, f.typeIn(Input{Text: "5"}))
		if info := must(t, f.Info()); info.Cols != 110 || tp.text() != "1245" {
			t.Errorf("%d columns, typed %q", info.Cols, tp.text())
		}
		f.end()
	})
}

// Who may take the input, and from which holder.
func TestHolderTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f, _ := startTape(t, sink)
		f.takes("a", false)
		f.takes("a", false) // no change
		isHeld(t, f.TakeInput(takeBy("b", false, "c")), "a")
		isHeld(t, f.GiveInput("b", ""), "a")
		f.holds("a", must(t, f.Info()))
		f.takes("b", false, "a")
		f.takes("a", true)
		f.takes("c", true, "a")
		f.holds("b", must(t, f.GiveInput("c", "b")))
		f.holds("", must(t, f.GiveInput("b", "")))
		f.holds("", must(t, f.GiveInput("a", "")))
		f.takes("b", true)
		f.LeaveInput("a")
		f.LeaveInput("b")
		f.holds("", must(t, f.Info()))
		want := []InputChanged{
			{"a", "a", InputTaken}, {"b", "b", InputTaken}, {"a", "a", InputForced}, {"c", "c", InputTaken}, {"b", "c", InputGiven}, {"", "b", InputGiven},
			{"b", "b", InputTaken}, {"", "b", InputLeft},
		}
		got := sink.inputChanges()
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("reported %v, want %v", got, want)
			}
		}
		f.end()
	})
}

// A client that takes the input of a job gives it a size if it wants, and no other change of the holder does.
func TestHolderSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := startTape(t, &recorder{})
		take := takeBy("a", false)
		take.Cols, take.Rows = 100, 40
		if info := must(t, f.TakeInput(take)); info.Cols != 100 || info.Rows != 40 {
			t.Errorf("%d columns, %d rows", info.Cols, info.Rows)
		}
		f.takes("b", true)
		must(t, f.GiveInput("b", "a"))
		take.Cols, take.Rows = 0, 50 // of the holder itself
		if info := must(t, f.TakeInput(take)); info.Cols != 100 || info.Rows != 50 {
			t.Errorf("%d columns, %d rows", info.Cols, info.Rows)
		}
		refusedTake := takeBy("b", false)
		refusedTake.Cols = 7
		isHeld(t, f.TakeInput(refusedTake), "a")
		if info := must(t, f.Info()); info.Cols != 100 {
			t.Errorf("%d columns", info.Cols)
		}
		f.end()
	})
}

// When the holder changes, the input of others that the kernel has not taken is not typed. The bytes that it has taken
// count, and waits for input that is typed go on.
func TestHolderDropsQueued(t *testing.T) {
	for _, taken := range []int{0, 4, 10} {
		synctest.Test(t, func(t *testing.T) {
			f, tp := startTape(t, &recorder{})
			f.takes("a", false)
			tp.allow(2)
			typed := f.typeIn(Input{Text: "ok", Owner: "a", Wait: &WaitSpec{Until: []Condition{{Kind: UntilBytes, Bytes: 3}}, Timeout: -1}})
			stuck := f.typeIn(Input{Text: "0123456789", Owner: "a", Wait: forever()})
			behind := f.typeIn(Input{Text: "abc", Owner: "a"})
			own := f.typeIn(Input{Text: "own"}) // the server's
			tp.allow(taken)
			synctest.Wait()
			f.takes("b", true)
			if taken < 10 {
				e := refused(t, stuck, CodeCanceled)
				if deref(t, e.BytesWritten) != int64(taken) || e.Outcome.Reason != "canceled" || e.Handle != f.ID() {
					t.Errorf("%d bytes, %+v", deref(t, e.BytesWritten), e)
				}
			} else { // All of it is typed, and its wait goes on.
				waits(t, stuck)
				stuck.Cancel()
				refused(t, stuck, CodeCanceled)
			}
			if e := refused(t, behind, CodeCanceled); deref(t, e.BytesWritten) != 0 || !strings.Contains(e.Message, "client b took over") {
				t.Errorf("%d bytes of the second: %v", deref(t, e.BytesWritten), e)
			}
			after := f.typeIn(Input{Text: "new", Owner: "b"})
			tp.allow(100)
			must(t, own)
			must(t, after)
			if want := "ok" + "0123456789"[:taken] + "ownnew"; tp.text() != want {
				t.Errorf("typed %q, want %q", tp.text(), want)
			}
			f.out.data <- []byte("out")
			if r := must(t, typed); r.Outcome.Reason != "bytes" {
				t.Errorf("%+v", r.Outcome)
			}
			f.end()
		})
	}
}

// If nobody holds the input any more, what is queued is still typed.
func TestHolderGivesWithQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		f.takes("a", false)
		queued := f.typeIn(Input{Text: "abc", Owner: "a"})
		must(t, f.GiveInput("a", ""))
		tp.allow(3)
		must(t, queued)
		f.end()
	})
}

// Input that waits for a probe is dropped as well, and the input of the holder behind it is typed.
func TestHolderDropsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, _, in := startAsking(t, SecretPolicy{})
		f.TellWaiting(true)
		l.set(reads)
		f.shows("Go? ")
		time.Sleep(time.Second)
		l.overtaken(f)
		answer, behind := f.writes(Input{Text: "y\r", IfWaiting: "1.1", Owner: "a"}), f.writes(Input{Text: "ls\r", Owner: "b"})
		f.takes("b", false)
		refused(t, answer, CodeCanceled)
		must(t, behind)
		if in.typed() != "ls\r" {
			t.Errorf("typed %q", in.typed())
		}
		l.calm()
		f.end()
	})
}

// So is input that waits for a person, even if its holder comes back before the answer; the question is withdrawn.
func TestHolderDropsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, ConfirmPolicy{Write: VerdictAsk})
		j, p := begin(t, m, command("a"))
		must(t, p)
		a1, _ := j.Write(Input{Text: "a1", Owner: "a"})
		b1, _ := j.Write(Input{Text: "b1", Owner: "b"})
		a2, _ := j.Write(Input{Text: "a2", Owner: "a"})
		b2, _ := j.Write(Input{Owner: "b"}) // nothing to type, so there is no question
		synctest.Wait()
		if len(who.asked) != 3 {
			t.Fatalf("asked %d times", len(who.asked))
		}
		must(t, j.TakeInput(takeBy("b", false)))
		refused(t, a1, CodeCanceled)
		refused(t, a2, CodeCanceled)
		must(t, j.TakeInput(takeBy("a", true)))
		refused(t, b1, CodeCanceled)
		refused(t, b2, CodeCanceled)
		isHeld(t, func() Pending[WriteResult] { p, _ := j.Write(Input{Text: "b", Owner: "b"}); return p }(), "a")
		for _, q := range who.asked {
			q.Answer(AnswerOnce)
		}
		synctest.Wait()
		if len(who.withdrawn) != 3 || len(job().in.room) != 0 {
			t.Errorf("%d questions withdrawn", len(who.withdrawn))
		}
	})
}

// After its leader has ended, a job still has a holder; once it has closed, it has none to change.
func TestHolderOfEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f, _ := startTape(t, sink)
		f.takes("a", false)
		f.proc.exit(0)
		synctest.Wait()
		refused(t, f.typeIn(Input{Text: "x", Owner: "b"}), CodeJobExited)
		f.takes("b", true)
		f.proc.gone()
		synctest.Wait()
		refused(t, f.TakeInput(takeBy("a", true)), CodeJobExited)
		refused(t, f.GiveInput("b", ""), CodeJobExited)
		refused(t, f.Resize(1, 1, "a"), CodeJobExited)
		f.LeaveInput("b")
		if n := len(sink.inputChanges()); n != 2 {
			t.Errorf("%d changes are reported", n)
		}
		f.finish()
	})
}
