package shellmark

import (
	"bytes"
	"strings"
)

const (
	// maxPayload is far more than a hook writes, because hooks cut long texts.
	maxPayload = 256 << 10

	// maxRegion is the maximum output held back between Loaded and Began.
	maxRegion = 4 << 10
)

// A Reader removes the marks of one shell from the output of its terminal. Only marks with the right nonce are removed;
// all other bytes pass unchanged. It must be used by one goroutine only.
//
// The result depends only on the bytes, not on how they were divided into calls, unless Flush is called between them.
type Reader struct {
	prefix []byte // start of each of our marks

	// The bytes so far of a possible mark. The first passed bytes of it were returned by Flush at a pause, but are
	// kept, since it may still turn out to be a mark.
	held   []byte
	passed int

	// Output is held in region from a Loaded that a trigger line follows until Began.
	loading bool
	region  []byte
	loaded  bool // between Loaded and Began

	// Output right after the prompt is held in region while it may be the line being erased for one of our keys. From
	// the mark of such a key on, everything is held until the prompt is drawn again.
	behind, again bool

	running bool  // between Began and Ended
	seq     int64 // of the running command
	over    int64 // of the last command that has ended or was dropped: repeated marks of it are ignored

	// An Ended whose directory is not exact; the next mark contains the exact one. Output after it is held in region.
	ending *Mark

	out   []byte
	marks []Mark
}

// NewReader returns a Reader for the marks with a nonce.
func NewReader(nonce string) *Reader {
	return &Reader{prefix: []byte(opening + nonce + ";")}
}

// Read takes the next bytes, and returns those to pass on, with the marks found among them. The result may be p or an
// internal buffer, and is valid until the next call.
func (r *Reader) Read(p []byte) (out []byte, marks []Mark) {
	if len(r.held) == 0 && !r.keeping() && !r.behind {
		if r.find(p) < 0 && r.half(p) == len(p) {
			return p, nil // the usual case
		}
	}
	r.out, r.marks = r.out[:0], r.marks[:0]
	if len(r.held) > 0 {
		r.held = append(r.held, p...)
		p = r.held
	}
	rest := r.split(p)
	r.passed = max(0, r.passed-(len(p)-len(rest)))
	r.held = append(r.held[:0], rest...)
	return r.out, r.marks
}

// split passes on decided bytes, and returns the undecided ones: the start of a mark.
func (r *Reader) split(p []byte) (rest []byte) {
	passed := r.passed // of the bytes from here on
	for {
		at := r.find(p)
		if at < 0 {
			at = r.half(p)
			r.plain(p[min(at, passed):at])
			return p[at:]
		}
		payload := p[at+len(r.prefix):]
		end := bytes.IndexByte(payload, closing)
		switch {
		case end < 0 && len(payload) <= maxPayload:
			r.plain(p[min(at, passed):at])
			return p[at:]
		case end < 0 || end > maxPayload: // no mark: not even the start of one
			at++
			r.plain(p[min(at, passed):at])
			p = p[at:]
		default:
			r.plain(p[min(at, passed):at])
			r.mark(payload[:end])
			at += len(r.prefix) + end + 1
			p = p[at:]
		}
		passed = max(0, passed-at)
	}
}

// find returns the position of the first of our marks in p; -1: there is none. It searches for the second byte of a
// mark, since the first one occurs very often in coloured output.
func (r *Reader) find(p []byte) int {
	for from := 1; from < len(p); from++ {
		i := bytes.Index(p[from:], r.prefix[1:])
		if i < 0 {
			return -1
		}
		if from += i; p[from-1] == r.prefix[0] {
			return from - 1
		}
	}
	return -1
}

// half returns the position of an incomplete start of a mark at the end of p; len(p): there is none.
func (r *Reader) half(p []byte) int {
	from := max(0, len(p)-len(r.prefix)+1)
	for {
		i := bytes.IndexByte(p[from:], r.prefix[0])
		if i < 0 {
			return len(p)
		}
		if from += i; bytes.HasPrefix(r.prefix, p[from:]) {
			return from
		}
		from++
	}
}

// plain passes on output without marks, or holds it while it may contain a trigger line or a redrawn prompt.
func (r *Reader) plain(p []byte) {
	if len(p) == 0 {
		return
	}
	if !r.keeping() && !r.behind {
		r.out = append(r.out, p...)
		return
	}
	r.region = append(r.region, p...)
	if len(r.region) > maxRegion || r.behind && !erases(r.region, true) {
		r.release()
	}
}

// keeping reports whether output is held in region, whatever it is.
func (r *Reader) keeping() bool { return r.loading || r.again || r.ending != nil }

// release passes on the held output: it is no longer searched for a trigger line, and a pending Ended comes before it.
func (r *Reader) release() {
	if m := r.ending; m != nil {
		r.ending = nil
		m.At = len(r.out)
		r.marks = append(r.marks, *m)
	}
	r.out = append(r.out, r.region...)
	r.region, r.loading, r.behind, r.again = r.region[:0], false, false, false
}

