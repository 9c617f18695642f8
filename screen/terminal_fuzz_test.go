package screen

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

const (
	maxCols, maxRows = 200, 100
	pieceBytes       = 61 // A prime, so that the cuts fall everywhere.
	hangTime         = 30 * time.Second * slowdown
)

// streams are streams that terminals have failed on, here or elsewhere.
var streams = []string{
	"", "abc\r\n\x1b[31mdef", "世界\x1b[D\x1b[X", "\xff\xfe2x2\xff世x世", "\xff\xfe1x1\xff世e\u0301\t\b", "\x1b[?69h\x1b[3;9s\x1b[2;4r\x1b[?6h世界世界世界\x1b[L\x1b[P\x1b[@",
	"\xff\xfe5x3\xff1\r\n2\r\n3\r\n4\xff\xfe3x2\xff\xff\xfe9x9\xff", "\x1b[?1049habc\xff\xfe3x1\xff\x1b[?1049l", "a\x1b[2147483647b", "\x1b[9999999999999999999999A",
	"\x1b]2;title\x07\x1b[21t", "\x1bP$qm\x1b\\\x1b]4;1;?\x07\x1b[c", "\xe4\xb8", "\x1b[1;1;9;9;1;3;3;1$v世", "\x1b[?3h\x1b[?40h\x1b[?3h", "\x1b[38:2::1:2:3;4:3;58:5:1mx\x1b[;;m",
	"\x1b7\xff\xfe1x1\xff\x1b8x", "\x1b(0lqk\x0ex\x1b*B\x1bn", "👩‍💻🇩🇪❤️\x1b[2D\u0301", "\x1b#8\x1b[?5h\x1bc",
}

// TestTerminalGrammar writes streams of the grammar to terminals, and compares the results of writing at once, in
// pieces, and byte by byte.
func TestTerminalGrammar(t *testing.T) {
	for _, s := range streams {
		reportBroken(t, s)
	}
	const each = 60 // sequences
	for i := 0; i < fewer(*sequences/each) && !t.Failed(); i++ {
		s := newGrammar(*seed, uint64(i)).stream(each)
		if reportBroken(t, s); t.Failed() {
			t.Logf("-seed %d, stream %d", *seed, i)
		}
	}
}

func FuzzTerminal(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s))
	}
	for i := range uint64(20) {
		f.Add([]byte(newGrammar(1, i).stream(10)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 1<<16 {
			reportBroken(t, string(b))
		}
	})
}

// reportBroken reports a stream that a terminal does not take correctly, reduced to as few bytes as still show the
// error.
func reportBroken(t *testing.T, stream string) {
	t.Helper()
	hangs := time.AfterFunc(hangTime, func() { panic(fmt.Sprintf("this hangs: %q", stream)) })
	defer hangs.Stop()
	what := broken(stream)
	if what == "" {
		return
	}
	hangs.Stop()
	small := minimized(stream, broken)
	t.Errorf("%s\n\tthe smallest such stream, where \\xff\\xfeCOLSxROWS\\xff is a resize, says %s\n\t%q", what, broken(small), small)
}

// minimized removes the parts of a broken stream without which it is still broken.
func minimized(stream string, broken func(string) string) string {
	deadline := time.Now().Add(20 * time.Second)
	for size := len(stream) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(stream) && time.Now().Before(deadline); {
			if less := stream[:at] + stream[at+size:]; broken(less) != "" {
				stream, shorter = less, true
			} else {
				at += size
			}
		}
		if !shorter || size > len(stream) {
			size /= 2
		}
	}
	return stream
}

// broken describes the error of terminals on a stream; "" if there is none.
func broken(stream string) (what string) {
	defer func() {
		if p := recover(); p != nil {
			what = fmt.Sprintf("panic: %v\n%s", p, panicStack())
		}
	}()
	steps := stepsOf(stream)
	parts, err := playSteps(steps)
	for again := 0; err == errSlow && again < 3; again++ { // The machine may be busy with other things.
		parts, err = playSteps(steps)
	}
	if err != nil {
		return err.Error()
	}
	whole, single, sliced := newPlayer(), newPlayer(), newPlayer()
	for _, s := range steps {
		whole.feed(s, len(s.text))
		single.feed(s, 1)
		if what := sliced.feedSome(s); what != "" {
			return what
		}
	}
	if parts.switches != single.switches || parts.switches != whole.switches {
		return fmt.Sprintf("written in pieces it has %+v, byte by byte %+v, at once %+v", parts.switches, single.switches, whole.switches)
	}
	if whole.Work() != single.Work() || whole.Work() != sliced.Work() {
		return fmt.Sprintf("written at once it is %d work, byte by byte %d, by work %d", whole.Work(), single.Work(), sliced.Work())
	}
	for _, p := range []*player{whole, parts, single, sliced} {
		p.probe()
	}
	if d := difference(sliced.Snapshot(maxHistory), whole.Snapshot(maxHistory)); d != "" {
		return "written by work and at once it shows other things: " + d
	}
	if d := difference(parts.Snapshot(maxHistory), whole.Snapshot(maxHistory)); d != "" {
		return "written in pieces and at once it shows other things: " + d
	}
	if d := difference(parts.Snapshot(maxHistory), single.Snapshot(maxHistory)); d != "" {
		return "written in pieces and byte by byte it shows other things: " + d
	}
	if a, b, c := parts.replies.Bytes(), single.replies.Bytes(), sliced.replies.Bytes(); !bytes.Equal(a, b) || !bytes.Equal(a, c) {
		return fmt.Sprintf("written in pieces it replies %.200q, byte by byte %.200q, by work %.200q", a, b, c)
	}
	if parts.early != nil && dump(parts.early) != parts.shown {
		return "a snapshot has changed after it was taken"
	}
	return ""
}

