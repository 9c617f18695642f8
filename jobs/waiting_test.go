package jobs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/follow"
	"shelld.dev/shelld/jobs/internal/inputwait"
)

// A fakeLooker returns the verdict that the test has set, and records the times of the probes.
type fakeLooker struct {
	mu    sync.Mutex
	sees  inputwait.Verdict
	began time.Time
	looks []time.Duration // the time of each probe after began
	quiet []time.Duration
	block chan struct{} // not nil: probes wait for it
	while func()        // not nil: called during each probe
}

func (l *fakeLooker) Look(quiet time.Duration) inputwait.Verdict {
	if b := l.blocked(); b != nil {
		<-b
	}
	l.mu.Lock()
	while := l.while
	l.mu.Unlock()
	if while != nil {
		while()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks, l.quiet = append(l.looks, time.Since(l.began)), append(l.quiet, quiet)
	return l.sees
}

func (l *fakeLooker) blocked() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.block
}

func (l *fakeLooker) set(v inputwait.Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sees = v
}

func (l *fakeLooker) taken() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.looks)
}

var (
	reads   = inputwait.Verdict{Waiting: true, State: inputwait.Reading, Kind: inputwait.Line, Confidence: inputwait.Exact, PID: 7, Turns: 1, Why: "it reads"}
	listens = inputwait.Verdict{Waiting: true, State: inputwait.Listening, Kind: inputwait.Raw, Confidence: inputwait.Likely, PID: 7, Why: "it polls"}
	works   = inputwait.Verdict{Why: "it works"}
)

// startLooked starts a job on a terminal with a fakeLooker. Its input is taken at once.
func startLooked(t *testing.T) (*fakeJob, *fakeLooker) {
	t.Helper()
	l := &fakeLooker{sees: works, began: time.Now()}
	f := startFakeWith(t, &recorder{}, func(*Manager) {})
	f.turn(func() { f.looker = l })
	go func() {
		for {
			select {
			case f.in.room <- 1 << 20:
			case <-f.in.closed:
				return
			}
		}
	}()
	return f, l
}

// waitings returns the waits reported to a sink: their beginnings and ends.
func (r *recorder) waitings() (told []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		switch w := e.Waiting; {
		case w != nil && w.Waiting:
			told = append(told, fmt.Sprintf("%s %s %s %s", w.ID, w.State, w.Kind, w.Confidence))
		case w != nil:
			told = append(told, w.ID+" over")
		case e.Exited != nil:
			told = append(told, "exited")
		}
	}
	return told
}

func (f *fakeJob) waits(want ...string) {
	f.t.Helper()
	synctest.Wait()
	if got := strings.Join(f.sink.waitings(), ", "); got != strings.Join(want, ", ") {
		f.t.Errorf("told %q, want %q", got, strings.Join(want, ", "))
	}
}

func forInput(c InputCondition) *WaitSpec {
	if c.MinConfidence == "" {
		c.MinConfidence = inputwait.Likely
	}
	return &WaitSpec{Timeout: -1, Until: []Condition{{Kind: UntilInput, Input: c}}}
}

// There are no probes unless something needs them. Then probes follow output and input, at growing intervals.
func TestLooksFollowWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.shows("a")
		time.Sleep(time.Minute + ms(123))
		if got := l.taken(); got != nil {
			t.Errorf("looked at %v for nobody", got)
		}
		l.began = time.Now()
		f.TellWaiting(true)
		f.shows("b")
		time.Sleep(time.Minute)
		want := []time.Duration{0, 500 * time.Microsecond, ms(2), ms(5), ms(15), ms(45), ms(105), ms(225), ms(475), ms(725), ms(975), ms(1225)}
		got := l.taken()
		if !slices.Equal(got[:len(want)], want) {
			t.Errorf("looked after %v, want %v and so on", got, want)
		}
		if n := len(got); got[n-1]-got[n-2] != slowestLook {
			t.Errorf("after a minute it is looked every %v, want %v", got[n-1]-got[n-2], slowestLook)
		}
		// The other jobs of the server are probed at the same moment.
		if at := l.began.Add(got[len(got)-1]).Sub(f.mgr.own.began); at%lookTogether != 0 {
			t.Errorf("a late look is at %v of the server's time, want a multiple of %v", at, lookTogether)
		}
		f.TellWaiting(false)
		must(t, f.Write1("x"))
		n := len(l.taken())
		time.Sleep(time.Minute)
		if more := len(l.taken()) - n; more > 1 {
			t.Errorf("looked %d times more for nobody", more)
		}
		f.end()
	})
}

