package jobs

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/screen"
)

// These tests simulate the system in a synctest bubble.

func forever() *WaitSpec { return &WaitSpec{Timeout: -1, MaxBytes: 100} }

// If an input is cancelled before its first byte was written, the input queued behind it begins as if the first had
// never been sent: its wait is armed, and it is answered.
func TestWithdrawnFirstInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The loop is blocked until all requests are queued, so that one turn handles them all.
		sink := &recorder{block: make(chan struct{})}
		f, tp := startTape(t, sink)
		synctest.Wait()
		first := f.typeIn(Input{Text: "abc"})
		empty := f.typeIn(Input{})
		waits := f.typeIn(Input{Text: "de", Wait: &WaitSpec{Until: []Condition{{Kind: UntilQuiet, Quiet: time.Second}}, Timeout: -1}})
		first.Cancel()
		close(sink.block)
		tp.allow(100)
		if e := refused(t, first, CodeCanceled); deref(t, e.BytesWritten) != 0 {
			t.Errorf("%d bytes of the withdrawn one", deref(t, e.BytesWritten))
		}
		must(t, empty)
		if r := must(t, waits); r.BytesWritten != 2 || r.Outcome.Reason != "quietMs" {
			t.Errorf("%+v", r)
		}
		if got := tp.text(); got != "de" {
			t.Errorf("typed %q", got)
		}
		f.end()
	})
}

func TestInterruptOvertakes(t *testing.T) {
	for _, sends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, tp := startTape(t, &recorder{})
			tp.sends = sends
			stuck := f.typeIn(Input{Text: "0123456789", Wait: forever()})
			behind := f.typeIn(Input{Text: "abc", Wait: forever()})
			last := f.typeIn(Input{Text: "def"})
			tp.allow(4)
			synctest.Wait()
			key := f.typeIn(Input{Keys: []string{"Ctrl-C"}, Text: "", Wait: &WaitSpec{Until: []Condition{{Kind: UntilBytes, Bytes: 1}}, Timeout: -1}})
			after := f.typeIn(Input{Text: "ghi"})
			for i, c := range []struct {
				p       Pending[WriteResult]
				written int64
				outcome bool
			}{{stuck, 4, true}, {behind, 0, false}, {last, 0, false}} {
				e := refused(t, c.p, CodeCanceled)
				if deref(t, e.BytesWritten) != c.written || e.Handle != f.ID() || (e.Outcome != nil) != c.outcome {
					t.Errorf("write %d: %d bytes, %+v", i, deref(t, e.BytesWritten), e)
				}
				if c.outcome && e.Outcome.Reason != "canceled" {
					t.Errorf("write %d: outcome %+v", i, e.Outcome)
				}
			}
			tp.allow(100)
			synctest.Wait() // The key's wait is armed then, so that the output below counts for it.
			f.out.data <- []byte("^C")
			if r := must(t, key); r.BytesWritten != 1 || r.Outcome.Reason != "bytes" {
				t.Errorf("the key: %+v", r)
			}
			must(t, after)
			if got := tp.text(); got != "0123\x03ghi" || !slices.Equal(tp.overtaken, []int{4}) {
				t.Errorf("typed %q, way made at %v", got, tp.overtaken)
			}
			f.end()
		})
	}
}

// A signal key overtakes only while the terminal turns it into a signal, and only if it comes first in its input.
// Inputs that consist only of signal keys do not drop each other.
func TestKeysThatOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		stuck := f.typeIn(Input{Text: "ab"})
		inside := f.typeIn(Input{Text: "c\x03d"})
		tp.attrs.Signals = false
		raw := f.typeIn(Input{Text: "\x03"})
		tp.allow(100)
		for _, p := range []Pending[WriteResult]{stuck, inside, raw} {
			must(t, p)
		}
		if got := tp.text(); got != "abc\x03d\x03" || tp.overtaken != nil {
			t.Errorf("typed %q, way made at %v", got, tp.overtaken)
		}
		tp.attrs.Signals, tp.room, tp.got = true, 0, nil
		first := f.typeIn(Input{Keys: []string{"Ctrl-C"}})
		dropped := f.typeIn(Input{Text: "x"})
		second := f.typeIn(Input{Send: []SendItem{{Bytes: []byte{0x1c}}, {Key: "Ctrl-Z"}}})
		dropped2 := f.typeIn(Input{Text: "y"})
		third := f.typeIn(Input{Text: "\x1aand more"})
		dropped3 := f.typeIn(Input{Text: "z"})
		fourth := f.typeIn(Input{Text: "\x03"})
		for _, p := range []Pending[WriteResult]{dropped, dropped2, third, dropped3} {
			refused(t, p, CodeCanceled)
		}
		tp.allow(100)
		for _, p := range []Pending[WriteResult]{first, second, fourth} {
			must(t, p)
		}
		if got := tp.text(); got != "\x03\x1c\x1a\x03" {
			t.Errorf("typed %q", got)
		}
		f.end()
	})
}

