package jobs

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

var randomRounds = flag.Int("random", 300, "rounds of the random tests")

// randomInputs is a client that writes, cancels, interrupts and waits at random, on a system that takes random amounts
// of input.
type randomInputs struct {
	*fakeJob
	tape  *tape
	rnd   *rand.Rand
	sent  []sentInput
	bytes byte // number of the letter that the last write consists of
}

type sentInput struct {
	text     string
	p        Pending[WriteResult]
	timed    bool // it has a wait with a timeout
	withdraw bool // it was cancelled, or an interrupt came after it
}

// Whatever happens, each request is answered once, and the terminal has taken the bytes that the answers report, in the
// order of the requests.
func TestRandomInputs(t *testing.T) {
	for seed := range *randomRounds {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, tp := startTape(t, &recorder{})
				r := &randomInputs{fakeJob: f, tape: tp, rnd: rand.New(rand.NewPCG(uint64(seed), 1))}
				tp.sends = r.rnd.IntN(3) == 0
				for range 10 + r.rnd.IntN(60) {
					r.step()
				}
				r.finishRandomly()
				r.check()
			})
		})
		if !ok {
			return
		}
	}
}

// step does one thing. It does not wait for most of them, so that a turn handles several at once.
func (r *randomInputs) step() {
	switch r.rnd.IntN(12) {
	case 0, 1, 2, 3:
		r.typeSome()
	case 4:
		r.interrupt()
	case 5:
		if len(r.sent) > 0 {
			i := r.rnd.IntN(len(r.sent))
			r.sent[i].withdraw = true
			r.sent[i].p.Cancel()
		}
	case 6, 7:
		r.tape.allow(r.rnd.IntN(12))
	case 8:
		r.out.data <- []byte("output")
		if r.rnd.IntN(2) == 0 {
			r.out.data <- []byte("\x1b[5n")
		}
	case 9:
		// Do nothing: the next step comes at once.
	case 10:
		time.Sleep(ms(r.rnd.IntN(20))) // in fake time
	case 11:
		synctest.Wait()
	}
}

func (r *randomInputs) typeSome() {
	// Each write has a letter of its own, as far as there are enough. None has n, with which the terminal's answers
	// end: behind the beginning of an answer, another n would look like its end.
	if r.bytes = r.bytes%26 + 1; 'a'+r.bytes-1 == 'n' {
		r.bytes++
	}
	text := bytes.Repeat([]byte{'a' + r.bytes - 1}, r.rnd.IntN(8))
	in := Input{Text: string(text), Secret: r.rnd.IntN(4) == 0}
	r.send(in)
}

func (r *randomInputs) interrupt() {
	in := Input{Text: "\x03"}
	if r.rnd.IntN(2) == 0 {
		in.Text = "\x03more"
	}
	for i := range r.sent {
		r.sent[i].withdraw = true
	}
	r.send(in)
}

func (r *randomInputs) send(in Input) {
	s := sentInput{text: in.Text}
	if r.rnd.IntN(2) == 0 {
		in.Wait = &WaitSpec{Timeout: ms(r.rnd.IntN(30)), MaxBytes: 10}
		s.timed = true
		if r.rnd.IntN(4) == 0 {
			in.Wait.Timeout, s.timed = -1, false
		}
		if r.rnd.IntN(2) == 0 {
			in.Wait.Until = []Condition{{Kind: UntilBytes, Bytes: int64(r.rnd.IntN(10))}}
		}
	}
	s.p = r.typeIn(in)
	r.sent = append(r.sent, s)
}

// finishRandomly ends the job in a random way, with the input that is queued at that time.
func (r *randomInputs) finishRandomly() {
	switch r.rnd.IntN(3) {
	case 0:
		r.tape.allow(1 << 20)
		synctest.Wait()
	case 1:
		r.post(shutdownMsg{})
	}
	r.proc.exit(0)
	r.send(Input{Text: "late"})
	r.proc.gone()
	synctest.Wait() // The job is closed then, and all requests are answered.
	r.finish()
}

// check compares the answers with each other and with the tape.
func (r *randomInputs) check() {
	var want []byte
	for i, s := range r.sent {
		var res Result[WriteResult]
		select {
		case res = <-s.p.C:
		default:
			r.t.Fatalf("write %d of %q is not answered", i, s.text)
		}
		if len(s.p.C) > 0 {
			r.t.Fatalf("write %d of %q is answered twice", i, s.text)
		}
		want = append(want, s.text[:r.written(i, s, res)]...)
	}
	if got := statusAnswer.ReplaceAllString(r.tape.text(), ""); got != string(want) {
		r.t.Errorf("typed\n%q, the answers say\n%q", got, want)
	}
}

// statusAnswer matches the terminal's own answers, even those cut off by an interrupt or the end.
var statusAnswer = regexp.MustCompile(`\x1b(\[(0n?)?)?`)

// written returns the number of bytes that an answer reports as written. It also checks that the request can have such
// an answer.
func (r *randomInputs) written(i int, s sentInput, res Result[WriteResult]) int64 {
	e, _ := res.Err.(*Error)
	switch {
	case res.Err == nil:
		full := res.Value.BytesWritten == int64(len(s.text))
		if o := res.Value.Outcome; !full && (o == nil || o.Reason != "timeout" || !s.timed) {
			r.t.Errorf("write %d of %q: %d bytes, outcome %+v", i, s.text, res.Value.BytesWritten, o)
		}
		return res.Value.BytesWritten
	case e == nil:
		r.t.Errorf("write %d: %v", i, res.Err)
	case e.Code == CodeCanceled && !s.withdraw, e.Code != CodeCanceled && e.Code != CodeJobExited && e.Code != CodeShuttingDown && e.Code != CodeJobNotFound:
		r.t.Errorf("write %d of %q: %+v", i, s.text, e)
	case e.BytesWritten != nil:
		return *e.BytesWritten
	}
	return 0
}