// shows makes the job print text, and returns when it is stored.
func (f *fakeJob) shows(text string) {
	f.says(text)
	synctest.Wait()
}

// Write1 types text.
func (f *fakeJob) Write1(text string) Pending[WriteResult] {
	p, err := f.Write(Input{Text: text})
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// The beginning and the end of a wait are reported. Input ends a wait. Output does not, unless the program goes on. The
// end of the job ends it before the exit is reported.
func TestEdgesOfAWaitAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.TellWaiting(true)
		f.shows("$ ")
		f.waits()
		l.set(reads)
		time.Sleep(time.Second)
		f.waits("1.1 reading line exact")
		f.shows("a background job is done\r\n$ ")
		time.Sleep(time.Second)
		f.waits("1.1 reading line exact")
		l.set(works)
		must(t, f.Write1("make\r"))
		f.waits("1.1 reading line exact", "1.1 over")
		time.Sleep(time.Minute)
		l.set(listens)
		time.Sleep(3 * time.Second)
		f.waits("1.1 reading line exact", "1.1 over", "1.2 listening raw likely")
		l.set(inputwait.Verdict{Waiting: true, State: inputwait.Reading, Kind: inputwait.Raw, Confidence: inputwait.Likely, PID: 7})
		time.Sleep(3 * time.Second)
		f.waits("1.1 reading line exact", "1.1 over", "1.2 listening raw likely", "1.2 reading raw likely")
		f.proc.exit(0)
		f.waits("1.1 reading line exact", "1.1 over", "1.2 listening raw likely", "1.2 reading raw likely", "1.2 over", "exited")
		f.proc.gone()
		f.finish()
	})
}

// If the read of a program times out and it asks something else, that is another wait, and an answer to the first
// question is refused. If a program that reads keys only redraws its line, it is the same wait.
func TestNextQuestionIsAnotherWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.shows("Keep file? ")
		l.set(reads)
		if w := must(t, f.Info()).Waiting; w.ID != "1.1" {
			t.Errorf("first %+v", w)
		}
		f.shows("\r\nDelete all? ")
		synctest.Wait()
		next := reads
		next.Turns++
		l.set(next)
		late, err := f.Write(Input{Text: "yes\r", IfWaiting: "1.1"})
		if err != nil {
			t.Fatal(err)
		}
		refused(t, late, CodeInputNotExpected)
		if w := must(t, f.Info()).Waiting; w.ID != "1.2" || w.Prompt != "Delete all?" {
			t.Errorf("then %+v", w)
		}
		keys := inputwait.Verdict{Waiting: true, State: inputwait.Reading, Kind: inputwait.Raw, Confidence: inputwait.Likely, PID: 7, Turns: 10}
		l.set(keys)
		first := must(t, f.Info()).Waiting.ID
		for _, test := range []struct {
			shows, prompt string
			same          bool
		}{
			{"\r12:00\r\x1b[KDelete all? ", "Delete all?", true},
			{"\r\x1b[KGo on? ", "Go on?", false},
			{"\r\x1b[Kin 5s, press c", "in 5s, press c", false},
			{"\r\x1b[Kin 4s, press c", "in 4s, press c", true},
			{"\x1b[1A\x1b[2K\r/ busy\r\nin 3s, press c", "in 3s, press c", true},
			{"....", "in 3s, press c....", true},
			{"\r\nin 2s, press c", "in 2s, press c", false},
			{"\r\nall gone\r\nin 2s, press c", "in 2s, press c", false},
			{strings.Repeat("\r\n", 30) + "in 2s, press c", "in 2s, press c", false},
			{"\rin 2s, press c", "in 2s, press c", true},
			{strings.Repeat("\rin 2s, press c", 2000), "in 2s, press c", false}, // The earlier line is not known.
		} {
			for part := range slices.Chunk([]byte(test.shows), smallRead) {
				f.shows(string(part))
			}
			keys.Turns++
			l.set(keys)
			w := must(t, f.Info()).Waiting
			if is := w.ID == first; is != test.same || w.Prompt != test.prompt {
				t.Errorf("after %.40q it is %+v, after %s", test.shows, w, first)
			}
			first = w.ID
		}
		f.end()
	})
}