// An interrupt is accepted even if the queue is full. An interrupt that is refused drops no input.
func TestInterruptOfAFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		f.m.settings.limits.InputQueueBytes = 4
		full := f.typeIn(Input{Text: "abcd"})
		for _, c := range []struct {
			in   Input
			code Code
		}{
			{Input{Text: "\x03", Keys: []string{"Nothing"}}, CodeInvalidKey},
			{Input{Text: "\x03abcd"}, CodeInputQueueFull},
			{Input{Text: "\x03", IfWaiting: "w1"}, CodeInputNotExpected},
			{Input{Text: "\x03", Wait: &WaitSpec{From: Origin{Kind: FromOffset, Offsets: map[Stream]int64{Stderr: 0}}}}, CodeInvalidParams},
			{Input{Text: "x"}, CodeInputQueueFull},
			{Input{Text: "x", Secret: true}, CodeInputQueueFull},
		} {
			refused(t, f.typeIn(c.in), c.code)
		}
		tp.allow(2)
		synctest.Wait()
		key := f.typeIn(Input{Text: "\x03abc"})
		if e := refused(t, full, CodeCanceled); deref(t, e.BytesWritten) != 2 {
			t.Errorf("%+v", e)
		}
		tp.allow(4)
		if r := must(t, key); r.BytesWritten != 4 || tp.text() != "ab\x03abc" {
			t.Errorf("%+v, typed %q", r, tp.text())
		}
		// Signal keys do not drop each other, so that they are bounded like other input.
		keys := f.typeIn(Input{Text: "\x03\x03\x03"})
		refused(t, f.typeIn(Input{Text: "\x03\x03"}), CodeInputQueueFull)
		tp.allow(3)
		must(t, keys)
		f.end()
	})
}

// The timeout of a write's wait counts from the time at which the request was read, and ends the write.
func TestTimeoutBoundsTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		began := time.Now()
		timed := func(n int) *WaitSpec { return &WaitSpec{Timeout: ms(n), MaxBytes: 100} }
		stuck := f.typeIn(Input{Text: "0123456789", Wait: timed(1000)})
		behind := f.typeIn(Input{Text: "abc", Wait: timed(500)})
		next := f.typeIn(Input{Text: "def", Wait: timed(2500)})
		tp.allow(4)
		for _, c := range []struct {
			name    string
			p       Pending[WriteResult]
			at      int
			written int64
		}{{"behind", behind, 500, 0}, {"stuck", stuck, 1000, 4}} {
			r := must(t, c.p)
			if at := time.Since(began); at != ms(c.at) || r.BytesWritten != c.written || r.Outcome.Reason != "timeout" || r.Outcome.Index != -1 {
				t.Errorf("%s: at %v, %d bytes, %+v", c.name, at, r.BytesWritten, r.Outcome)
			}
		}
		// Its wait begins now, but its timeout counts from the request.
		tp.allow(100)
		if r := must(t, next); time.Since(began) != ms(2500) || r.BytesWritten != 3 || r.Outcome.Reason != "timeout" {
			t.Errorf("the next: at %v, %+v", time.Since(began), r)
		}
		if got := tp.text(); got != "0123def" {
			t.Errorf("typed %q", got)
		}
		f.end()
	})
}

// With a timeout of zero, the kernel still gets as much as it takes at once, and a condition that holds counts.
func TestNoTimeToWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(5)
		f.out.data <- []byte("output")
		synctest.Wait()
		for _, c := range []struct {
			text, reason string
			until        []Condition
			written      int64
		}{
			{"ab", "bytes", []Condition{{Kind: UntilBytes, Bytes: 6}}, 2},
			{"c", "timeout", nil, 1},
			{"defg", "timeout", nil, 2},
			{"h", "timeout", nil, 0},
		} {
			r := must(t, f.typeIn(Input{Text: c.text, Wait: &WaitSpec{Until: c.until, From: Origin{Kind: FromStart}, MaxBytes: 100}}))
			if r.BytesWritten != c.written || r.Outcome.Reason != c.reason || r.Outcome.Output[PTY] != (Range{From: 0, To: 6}) {
				t.Errorf("%s: %d bytes, %+v", c.text, r.BytesWritten, r.Outcome)
			}
		}
		if got := tp.text(); got != "abcde" {
			t.Errorf("typed %q", got)
		}
		f.end()
	})
}

