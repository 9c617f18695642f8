package shellmark

import (
	"bytes"
	"strings"
)

const (
	// maxPayload is far more than a hook writes: it cuts what it tells.
	maxPayload = 256 << 10

	// maxRegion is how much is held back between Loaded and Began.
	maxRegion = 4 << 10
)

// A Reader takes the marks of one shell out of what its terminal gives. Only those with its
// nonce are marks; all else goes through untouched. It belongs to one goroutine.
//
// What it returns depends on the bytes alone, and not on how they were cut, unless Flush
// is called between them.
type Reader struct {
	prefix []byte // with which each of our marks begins

	// What may be a mark, as far as it has come. The first passed bytes of it were given
	// out at a pause, and are not forgotten: it may still turn out to be one.
	held   []byte
	passed int

	// From a Loaded that a trigger line follows until Began, output is kept here.
	loading bool
	region  []byte
	loaded  bool // between Loaded and Began

	// What stands directly behind the prompt is kept in region while it may be the erasing of
	// the line for a key of ours; from the mark of such a key on, all until the prompt stands again.
	behind, again bool

	running bool  // between Began and Ended
	seq     int64 // of what runs
	over    int64 // of the last that has ended or was dropped: what is told of it once more is no news

	// An Ended whose directory is not exact, which the next mark tells; output behind it is kept
	// in region.
	ending *Mark

	out   []byte
	marks []Mark
}

// NewReader returns a Reader of the marks that have a nonce.
func NewReader(nonce string) *Reader {
	return &Reader{prefix: []byte(opening + nonce + ";")}
}

// Read takes the next bytes, and returns those that may be passed on, with the marks that
// stood among them. What it returns may be p or a buffer of its own, and is valid until the
// next call.
func (r *Reader) Read(p []byte) (out []byte, marks []Mark) {
	if len(r.held) == 0 && !r.keeping() && !r.behind {
		if r.find(p) < 0 && r.half(p) == len(p) {
			return p, nil // nearly all that ever comes
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

// split passes on what is decided, and returns what is not: a mark that has begun.
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
		case end < 0 || end > maxPayload: // no mark: not even its beginning
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

// find returns where the first of our marks begins in p; -1: there is none. It looks for the
// second byte of one, since what is coloured is full of the first.
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

// half returns where the beginning of a mark stands at the end of p; len(p): there is none.
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

// plain passes on what is no mark, or keeps it while it may hold a trigger line, or the prompt once
// more.
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

// keeping says whether output is kept in region, whatever comes.
func (r *Reader) keeping() bool { return r.loading || r.again || r.ending != nil }

// release passes on what was kept: a trigger line is not looked for any more, and the command has
// ended before it.
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
		// The prompt that is drawn again behind Loaded, or a line that a running command reads.
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
		if r.running && m.Seq == r.seq { // as was told too soon
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

// interrupted is the status of what an interrupt has ended.
const interrupted = 128 + 2

// knows says whether a mark tells what was told before. Several places tell the end of a command, so that one
// that a user has overwritten is not missed, and each prompt does so once more.
func (r *Reader) knows(m Mark, numbered bool) bool {
	switch m.Kind {
	case Began:
		return m.Seq != 0 && (m.Seq <= r.over || r.running && m.Seq == r.seq)
	case Dropped:
		return m.Seq <= r.over
	case Ended:
		old := !numbered || m.Seq <= r.over
		// No prompt comes while something that was typed runs.
		return old && !r.running || numbered && r.running && r.seq != 0 && m.Seq < r.seq
	}
	return false
}

// end takes what runs as ended, and says which command that is. Of one whose beginning was lost on the way both
// are told.
func (r *Reader) end(m *Mark, numbered bool) {
	if numbered && m.Seq > r.over && (!r.running || m.Seq > r.seq) {
		// Where all is kept since it was loaded, what it has written is in there. An interrupt has
		// written that it came, and took the beginning away.
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

// begin takes the line that was loaded as over: it runs, or never will.
func (r *Reader) begin() {
	if r.loading {
		r.region = cutEcho(r.region)
	}
	if r.loading || r.again {
		r.release()
	}
	r.loaded = false
}

// redrawn takes away what an editor does to the prompt for a key of ours, where nothing has been
// typed: it erases the line from its beginning, with the end of the output that may stand there before the
// prompt, and draws the prompt again, which ends with Ready.
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

// erasing is what an editor erases the lines with that the prompt takes, from their beginning.
var erasing = []string{"\r", "\x1b[K", "\x1b[A"}

// erases says whether p is made of that alone; cut: as far as it has come.
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

// Held returns how much is held back that Flush would give free.
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

// Loading says whether something is held back for a key of ours, between it and Began or the
// prompt, which may take the shell longer than a pause in its output.
func (r *Reader) Loading() bool { return len(r.region) > 0 && (r.loading || r.behind || r.again) }

// Flush returns what is held back, because nothing came for a while. A mark that goes on
// afterwards is still one; one of which the nonce has been seen is never given out.
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

// Close returns all that is held back, because nothing more will come.
func (r *Reader) Close() []byte {
	r.Flush()
	if r.ending != nil {
		r.release()
	}
	r.out = append(r.out, r.held[r.passed:]...)
	r.held, r.passed = r.held[:0], 0
	return r.out
}