func (r *Reader) mark(payload []byte) {
	m, to, ok := parse(payload)
	if !ok {
		return
	}
	if r.ending != nil {
		if m.Kind == Ended {
			r.ending.Cwd = m.Cwd
		}
		r.release()
	}
	if r.knows(m, payload[0] != 'e') {
		return
	}
	r.redrawn(m.Kind, to)
	switch m.Kind {
	case Ready:
		// The prompt is redrawn after Loaded, or a running command reads a line.
		if r.loading || r.running {
			return
		}
		r.behind = true
	case More:
		if r.running {
			return
		}
		if r.loading {
			r.release()
		}
	case Loaded:
		if r.running {
			return
		}
		r.loading, r.loaded = to.line, true
	case Began:
		r.begin()
		r.running, r.seq = true, m.Seq
	case Dropped:
		r.over = m.Seq
		if r.running && m.Seq == r.seq { // its Began came too early
			r.running, m.Kind, m.Exit = false, Ended, interrupted
			break
		}
		r.begin()
	case Ended:
		r.end(&m, payload[0] != 'e')
		r.running, r.over = false, max(r.over, m.Seq)
		if payload[0] == 'e' && strings.ContainsAny(m.Cwd, `\^`) {
			r.ending = &m
			return
		}
	}
	m.At = len(r.out)
	r.marks = append(r.marks, m)
}

// interrupted is the exit status after an interrupt.
const interrupted = 128 + 2

// knows reports whether a mark repeats an earlier one. The end of a command is reported from several places, so that it
// is not missed if the user has overwritten one of them, and each prompt repeats it.
func (r *Reader) knows(m Mark, numbered bool) bool {
	switch m.Kind {
	case Began:
		return m.Seq != 0 && (m.Seq <= r.over || r.running && m.Seq == r.seq)
	case Dropped:
		return m.Seq <= r.over
	case Ended:
		old := !numbered || m.Seq <= r.over
		// No prompt comes while a typed command runs.
		return old && !r.running || numbered && r.running && r.seq != 0 && m.Seq < r.seq
	}
	return false
}

// end handles the end of the running command, and sets its number in m. If the command's Began was lost, end adds one.
func (r *Reader) end(m *Mark, numbered bool) {
	if numbered && m.Seq > r.over && (!r.running || m.Seq > r.seq) {
		// If all output since Loaded is held, it contains that of the command. After an interrupt it does not: the
		// interrupt has been echoed, and has discarded the start.
		at := len(r.out)
		kept := r.loading && m.Exit != interrupted
		if r.begin(); !kept {
			at = len(r.out)
		}
		r.seq = m.Seq
		r.marks = append(r.marks, Mark{Kind: Began, Seq: m.Seq, At: at})
	}
	m.Seq = r.seq
}

// begin handles the end of the loaded line's editing: it runs, or never will.
func (r *Reader) begin() {
	if r.loading {
		r.region = cutEcho(r.region)
	}
	if r.loading || r.again {
		r.release()
	}
	r.loaded = false
}

// redrawn removes the output with which an editor handles one of our keys if nothing was typed: it erases the line from
// its start, including the end of any output before the prompt, and draws the prompt again, which ends with Ready.
func (r *Reader) redrawn(kind Kind, to redraw) {
	switch {
	case to.prompt && r.behind && len(r.region) > 0 && erases(r.region, false):
		r.behind, r.again = false, true
	case kind == Ready && r.again:
		r.region, r.again = r.region[:0], false
	case r.behind, r.again && !r.loading && kind == More:
		r.release()
	}
}

// erasing are the sequences with which an editor erases the prompt's lines.
var erasing = []string{"\r", "\x1b[K", "\x1b[A"}

// erases reports whether p consists only of these sequences; with cut, the last one may be incomplete.
func erases(p []byte, cut bool) bool {
next:
	for len(p) > 0 {
		for _, s := range erasing {
			if bytes.HasPrefix(p, []byte(s)) {
				p = p[len(s):]
				continue next
			}
			if cut && strings.HasPrefix(s, string(p)) {
				return true
			}
		}
		return false
	}
	return true
}

// Held returns the number of held bytes that Flush would return.
func (r *Reader) Held() int {
	if r.ending != nil {
		return 0
	}
	n := len(r.region)
	if len(r.held) < len(r.prefix) {
		n += len(r.held) - r.passed
	}
	return n
}

// Loading reports whether output is held because of one of our keys, until Began or the prompt. That may take the shell
// longer than a pause in its output.
func (r *Reader) Loading() bool { return len(r.region) > 0 && (r.loading || r.behind || r.again) }

// Flush returns the held output, after a pause. A mark that is continued afterwards is still recognised; a partial mark
// with the complete nonce is never returned.
func (r *Reader) Flush() []byte {
	r.out = r.out[:0]
	if r.loading || len(r.region) > 0 && r.ending == nil {
		r.release()
	}
	if r.ending == nil && len(r.held) < len(r.prefix) {
		r.out = append(r.out, r.held[r.passed:]...)
		r.passed = len(r.held)
	}
	return r.out
}

// Close returns all held output, at the end of the stream.
func (r *Reader) Close() []byte {
	r.Flush()
	if r.ending != nil {
		r.release()
	}
	r.out = append(r.out, r.held[r.passed:]...)
	r.held, r.passed = r.held[:0], 0
	return r.out
}