// If a condition holds before all bytes are written, and then the write times out, the answer is the timeout.
func TestTimeoutAfterTheCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		p := f.typeIn(Input{Text: "abc", Wait: &WaitSpec{Until: []Condition{{Kind: UntilBytes, Bytes: 1}}, Timeout: time.Second}})
		tp.allow(1)
		f.out.data <- []byte("a")
		if r := must(t, p); r.BytesWritten != 1 || r.Outcome.Reason != "timeout" {
			t.Errorf("%+v %+v", r, r.Outcome)
		}
		f.end()
	})
}

// If a cancel, an interrupt, an exit or a shutdown comes when a write has timed out and the writeLoop still has it,
// there is only one answer.
func TestExpiredAndMore(t *testing.T) {
	for _, more := range []string{"cancel", "interrupt", "exit", "shutdown"} {
		synctest.Test(t, func(t *testing.T) {
			sink := &recorder{block: make(chan struct{})}
			f, _ := startTape(t, sink)
			synctest.Wait()
			p := f.typeIn(Input{Text: "abc", Wait: &WaitSpec{Timeout: time.Second}})
			// One turn handles the timeout and the other event.
			time.AfterFunc(2*time.Second, func() {
				switch more {
				case "cancel":
					p.Cancel()
				case "interrupt":
					f.typeIn(Input{Text: "\x03"})
				case "shutdown":
					f.post(shutdownMsg{})
				}
				close(sink.block)
			})
			if more == "exit" {
				f.proc.exit(0)
			}
			<-p.C
			synctest.Wait()
			if len(p.C) != 0 {
				t.Errorf("%s: two answers", more)
			}
			if more != "exit" {
				f.proc.exit(0)
			}
			f.proc.gone()
			f.finish()
		})
	}
}

// A job is closed only when it is known how much of its input was taken.
func TestClosedWaitsForTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f, tp := startTape(t, sink)
		tp.held, tp.sends = make(chan struct{}), true
		key := f.typeIn(Input{Text: "\x03abc"})
		synctest.Wait()
		f.proc.exit(0)
		f.proc.gone()
		synctest.Wait()
		if got := sink.names(); !slices.Equal(got, []string{"exited"}) || len(key.C) > 0 {
			t.Errorf("events %v, %d answers", got, len(key.C))
		}
		close(tp.held)
		if e := refused(t, key, CodeJobExited); deref(t, e.BytesWritten) != 1 {
			t.Errorf("%d bytes", deref(t, e.BytesWritten))
		}
		f.finish()
	})
}

// A secret is wiped, whether it was written or not.
func TestSecretIsWiped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		queuedData := func() []byte {
			synctest.Wait()
			items := f.input.queue.items
			return items[len(items)-1].data
		}
		paste := "gamma"
		written := f.typeIn(Input{Send: []SendItem{{Text: "alpha"}, {Bytes: []byte("beta")}, {Paste: &paste}}, AppendNewline: true, Secret: true})
		a := queuedData()
		withdrawn := f.typeIn(Input{Text: "delta", Secret: true})
		b := queuedData()
		plain := f.typeIn(Input{Text: "epsilon"})
		c := queuedData()
		if string(a) != "alphabetagamma\r" || string(b) != "delta" {
			t.Fatalf("queued %q and %q", a, b)
		}
		withdrawn.Cancel()
		refused(t, withdrawn, CodeCanceled)
		tp.allow(100)
		must(t, written)
		must(t, plain)
		if got := tp.text(); got != "alphabetagamma\repsilon" {
			t.Errorf("typed %q", got)
		}
		if len(bytes.Trim(a, "\x00")) > 0 || len(bytes.Trim(b, "\x00")) > 0 || string(c) != "epsilon" {
			t.Errorf("left in memory: %q, %q, %q", a, b, c)
		}
		f.end()
	})
}

