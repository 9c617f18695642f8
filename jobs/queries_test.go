package jobs

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
)

const whoAmI = "\x1b[?62;22c"

func (f *fakeJob) inTurn(do func()) {
	f.lock.Lock()
	defer f.lock.Unlock()
	do()
}

func TestQueriesAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		f.m.own.version = "1.2"
		tp.allow(1000)
		f.out.data <- []byte("hello \x1b[c")
		synctest.Wait()
		f.out.data <- []byte("\x1b[?200")
		synctest.Wait()
		f.out.data <- []byte("4$p\x1b[18t\x1b[6n\x1b[>q")
		synctest.Wait()
		want := whoAmI + "\x1b[?2004;2$y" + "\x1b[8;24;80t" + "\x1b[1;7R" + "\x1bP>|shelld(1.2)\x1b\\"
		if got := tp.text(); got != want {
			t.Errorf("typed %q, want %q", got, want)
		}
		must(t, f.Resize(100, 50, ""))
		f.out.data <- []byte("\x1b[18t")
		synctest.Wait()
		if got := strings.TrimPrefix(tp.text(), want); got != "\x1b[8;50;100t" {
			t.Errorf("after a resize %q", got)
		}
		f.end()
	})
}

// An answer is typed as soon as possible, but never in the middle of a client's input.
func TestAnswersGoBetweenInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		first := f.typeIn(Input{Text: "first"})
		second := f.typeIn(Input{Text: "second"})
		synctest.Wait()
		f.out.data <- []byte("\x1b[c") // The write of the first one has begun, but none of it was taken.
		tp.allow(2)
		synctest.Wait()
		f.out.data <- []byte("\x1b[5n\x1b[c")
		synctest.Wait()
		if n := f.input.queue.bytes.Load(); n != int64(len("firstsecond")) { // until the write ends
			t.Errorf("%d bytes are queued", n)
		}
		tp.allow(5)
		synctest.Wait()
		f.out.data <- []byte("\x1b[5n") // during the write of the first answers
		synctest.Wait()
		tp.allow(1000)
		must(t, first)
		must(t, second)
		synctest.Wait()
		if got, want := tp.text(), "first"+whoAmI+"\x1b[0n"+whoAmI+"\x1b[0n"+"second"; got != want {
			t.Errorf("typed %q, want %q", got, want)
		}
		if f.input.queue.bytes.Load() != 0 || f.input.queue.answers != 0 {
			t.Errorf("%d bytes of input and %d of answers are left", f.input.queue.bytes.Load(), f.input.queue.answers)
		}
		f.end()
	})
}

// A program that sends queries without end and does not read is not blocked.
func TestAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		f.inTurn(func() { tp.attrs = proc.Attrs{} })
		flood := []byte(strings.Repeat("\x1b[c", smallRead/3))
		for range 100 {
			f.out.data <- flood
		}
		synctest.Wait()
		if got := f.End(PTY); got != int64(100*len(flood)) {
			t.Errorf("%d bytes of output", got)
		}
		typed := f.typeIn(Input{Text: "x"})
		synctest.Wait()
		if f.input.queue.answers > mostAnswers || f.input.queue.answers < mostAnswers/2 || len(f.input.queue.items) > 3 || !f.display.queries.lost {
			t.Errorf("%d bytes of answers in %d items, noted %v", f.input.queue.answers, len(f.input.queue.items), f.display.queries.lost)
		}
		tp.allow(2 * mostAnswers)
		must(t, typed)
		if got := tp.text(); strings.ReplaceAll(got, whoAmI, "") != "x" {
			t.Errorf("typed %q", got)
		}
		f.out.data <- []byte("\x1b[5n")
		synctest.Wait()
		if got := tp.text(); !strings.HasSuffix(got, "x\x1b[0n") {
			t.Errorf("typed at last %q", got[len(got)-20:])
		}
		f.end()
	})
}

// An interrupt key drops queued answers, like the kernel those that it has.
func TestInterruptDropsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(3)
		f.out.data <- []byte("\x1b[c\x1b[5n")
		synctest.Wait()
		key := f.typeIn(Input{Keys: []string{"Ctrl-C"}})
		tp.allow(100)
		must(t, key)
		synctest.Wait()
		if got := tp.text(); got != "\x1b[?\x03" || f.input.queue.answers != 0 {
			t.Errorf("typed %q, %d bytes are left", got, f.input.queue.answers)
		}
		f.end()
	})
}

func TestUnansweredQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		f.inTurn(func() { f.spec.Unanswered = true })
		tp.allow(100)
		f.out.data <- []byte("\x1b[c")
		synctest.Wait()
		f.inTurn(func() { f.spec.Unanswered = false })
		f.proc.exit(0)
		synctest.Wait()
		time.Sleep(time.Second)
		f.out.data <- []byte("\x1b[c") // from a process that the leader has left
		synctest.Wait()
		if got := tp.text(); got != "" {
			t.Errorf("typed %q", got)
		}
		f.proc.gone()
		f.finish()
	})
}

// Answers in between do not disturb the search for the echo of typed input.
func TestAnswersAreNotTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1000)
		yes := true
		must(t, f.typeIn(Input{Text: "abc"}))
		f.out.data <- []byte("\x1b[c")
		synctest.Wait()
		if f.input.typed == nil || string(f.input.typed.Data) != "abc" {
			t.Errorf("what was typed last is %+v", f.input.typed)
		}
		p, err := f.Wait(&WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "b."}, AfterInput: &yes}}, From: Origin{Kind: FromStart}, Timeout: -1, MaxBytes: 100})
		if err != nil {
			t.Fatal(err)
		}
		f.out.data <- []byte("abcbx ")
		if o := must(t, p); o.Match.Text != "bx" {
			t.Errorf("matched %+v", o.Match)
		}
		f.end()
	})
}

// Queries about the screen are answered as of their place in the output, whichever goroutine draws it. Answers keep the
// order of the queries.
func TestQueriesOfTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1000)
		want := ""
		expect := func(output, answer string) {
			f.out.data <- []byte(output)
			synctest.Wait()
			want += answer
			if got := tp.text(); got != want {
				t.Errorf("behind %q typed %q, want %q", output, got, want)
			}
		}
		expect("\x1b[5n", "\x1b[0n")
		if f.display.view != nil {
			t.Error("it is drawn, and nobody needs that")
		}
		expect("one\r\ntwo\x1b[6nthree\x1b[c\r\n\x1b[?6n\x1b[5n", "\x1b[2;4R"+whoAmI+"\x1b[?3;1R\x1b[0n")
		expect("\x1b[5;20r\x1bP$q", "")
		expect("r\x1b\\\x1b[1;31m\x1bP$qm\x1b\\", "\x1bP1$r5;20r\x1b\\\x1bP1$r0;1;31m\x1b\\")

		release := f.slowly() // drawing is slow
		f.out.data <- []byte("\x1b[H\x1b[6n....\x1b[6n....\x1b[c")
		synctest.Wait()
		shown := f.Screen(0, nil)
		synctest.Wait()
		release()
		must(t, shown)
		expect("", "\x1b[1;1R\x1b[1;5R"+whoAmI)
		if n := f.display.j.heard.screen.Len(); n > 0 {
			t.Errorf("%d are left", n)
		}
		must(t, f.Resize(40, 10, ""))
		expect("\x1b[99;99H\x1b[6n", "\x1b[10;40R")
		f.end()
	})
}

// A query behind a flood of output is still answered, as well as possible.
func TestQueriesBehindAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1000)
		flood := []byte(strings.Repeat("0123456789\r\n", smallRead/12))
		for range 12 << 20 / len(flood) {
			f.out.data <- flood
		}
		f.out.data <- []byte("\x1b[6n")
		synctest.Wait()
		if got := tp.text(); got != "\x1b[24;1R" {
			t.Errorf("typed %q", got)
		}
		f.end()
	})
}

