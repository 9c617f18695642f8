package jobs

import (
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/follow"
)

// typing writes text with a wait into a fake job, which takes all of it.
func (f *fakeJob) typing(text string, spec *WaitSpec) Pending[WriteResult] {
	f.t.Helper()
	p, err := f.Write(Input{Text: text, Wait: spec})
	if err != nil {
		f.t.Fatal(err)
	}
	f.in.room <- len(text)
	return p
}

// prints makes the fake job write text, and waits until it is stored.
func (f *fakeJob) prints(text string) {
	f.t.Helper()
	end := f.End(PTY) + int64(len(text))
	f.out.data <- []byte(text)
	p, err := f.Wait(&WaitSpec{Until: []Condition{{Kind: UntilBytes, Bytes: end}}, From: Origin{Kind: FromStart}, Timeout: time.Minute})
	if err != nil {
		f.t.Fatal(err)
	}
	must(f.t, p)
}

func untilPattern(p string, c ...Condition) *WaitSpec {
	return until(append([]Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: p}}}, c...)...)
}

func matched(t *testing.T, o *Outcome, want string, start int64) {
	t.Helper()
	switch {
	case o == nil || o.Match == nil:
		t.Errorf("ended with %+v, want %q at %d", o, want, start)
	case o.Match.Text != want || o.Match.Start != start:
		t.Errorf("%q at %d, want %q at %d", o.Match.Text, o.Match.Start, want, start)
	}
}

// The fake terminal echoes a CR as a newline.
func TestWaitOfAWriteSkipsItsEcho(t *testing.T) {
	f := startFake(t, &recorder{})
	defer f.end()
	f.prints("hello\n")
	p := f.typing("hello\r", untilPattern("hello"))
	f.out.data <- []byte("hel")
	f.out.data <- []byte("lo\n")
	f.out.data <- []byte("say hello\n")
	matched(t, must(t, p).Outcome, "hello", 16)

	// Output from before the write is not its echo.
	spec := untilPattern("hello\n")
	spec.From.Kind = FromStart
	matched(t, must(t, f.typing("hello\r", spec)).Outcome, "hello\n", 0)
	f.prints("hello\n")

	// Other conditions see the echo.
	p = f.typing("x\r", untilPattern("x", Condition{Kind: UntilBytes, Bytes: 2}))
	f.prints("x\n")
	if o := must(t, p).Outcome; o.Index != 1 {
		t.Errorf("bytes: %+v", o)
	}
	no := false
	spec = untilPattern("x")
	spec.Until[0].AfterInput = &no
	p = f.typing("x\r", spec)
	f.out.data <- []byte("x\n")
	matched(t, must(t, p).Outcome, "x", int64(6+6+10+6+2))
}

// A wait that does not belong to a write may refer to the last write. Without one, afterInput has no
// effect.
func TestAfterInputOfOtherWaits(t *testing.T) {
	f := startFake(t, &recorder{})
	defer f.end()
	yes := true
	after := func() Pending[Outcome] {
		spec := untilPattern("h.")
		spec.Until[0].AfterInput, spec.From.Kind = &yes, FromStart
		p, err := f.Wait(spec)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := after()
	f.out.data <- []byte("hm\n")
	o := must(t, p)
	matched(t, &o, "hm", 0)
	must(t, f.typing("hi\r", nil))
	nothing, _ := f.Write(Input{})
	must(t, nothing) // nothing is typed: the last write is still the one before
	f.prints("hi\nho\n")
	spec := untilPattern("h[io]\n")
	spec.Until[0].AfterInput, spec.From.Kind = &yes, FromStart
	w, _ := f.Wait(spec)
	o = must(t, w)
	matched(t, &o, "ho\n", 6)
	// A wait from within the echo skips the rest of it.
	spec = untilPattern(".")
	spec.Until[0].AfterInput, spec.From = &yes, Origin{Kind: FromOffset, Offsets: map[Stream]int64{"": 4}}
	w, _ = f.Wait(spec)
	o = must(t, w)
	matched(t, &o, "h", 6)
}

// The end of a job ends the search, and output that was held back for an echo is matched.
func TestEchoSearchEndsWithTheJob(t *testing.T) {
	f := startFake(t, &recorder{})
	p := f.typing("hello\r", untilPattern("hel$"))
	f.out.data <- []byte("hel")
	f.proc.exit(0)
	matched(t, must(t, p).Outcome, "hel", 0)
	f.proc.gone()
	f.finish()
}

// A partial echo that is not completed is matched once the output is quiet.
func TestEchoSearchEndsWithQuiet(t *testing.T) {
	f := startFake(t, &recorder{})
	defer f.end()
	p := f.typing("hello\r", untilPattern("hel"))
	began := time.Now()
	f.out.data <- []byte("hel")
	matched(t, must(t, p).Outcome, "hel", 0)
	if took := time.Since(began); took < follow.QuietTime {
		t.Errorf("after %v; the echo may still have come", took)
	}
}

func TestOutcomeEcho(t *testing.T) {
	f := startFake(t, &recorder{})
	defer f.end()
	f.prints("before ")
	spec := until(Condition{Kind: UntilBytes, Bytes: 17})
	spec.StripEcho = true
	p := f.typing("a\rbb\r", spec)
	f.out.data <- []byte("in flight a\nA\nbb\nB")
	o := must(t, p).Outcome
	want := []Range{{From: 17, To: 19}, {From: 21, To: 24}}
	if got := o.Echo(PTY); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
	if got := o.Echo(Stdout); got != nil {
		t.Errorf("of a stream that does not exist: %v", got)
	}
	o.Spec = until()
	if got := o.Echo(PTY); got != nil {
		t.Errorf("not asked for: %v", got)
	}
	// Long input is not kept for later waits.
	must(t, f.typing(strings.Repeat("x\r", rememberedInput), nil))
	w, _ := f.Wait(&WaitSpec{StripEcho: true, From: Origin{Kind: FromStart}})
	if o := must(t, w); o.typed != nil {
		t.Error("a long input is remembered")
	}
}
