package jobs

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// overtaken makes output come during each probe, so that none counts. A probe may still be running when the job's
// output is closed.
func (l *fakeLooker) overtaken(f *fakeJob) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.while = func() {
		select {
		case f.out.data <- []byte("y\n"):
		case <-f.out.closed:
		}
		time.Sleep(time.Millisecond)
	}
}

func (l *fakeLooker) calm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.while = nil
}

func (f *fakeJob) writes(in Input) Pending[WriteResult] {
	f.t.Helper()
	p, err := f.Write(in)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// An interrupt drops held writes before it, like queued input. Later input is typed.
func TestInterruptDropsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, _, in := startAsking(t, SecretPolicy{})
		f.TellWaiting(true)
		l.set(reads)
		f.shows("Go? ")
		time.Sleep(time.Second)
		l.overtaken(f)
		answer, behind := f.writes(Input{Text: "y\r", IfWaiting: "1.1"}), f.writes(Input{Text: "rm\r"})
		secret := f.writes(Input{Text: "\x03", Secret: true})
		must(t, secret)
		refused(t, answer, CodeCanceled)
		if e := refused(t, behind, CodeCanceled); !strings.Contains(e.Message, "interrupt") {
			t.Error(e)
		}
		must(t, f.Write1("ls\r"))
		if in.typed() != "ls\r" { // The key has overtaken the input of the tape.
			t.Errorf("typed %q", in.typed())
		}
		l.calm()
		f.end()
	})
}

// The timeout of its wait bounds a held write too, and one that is held behind it: the answer is the outcome. With a
// timeout of zero, the write still waits for a probe for a moment.
func TestHeldWritesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, _, in := startAsking(t, SecretPolicy{})
		f.TellWaiting(true)
		l.set(reads)
		f.shows("Go? ")
		time.Sleep(time.Second)
		for _, test := range []struct{ timeout, want time.Duration }{{0, partingTime}, {ms(300), ms(300)}} {
			id := must(t, f.Info()).Waiting.ID
			l.overtaken(f)
			began := time.Now()
			wait := &WaitSpec{Timeout: test.timeout, Until: []Condition{pattern("never")}}
			long := f.writes(Input{Text: "a\r", IfWaiting: id})
			held := f.writes(Input{Text: "b\r", IfWaiting: id, Wait: wait})
			behind := f.writes(Input{Text: "c\r", Wait: wait})
			last := f.writes(Input{Text: "d\r"})
			for _, p := range []Pending[WriteResult]{held, behind} {
				r := must(t, p)
				if r.BytesWritten != 0 || r.Outcome == nil || r.Outcome.Reason != "timeout" {
					t.Errorf("with a timeout of %v: %+v", test.timeout, r)
				}
				if took := time.Since(began); took < test.want || took > test.want+ms(5) {
					t.Errorf("with a timeout of %v it was answered after %v", test.timeout, took)
				}
			}
			refused(t, long, CodeInputNotExpected)
			must(t, last)
			if took := time.Since(began); took < confirmTime || took > confirmTime+ms(5) {
				t.Errorf("what has no timeout was answered after %v", took)
			}
			l.calm()
			time.Sleep(time.Second)
		}
		if in.typed() != "d\rd\r" {
			t.Errorf("typed %q", in.typed())
		}
		f.end()
	})
}

// If a person's answer cannot be typed, since no probe has seen the wait, the person is asked again.
func TestAnswerThatWasHeldIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, term, in := startAsking(t, SecretPolicy{Ask: true, ClientOnly: true})
		term.echo(false)
		v := asks
		v.Turns = 1 // the program has not run since
		l.set(v)
		f.says("Password: ")
		time.Sleep(time.Second)
		f.secretsAre(`1.1 "Password:" sudo ls #1 after 10`)
		l.overtaken(f)
		value := []byte("hunter2")
		f.AnswerSecret("1.1", value)
		time.Sleep(2 * confirmTime)
		l.calm()
		time.Sleep(time.Minute)
		if got := f.sink.secrets(); len(got) != 2 || !strings.HasPrefix(got[1], "1.1 ") || !strings.Contains(got[1], "#2") {
			t.Errorf("asked %q", got)
		}
		if in.typed() != "" || strings.Trim(string(value), "\x00") != "" {
			t.Errorf("typed %q, and %q is still there", in.typed(), value)
		}
		f.end()
	})
}

// A probe that does not return delays a job/get no longer than soon, and the job/get can be cancelled.
func TestInfoWaitsForNoStuckLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.shows("$ ")
		l.mu.Lock()
		l.block = make(chan struct{})
		l.mu.Unlock()
		began := time.Now()
		w := must(t, f.Info()).Waiting
		if took := time.Since(began); took != soon || w == nil || w.Waiting || !strings.Contains(w.Why, "not finished within") {
			t.Errorf("after %v it is told as %+v", took, w)
		}
		p := f.Info()
		synctest.Wait()
		p.Cancel()
		refused(t, p, CodeCanceled)
		close(l.blocked())
		f.end()
	})
}

// If a run times out and its job does not end at once, the loop does not wake up again and again.
func TestRunRestsAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		l.set(reads)
		f.shows("sure? ")
		p := f.Run(RunOptions{Timeout: time.Second})
		time.Sleep(time.Second + ms(10))
		f.inTurn(func() {
			// The job got TERM, and will get KILL after the grace: there is nothing to do before.
			if now := time.Now(); f.nextDue(now).Before(now.Add(partingTime)) {
				t.Errorf("there is something to do in %v", f.nextDue(now).Sub(now))
			}
		})
		f.proc.exit(0)
		f.proc.gone()
		must(t, p)
		f.finish()
	})
}

// If a program takes keys and prints line by line, each line begins another wait. Not all of these waits are reported.
func TestListeningIsToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.TellWaiting(true)
		const lines = 200
		for i := range lines {
			v := listens
			v.Turns = i + 1
			f.shows("a line\r\n")
			l.set(v)
			time.Sleep(ms(10))
		}
		told, last := f.sink.waitings(), must(t, f.Info()).Waiting.ID
		if n := len(told); n < 4 || n > 2*lines/25+2 {
			t.Errorf("told %d times in 2 s of %d lines", n, lines)
		}
		time.Sleep(time.Second)
		if told := f.sink.waitings(); told[len(told)-1] != last+" listening raw likely" {
			t.Errorf("in the end %q, want %s", told[len(told)-1], last)
		}
		l.set(inputwait.Verdict{Why: "it works"})
		f.end()
	})
}