// After an answer was dropped, no further answer is queued until the earlier ones are read.
func TestAnswersHaveNoHoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		f.inTurn(func() { tp.attrs = proc.Attrs{} })
		for range 20 {
			f.out.data <- []byte("\x1b]4" + strings.Repeat(";1;?", 100) + "\a\x1b[c")
			synctest.Wait()
		}
		tp.allow(2 * mostAnswers)
		synctest.Wait()
		long := strings.Repeat("\x1b]4;1;rgb:cdcd/0000/0000\a", 100)
		if got := strings.ReplaceAll(tp.text(), long+whoAmI, ""); got != "" {
			t.Errorf("typed beside whole ones %q", got)
		}
		f.out.data <- []byte("\x1b[5n")
		synctest.Wait()
		if got := tp.text(); !strings.HasSuffix(got, "\x1b[0n") {
			t.Error("nothing is answered any more")
		}
		f.end()
	})
}

// leaves makes another consumer answer queries from now on, or the job again.
func (f *fakeJob) leaves(others bool) {
	must(f.t, f.Subscribe(Origin{}, func(Info, map[Stream]int64) (bool, error) { return others, nil }))
}

// While another consumer answers, the job never answers queries. It still answers earlier ones, however late.
func TestOthersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1000)
		want := ""
		expect := func(output, answer string) {
			t.Helper()
			f.out.data <- []byte(output)
			synctest.Wait()
			want += answer
			if got := tp.text(); got != want {
				t.Errorf("behind %q typed %q, want %q", output, got, want)
			}
		}
		expect("\x1b[c\x1b[", whoAmI)
		f.leaves(true) // In the middle of a query: the consumer must answer it.
		expect("6n...\x1b[c\x1b[6n\x1b[5n\x1b[", "")
		must(t, f.Screen(0, nil))
		f.leaves(false)
		expect("6n", "\x1b[1;4R")

		release := f.slowly() // drawing is slow
		f.out.data <- []byte("\r\n\x1b[6n")
		synctest.Wait()
		f.leaves(true)
		f.out.data <- []byte("...\x1b[6n\x1b[c")
		synctest.Wait()
		release()
		expect("", "\x1b[2;1R")
		if n := f.display.j.heard.screen.Len(); n > 0 {
			t.Errorf("%d are left", n)
		}
		f.end()
	})
}

// If output is stored but not yet reported, its queries are answered by the job or the consumer, whichever answered at
// its offset.
func TestOthersAnswerWhatIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1000)
		f.inTurn(func() {
			f.display.j.heard.read([]byte("\x1b[c\x1b[5n"))
			f.display.leaveQueries(true, 3)
			f.display.j.heard.stored()
			f.input.handInput()
		})
		synctest.Wait()
		if got := tp.text(); got != whoAmI {
			t.Errorf("typed %q", got)
		}
		f.inTurn(func() {
			f.display.j.heard.read([]byte("\x1b[c\x1b[5n"))
			f.display.leaveQueries(false, 10)
			f.display.j.heard.stored()
			f.display.takeQueries()
			f.input.handInput()
		})
		synctest.Wait()
		if got := tp.text(); got != whoAmI+"\x1b[0n" {
			t.Errorf("typed then %q", got)
		}
		f.end()
	})
}

// Queries that another consumer answers are not kept, however many there are.
func TestOthersAreAskedWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1000)
		f.leaves(true)
		for range 3 * mostQueries / 100 {
			f.out.data <- []byte(strings.Repeat("\x1b[c\x1b[6n", 100))
		}
		synctest.Wait()
		f.leaves(false)
		f.out.data <- []byte("\x1b[6n")
		synctest.Wait()
		if got := tp.text(); got != "\x1b[1;1R" || f.display.queries.lost {
			t.Errorf("typed %q, noted %v", got, f.display.queries.lost)
		}
		f.end()
	})
}

// Another consumer may answer from the first byte on. Its answers are ordinary input.
func TestOthersAnswerFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f, tp := startTapeOf(t, Spec{Sink: sink, SinkAnswers: true}, sink)
		tp.allow(1000)
		f.out.data <- []byte("\x1b[c")
		synctest.Wait()
		must(t, f.typeIn(Input{Text: whoAmI}))
		if got := tp.text(); got != whoAmI {
			t.Errorf("typed %q", got)
		}
		f.leaves(false)
		f.out.data <- []byte("\x1b[5n")
		synctest.Wait()
		if got := tp.text(); got != whoAmI+"\x1b[0n" {
			t.Errorf("typed then %q", got)
		}
		f.end()
	})
}