// panicStack returns this project's functions in the stack of a panic.
func panicStack() string {
	_, stack, _ := strings.Cut(string(debug.Stack()), "panic(")
	lines := strings.SplitAfter(stack, "\n")
	return strings.Join(lines[min(2, len(lines)):min(12, len(lines))], "")
}

// A terminalStep is a change of size, or text.
type terminalStep struct {
	cols, rows int
	text       string
}

// sizeMark returns a change of size in a stream. No program writes such bytes.
func sizeMark(cols, rows int) string { return fmt.Sprintf("\xff\xfe%dx%d\xff", cols, rows) }

func stepsOf(stream string) (steps []terminalStep) {
	for i, piece := range strings.Split(stream, "\xff\xfe") {
		mark, text, ok := strings.Cut(piece, "\xff")
		var cols, rows int
		if n, _ := fmt.Sscanf(mark, "%dx%d", &cols, &rows); i > 0 && ok && n == 2 {
			steps = append(steps, terminalStep{cols: min(max(cols, 1), maxCols), rows: min(max(rows, 1), maxRows)})
			piece = text
		}
		steps = append(steps, terminalStep{text: piece})
	}
	return steps
}

// A player feeds a stream to a terminal.
type player struct {
	*Terminal
	replies bytes.Buffer
	last    *Snapshot
	early   *Snapshot // an earlier snapshot,
	shown   string    // and its content when it was taken
}

func newPlayer() *player { return &player{Terminal: NewTerminal(10, 5, maxHistory)} }

// feed plays a step, its text in pieces of some size.
func (p *player) feed(s terminalStep, size int) {
	if s.cols > 0 {
		p.Resize(s.cols, s.rows)
	}
	for text := []byte(s.text); len(text) > 0; {
		n := min(size, len(text))
		p.Write(text[:n])
		p.replies.Write(p.Replies())
		text = text[n:]
	}
}

// sliceWork are the amounts of work after which feedSome stops, one after the other.
var sliceWork = []int64{0, 1, 7, 100, 1, 1000, 33, 0, 5000}

// feedSome plays a step. It writes its text in slices with a limited amount of work.
func (p *player) feedSome(s terminalStep) (what string) {
	if s.cols > 0 {
		p.Resize(s.cols, s.rows)
	}
	for i, text := 0, []byte(s.text); len(text) > 0; i++ {
		n := p.WriteSome(text, sliceWork[i%len(sliceWork)])
		if n < 1 || n > len(text) {
			return fmt.Sprintf("of %d bytes %d were taken", len(text), n)
		}
		p.replies.Write(p.Replies())
		text = text[n:]
	}
	return ""
}

var errSlow = errors.New("a write takes longer than it may")

// playSteps plays all steps in pieces, and checks the terminal after each.
func playSteps(steps []terminalStep) (*player, error) {
	p := newPlayer()
	for _, s := range steps {
		size := pieceBytes
		if len(s.text) > 4<<10 {
			size = 4 << 10
		}
		for text := s.text; ; text = text[min(size, len(text)):] {
			begin, before := time.Now(), p.replies.Len()
			p.feed(terminalStep{s.cols, s.rows, text[:min(size, len(text))]}, size)
			if *writeTime > 0 && time.Since(begin) > *writeTime {
				return p, errSlow
			}
			if n := p.replies.Len() - before; n > maxReply {
				return p, fmt.Errorf("%d bytes of reply to %.99q", n, text)
			}
			if err := p.look(); err != nil {
				return p, err
			}
			if s.cols > 0 && (p.last.Cols != s.cols || p.last.Rows != s.rows) {
				return p, fmt.Errorf("%d×%d cells behind a resize to %d×%d", p.last.Cols, p.last.Rows, s.cols, s.rows)
			}
			if s.cols = 0; len(text) <= size {
				break
			}
		}
	}
	return p, nil
}

// look takes a snapshot, and checks the invariants and the previous snapshot.
func (p *player) look() error {
	now := p.Snapshot(maxHistory + 1)
	if bad := unsound(now); bad != "" {
		return errors.New(bad)
	}
	switch {
	case p.last == nil:
	case now.Revision < p.last.Revision:
		return fmt.Errorf("revision %d behind %d", now.Revision, p.last.Revision)
	case now.Revision == p.last.Revision:
		if d := difference(p.last, now); d != "" {
			return fmt.Errorf("both of revision %d: %s", now.Revision, d)
		}
	case p.early == nil && len(p.last.History) > 0:
		p.early, p.shown = p.last, dump(p.last)
	}
	p.last = now
	return nil
}

// probe ends an open sequence, and makes hidden state visible: margins, modes, tab stops, sets of characters, the
// style, the saved cursor.
func (p *player) probe() {
	p.feed(terminalStep{text: "\x18A\x1b[?6n\x1bP$qr\x1b\\\x1bP$qs\x1b\\\x1bP$qm\x1b\\" +
		"x\ty\r\n\tq\x0eq\x0fq\x1b8z\x1b[b\x1bM\x1b[?1047l\x1b8w\x1b[?1047hv"}, 1<<20)
}