// A request that times out gets the state of the job at that moment: a wait with a timeout of zero the present state,
// and a job/run the reason why the job has not ended.
func TestLookAtTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.shows("sure? ")
		l.set(reads)
		spec := forInput(InputCondition{})
		spec.Timeout = 0
		p, _ := f.Wait(spec)
		if o := must(t, p); o.Reason != "input" {
			t.Errorf("a wait without time for what is the case ended by %s", o.Reason)
		}
		p, _ = f.Wait(&WaitSpec{Timeout: time.Second})
		if o := must(t, p); o.Reason != "timeout" || o.State.Waiting == nil {
			t.Errorf("a wait for nothing ended by %s, waiting %+v", o.Reason, o.State.Waiting)
		}
		run := f.Run(RunOptions{Timeout: 2 * time.Second, Background: true})
		if r := must(t, run); !r.TimedOut || r.Waiting == nil || r.Waiting.Prompt != "sure?" {
			t.Errorf("a run came to %+v", r.Waiting)
		}
		l.mu.Lock()
		l.block = make(chan struct{})
		l.mu.Unlock()
		began := time.Now()
		p, _ = f.Wait(&WaitSpec{Timeout: time.Second})
		if o := must(t, p); o.Reason != "timeout" || time.Since(began) != time.Second+partingTime {
			t.Errorf("ended by %s after %v", o.Reason, time.Since(began))
		}
		close(l.block)
		f.end()
	})
}

// If output comes during each probe, none can see the wait. An input for this wait is refused only after confirmTime.
// An interrupt does not wait for that. But a probe that sees no wait counts in spite of the output.
func TestLooksThatOutputOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.TellWaiting(true)
		l.set(reads)
		f.shows("Go? ")
		time.Sleep(time.Second)
		l.mu.Lock()
		l.while = func() {
			f.says("y\n")
			time.Sleep(time.Millisecond)
		}
		l.mu.Unlock()
		began := time.Now()
		answer, _ := f.Write(Input{Text: "y\r", IfWaiting: "1.1"})
		refused(t, answer, CodeInputNotExpected)
		if took := time.Since(began); took < confirmTime || took > confirmTime+ms(10) {
			t.Errorf("refused after %v, want %v", took, confirmTime)
		}
		f.waits("1.1 reading line exact")
		began = time.Now()
		answer, _ = f.Write(Input{Text: "y\r", IfWaiting: "1.1"})
		must(t, f.Write1("\x03"))
		if took := time.Since(began); took > ms(10) {
			t.Errorf("an interrupt took %v", took)
		}
		refused(t, answer, CodeCanceled)
		f.waits("1.1 reading line exact", "1.1 over") // ended by the interrupt
		l.mu.Lock()
		l.while = nil
		l.mu.Unlock()
		time.Sleep(time.Second)
		f.waits("1.1 reading line exact", "1.1 over", "1.2 reading line exact")
		l.mu.Lock()
		l.while, l.sees = func() { f.says("y\n") }, works
		l.mu.Unlock()
		time.Sleep(slowestLook + 2*doubtTime)
		f.waits("1.1 reading line exact", "1.1 over", "1.2 reading line exact", "1.2 over")
		l.mu.Lock()
		l.while = nil
		l.mu.Unlock()
		time.Sleep(time.Second)
		f.end()
	})
}

// A probe that is not certain yet leaves the known wait, and is repeated after the time in its verdict.
func TestLookThatCannotKnowYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.TellWaiting(true)
		l.set(reads)
		f.shows("$ ")
		time.Sleep(time.Second)
		l.set(inputwait.Verdict{Again: ms(77), Why: "it may wait"})
		f.shows("x")
		time.Sleep(time.Second)
		f.waits("1.1 reading line exact")
		l.mu.Lock()
		n := len(l.looks)
		if gap := l.looks[n-1] - l.looks[n-2]; gap != ms(77) {
			t.Errorf("looked again after %v, want 77ms", gap)
		}
		l.mu.Unlock()
		l.set(works)
		time.Sleep(time.Second)
		f.waits("1.1 reading line exact", "1.1 over")
		f.end()
	})
}

// A probe that sees a wait does not count if output comes meanwhile.
func TestLookThatIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		l.set(reads)
		l.block = make(chan struct{})
		f.TellWaiting(true)
		f.shows("a")
		synctest.Wait() // A probe is running then.
		f.shows("b")
		synctest.Wait()
		l.set(works)
		close(l.block)
		l.mu.Lock()
		l.block = nil
		l.mu.Unlock()
		time.Sleep(time.Second)
		f.waits()
		f.end()
	})
}