// When a typing grows, it wipes its old memory, which may contain a secret.
func TestTypingLeavesNothing(t *testing.T) {
	ty := &typing{data: make([]byte, 0, 4)}
	ty.addText("abc")
	old := ty.data
	ty.add([]byte("defghi")...)
	if string(ty.data) != "abcdefghi" || !bytes.Equal(old, []byte{0, 0, 0}) {
		t.Errorf("%q, left %q", ty.data, old)
	}
}

// program simulates a program that sets modes of its terminal.
func (f *fakeJob) program(asks string) {
	f.out.data <- []byte(asks)
	synctest.Wait()
}

func TestSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1 << 20)
		paste := "a\nb\x1b[201~c"
		press := screen.MouseEvent{Action: screen.MousePress, Button: screen.MouseLeft, Row: 23, Col: 79}
		items := []SendItem{{Text: "text"}, {Key: "Up", Count: 2}, {Paste: &paste}, {Bytes: []byte{0xff, 0}}}
		r := must(t, f.typeIn(Input{Send: items, AppendNewline: true}))
		const plain = "text\x1b[A\x1b[Aa\rbc\xff\x00\r"
		if got := tp.text(); got != plain || r.BytesWritten != int64(len(plain)) {
			t.Errorf("%d bytes, typed %q", r.BytesWritten, got)
		}
		tp.got = nil
		f.program("\x1b[?1h\x1b[?2004h\x1b[?1000h\x1b[?1006h")
		must(t, f.typeIn(Input{Send: append(items, SendItem{Mouse: &press})}))
		if got := tp.text(); got != "text\x1bOA\x1bOA\x1b[200~a\rbc\x1b[201~\xff\x00\x1b[<0;80;24M" {
			t.Errorf("with modes: typed %q", got)
		}
		tp.got = nil
		must(t, f.typeIn(Input{Keys: []string{"Up"}}))
		must(t, f.typeIn(Input{Send: []SendItem{}}))
		must(t, f.typeIn(Input{Send: []SendItem{{}}}))
		if got := tp.text(); got != "\x1bOA" {
			t.Errorf("a key, and nothing: typed %q", got)
		}
		f.end()
	})
}

// If one item is invalid, nothing is sent.
func TestSendRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1 << 20)
		f.program("\x1b[?1000h")
		wheel := func(row, col int) *screen.MouseEvent {
			return &screen.MouseEvent{Action: screen.MouseWheelUp, Row: row, Col: col}
		}
		for _, c := range []struct {
			bad     SendItem
			code    Code
			pointer string
		}{
			{SendItem{Key: "Entr"}, CodeInvalidKey, ""},
			{SendItem{Mouse: &screen.MouseEvent{Action: screen.MouseMove}}, CodeInvalidParams, "/send/1/mouse"},
			{SendItem{Mouse: wheel(24, 0)}, CodeInvalidParams, "/send/1/mouse"},
			{SendItem{Mouse: wheel(0, 80)}, CodeInvalidParams, "/send/1/mouse"},
			{SendItem{Text: string(bytes.Repeat([]byte("x"), 5000))}, CodeLineTooLong, ""},
			{SendItem{Bytes: make([]byte, 1<<20)}, CodeInputQueueFull, ""},
		} {
			e := refused(t, f.typeIn(Input{Send: []SendItem{{Text: "lost"}, c.bad}}), c.code)
			if e.Pointer != c.pointer {
				t.Errorf("%v: pointer %q", c.bad, e.Pointer)
			}
		}
		must(t, f.typeIn(Input{Text: "found"}))
		if got := tp.text(); got != "found" {
			t.Errorf("typed %q", got)
		}
		f.end()
	})
}

func TestSendToAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		synctest.Wait()
		f.asPipe()
		tp.allow(100)
		paste := "a\r\n\x1b[201~\x03"
		f.program("\x1b[?2004h")
		refused(t, f.typeIn(Input{Send: []SendItem{{Text: "lost"}, {Key: "Enter"}}}), CodeNotInteractive)
		refused(t, f.typeIn(Input{Send: []SendItem{{Text: "lost"}, {Mouse: &screen.MouseEvent{}}}}), CodeNotInteractive)
		must(t, f.typeIn(Input{Send: []SendItem{{Bytes: []byte{3, 0xff}}, {Paste: &paste}, {Text: "b"}}, AppendNewline: true}))
		if got := tp.text(); got != "\x03\xffa\r\n\x1b[201~\x03b\n" || tp.overtaken != nil {
			t.Errorf("typed %q", got)
		}
		f.end()
	})
}
