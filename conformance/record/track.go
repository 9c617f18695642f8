package record

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"

	"shelld.dev/shelld/conformance/internal/wire"
)

// mostTrack is the maximum recorded output of a stream, in bytes.
const mostTrack = 256 << 10

// A track is the output of one stream of a job, and the part of it that is written to the session.
type track struct {
	stream string
	base   int64 // the offset of data's first byte
	data   []byte
	masks  []mask
	words  phrase // data, generalised
	cut    string // why output is missing; "": none is

	done  int64 // end of the part that is written to the session
	heard int64 // end of the part that the client has received
	sure  int64 // end of the part that every replay has received by now
	taint int64 // offsets after this one differ from run to run
	wild  bool  // later output depends on how fast the job is ended
	jump  bool  // the next step must name its offset
}

// A mask is the place of a secret in a stream.
type mask struct {
	from, to int64
	variable string
}

func newTrack(stream string) *track { return &track{stream: stream, taint: math.MaxInt64} }

func (c *cast) track(stream string) *track {
	t := c.streams[stream]
	if t == nil {
		t = newTrack(stream)
		c.streams[stream] = t
	}
	return t
}

// hear records a job/output.
func (c *cast) hear(b *beat, params map[string]any) {
	c.events = true
	stream, _ := params["stream"].(string)
	t := c.track(stream)
	data, wrong := wire.OutputBytes(params)
	offset, _ := wire.Int(params["offset"])
	switch {
	case t.cut != "":
		return
	case len(t.data) == 0:
		t.base, t.done, t.heard, t.sure, t.jump = offset, offset, offset, offset, offset > 0
	case wrong != "" || offset != t.end():
		t.cut = "the output of the job does not go on where it ended (a gap, or a subscription)"
		return
	case len(t.data) > mostTrack:
		t.cut = "the output of the job is too long to be written down whole"
		return
	}
	t.data = append(t.data, data...)
	b.to = t.end()
}

func (t *track) end() int64 { return t.base + int64(len(t.data)) }

// between returns the bytes from one offset to another.
func (t *track) between(from, to int64) []byte {
	from, to = max(from, t.base), min(to, t.end())
	return t.data[from-t.base : max(from, to)-t.base]
}

// limit returns the value of taint if no offset differs.
func (t *track) limit() int64 { return math.MaxInt64 }

// fixed reports whether an offset is the same in every run.
func (t *track) fixed(offset int64) bool { return offset <= t.taint && !t.wild }

// conceal masks a secret in the stream, even if it spans several chunks.
func (t *track) conceal(text, variable string) {
	for at := 0; ; {
		i := bytes.Index(t.data[at:], []byte(text))
		if i < 0 {
			return
		}
		from := t.base + int64(at+i)
		t.masks = append(t.masks, mask{from, from + int64(len(text)), variable})
		at += i + len(text)
	}
}

// text returns a range of the stream without secrets: a secret that lies wholly in it is a variable, and a part
// of one becomes x.
func (t *track) text(from, to int64) phrase {
	var p phrase
	at := from
	slices.SortFunc(t.masks, func(a, b mask) int { return int(a.from - b.from) })
	for _, m := range t.masks {
		if m.to <= at || m.from >= to {
			continue
		}
		if m.from > at {
			p = append(p, word{text: string(t.between(at, m.from))})
		}
		if m.from >= at && m.to <= to {
			p = append(p, word{variable: m.variable, text: masked(string(t.between(m.from, m.to)))})
		} else {
			p = append(p, word{text: masked(string(t.between(max(at, m.from), min(to, m.to))))})
		}
		at = min(to, m.to)
	}
	if at < to {
		p = append(p, word{text: string(t.between(at, to))})
	}
	return p
}

// phrase returns a range of the stream, generalised. A range that would end inside of text that differs from run
// to run ends before that text.
func (t *track) phrase(from, to int64) (p phrase) {
	at := t.base
	for _, w := range t.words {
		begin, end := at, at+int64(len(w.text))
		at = end
		switch {
		case end <= from || begin >= to:
			continue
		case w.pattern != "":
			if end > to || begin < from {
				return p
			}
		case begin < from || end > to:
			w = word{text: w.text[max(from, begin)-begin : min(to, end)-begin]} // of a secret: its x
		}
		p = append(p, w)
	}
	return p
}

// wholeRunes returns the end of a range without an incomplete character.
func (t *track) wholeRunes(from, to int64) int64 {
	return to - int64(len(wire.HalfRune(t.between(from, to))))
}

// valid reports whether a range can be written as text.
func (t *track) valid(from, to int64) bool { return utf8.Valid(t.between(from, to)) }