// A wait for input ends when a probe that began after it has seen an input wait that it accepts.
func TestWaitForInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.shows("Password: ")
		l.set(inputwait.Verdict{Waiting: true, State: inputwait.Reading, Kind: inputwait.Password, Confidence: inputwait.Likely, PID: 7})
		for _, c := range []InputCondition{
			{MinConfidence: inputwait.Exact}, {Kinds: []InputKind{InputLine, InputRaw}},
		} {
			p, _ := f.Wait(forInput(c))
			time.Sleep(time.Minute)
			select {
			case r := <-p.C:
				t.Errorf("a wait for %+v ended: %+v", c, r.Value)
			default:
				p.Cancel()
				refused(t, p, CodeCanceled)
			}
		}
		for _, c := range []InputCondition{{}, {MinConfidence: inputwait.Guess}, {Kinds: []InputKind{InputPassword}}} {
			p, _ := f.Wait(forInput(c))
			o := must(t, p)
			if o.Reason != "input" || o.Index != 0 || o.State.Waiting == nil || o.State.Waiting.Prompt != "Password:" {
				t.Errorf("%+v: %+v with %+v", c, o, o.State.Waiting)
			}
		}
		l.set(listens)
		p, _ := f.Wait(forInput(InputCondition{}))
		time.Sleep(time.Minute)
		p.Cancel()
		refused(t, p, CodeCanceled)
		p, _ = f.Wait(forInput(InputCondition{Listening: true}))
		must(t, p)
		f.end()
	})
}

// The wait of a write ends with the next wait for input, not with the one that the write answers.
func TestWriteAndWaitForInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		l.set(reads)
		f.shows("name? ")
		p, _ := f.Wait(forInput(InputCondition{}))
		first := must(t, p).State.Waiting.ID
		l.set(works)
		w, err := f.Write(Input{Text: "me\r", Wait: forInput(InputCondition{})})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		select {
		case r := <-w.C:
			t.Fatalf("answered %+v while it works", r)
		default:
		}
		l.set(reads)
		f.shows("age? ")
		r := must(t, w)
		if r.Outcome.Reason != "input" || r.Outcome.State.Waiting.ID == first || r.Outcome.State.Waiting.Prompt != "name? age?" {
			t.Errorf("%+v, waiting %+v; the one before was %s", r.Outcome, r.Outcome.State.Waiting, first)
		}
		f.end()
	})
}

// job/get returns the present state. There are no probes afterwards.
func TestInfoTellsOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.shows("$ ")
		if w := must(t, f.Info()).Waiting; w == nil || w.Waiting || w.Why != "it works" {
			t.Errorf("of a job that works: %+v", w)
		}
		l.set(reads)
		if w := must(t, f.Info()).Waiting; w == nil || w.ID != "1.1" || w.Prompt != "$" {
			t.Errorf("of a job that reads: %+v", w)
		}
		n := len(l.taken())
		time.Sleep(time.Minute)
		if len(l.taken()) != n {
			t.Errorf("looked %d times for nobody", len(l.taken())-n)
		}
		must(t, f.Write1("x"))
		l.set(inputwait.Verdict{Again: ms(200)})
		f.shows("x")
		p := f.Info()
		time.Sleep(ms(199))
		l.set(reads)
		if w := must(t, p).Waiting; w == nil || !w.Waiting {
			t.Errorf("of a job that has to be looked at twice: %+v", w)
		}
		f.proc.exit(0)
		f.proc.gone()
		synctest.Wait()
		if w := f.Published().Waiting; w != nil {
			t.Errorf("of one that has ended: %+v", w)
		}
		f.finish()
	})
}

// A program that polls wakes up for moments: it has gone on by itself only if probes do not see it waiting for some
// time. Until that is known, requests are not answered.
func TestMomentsOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.TellWaiting(true)
		l.set(reads)
		f.shows("OK? ")
		time.Sleep(time.Second)
		l.set(works)
		answer, err := f.Write(Input{Text: "y\r", IfWaiting: "1.1"})
		if err != nil {
			t.Fatal(err)
		}
		info := f.Info()
		time.Sleep(doubtTime - ms(1))
		l.set(reads)
		if w := must(t, info).Waiting; w == nil || w.ID != "1.1" {
			t.Errorf("after a moment of work: %+v", w)
		}
		must(t, answer)
		time.Sleep(time.Minute)
		f.waits("1.1 reading line exact", "1.1 over", "1.2 reading line exact")
		l.set(works)
		began := time.Now()
		if answer, err = f.Write(Input{Text: "y\r", IfWaiting: "1.2"}); err != nil {
			t.Fatal(err)
		}
		refused(t, answer, CodeInputNotExpected)
		if took := time.Since(began); took < doubtTime || took > 2*doubtTime {
			t.Errorf("refused after %v, want about %v", took, doubtTime)
		}
		f.end()
	})
}

// An input for one wait is refused and not typed if that wait is over, for whatever reason.
func TestIfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		f.shows("(y/n) ")
		answer := func(id string) Pending[WriteResult] {
			p, err := f.Write(Input{Text: "y\r", IfWaiting: id})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		refused(t, answer("1.1"), CodeInputNotExpected)
		l.set(reads)
		must(t, f.Info())
		l.set(reads)
		a, b, c := answer("1.1"), answer("1.1"), f.Write1("behind\r")
		must(t, a)
		refused(t, b, CodeInputNotExpected)
		must(t, c)
		f.shows("(y/n) ")
		must(t, f.Info())
		l.set(works) // the wait times out
		refused(t, answer("1.2"), CodeInputNotExpected)
		l.set(reads)
		must(t, f.Info())
		l.block = make(chan struct{})
		d := answer("1.3")
		synctest.Wait()
		d.Cancel()
		refused(t, d, CodeCanceled)
		e := answer("1.3")
		f.proc.exit(0)
		refused(t, e, CodeJobExited)
		close(l.block)
		f.proc.gone()
		f.finish()
	})
}

// The prompt is the visible text of the line with the cursor.
func TestPromptIsWhatIsSeen(t *testing.T) {
	for _, c := range []struct{ name, output, prompt string }{
		{"a line", "hello\r\nName? ", "Name?"},
		{"a line of its own", "Name?\r\n", ""},
		{"redrawn", "50 %\rdone \r\x1b[KGo on? [y/N] ", "Go on? [y/N]"},
		{"with colours", "\x1b[1;32m>\x1b[0m ", ">"},
		{"where the cursor was put", "\x1b[2J\x1b[5;3HReally?\x1b[9;10H< Yes >\x1b[9;11H", strings.Repeat(" ", 9) + "< Yes >"},
		{"over the edge", strings.Repeat("x", 100) + "? ", strings.Repeat("x", 100) + "?"},
		{"behind much", strings.Repeat("line\r\n", 10_000) + "$ ", "$"},
		{"without a line end in sight", strings.Repeat("a", promptBytes+10) + "\r\x1b[J$ ", "$"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, l := startLooked(t)
				l.set(reads)
				for rest := c.output; rest != ""; {
					n := min(len(rest), smallRead)
					f.shows(rest[:n])
					rest = rest[n:]
				}
				synctest.Wait()
				if got := must(t, f.Info()).Waiting.Prompt; got != c.prompt {
					t.Errorf("prompt %q, want %q", got, c.prompt)
				}
				f.end()
			})
		})
	}
}

// A program that reads the answer to its query to the terminal is not reported as waiting for input.
func TestAnswerThatIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		f.inTurn(func() { f.looker = &fakeLooker{sees: reads, began: time.Now()} })
		f.TellWaiting(true)
		f.shows("\x1b[c")
		time.Sleep(time.Minute)
		f.waits()
		tp.allow(1000)
		time.Sleep(time.Minute)
		f.waits("1.1 reading line exact")
		f.end()
	})
}

// A match that more output could change counts when a probe sees the job reading, and otherwise after the quiet time.
func TestWaitSettlesPatterns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		ends := func(p Pending[Outcome]) time.Duration {
			t.Helper()
			began := time.Now()
			if o := must(t, p); o.Reason != "pattern" {
				t.Errorf("it ends for %q, want the pattern", o.Reason)
			}
			return time.Since(began)
		}
		prompt := func() Pending[Outcome] {
			p, err := f.Wait(&WaitSpec{Until: []Condition{pattern(`\$ $`)}, Timeout: -1})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := prompt()
		f.shows("working $ ")
		if took := ends(p); took != follow.QuietTime {
			t.Errorf("while it works it counts after %v, want %v", took, follow.QuietTime)
		}
		l.set(reads)
		p = prompt()
		f.shows("$ ")
		if took := ends(p); took != lookAfter[0] {
			t.Errorf("seen to wait it counts after %v, want %v", took, lookAfter[0])
		}
		l.set(listens)
		p = prompt()
		f.shows("$ ")
		if took := ends(p); took != follow.QuietTime {
			t.Errorf("while it listens it counts after %v, want %v", took, follow.QuietTime)
		}
		before := len(l.taken())
		time.Sleep(time.Minute)
		if more := len(l.taken()) - before; more > 1 {
			t.Errorf("looked %d times more for nobody", more)
		}
		f.end()
	})
}
