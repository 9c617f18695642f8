package rpc

import (
	"bytes"

	"shelld/jobs"
	"shelld/schema"
	"shelld/screen"
)

// A client that feeds a terminal of its own is sent output without what the server answers:
// that terminal would answer as well (queries of job/start and job/subscribe). Or it answers
// itself. Then it is sent each question once, and only those that the server has left to it.

// answers says whether the client answers what programs ask from now on. The caller must hold
// out.mu.
func (l *lane) answers() bool { return l.open && l.want.queries == schema.QueriesClient }

// strips says whether the terminal's output at an offset is sent without queries.
func (l *lane) strips(off int64) bool {
	return l.queries == schema.QueriesStrip || l.queries == schema.QueriesClient && off < l.settled
}

// nextOffset is where the output of a job's terminal goes on.
func nextOffset(info jobs.Info) int64 {
	for _, s := range info.Streams {
		if s.Name == jobs.PTY {
			return s.NextOffset
		}
	}
	return 0
}

// stripped takes the queries out of a chunk. What may be the beginning of one is held back
// as the beginning of a character is: until more is there, or an event waits for it. Then it
// is sent as it is, since nobody knows what it will be.
func (l *lane) stripped(e outputEvent, c cursor, limit, end int64) (outputEvent, sending) {
	open := l.opened(e.Offset)
	raw := len(e.Data)
	if bytes.IndexByte(e.Data, 0x1b) < 0 {
		l.whole = upTo{e.Offset + int64(raw), open.After(e.Data)}
		return e, sendOutput
	}
	out, held, after := screen.StripQueries(l.out.stripped[:0], e.Data, open)
	l.out.stripped = out[:0]
	switch {
	case held < raw:
		e.Data, e.LeftOut = out, raw-held-len(out)
		l.whole = upTo{e.Offset + int64(raw-held), after}
		return e, sendOutput
	case limit == noLimit && e.Offset+int64(raw) >= end:
		return e, sendNothing
	case int64(raw) == c.room:
		return e, sendLater
	}
	l.whole = upTo{e.Offset + int64(raw), open.After(e.Data)}
	return e, sendOutput
}

// upTo is what is open at an offset of a terminal's output: a query's ESC aborts it.
type upTo struct {
	off  int64
	open screen.Open
}

// opened is what is open where a piece begins. Behind a gap nobody knows.
func (l *lane) opened(off int64) screen.Open {
	if l.whole.off != off {
		return screen.Open{}
	}
	return l.whole.open
}

// answered are the queries that a server with terminals answers, for capabilities.
func answered(modes []jobs.Mode) []string {
	for _, m := range modes {
		if m == jobs.ModePTY {
			return screen.QueryNames()
		}
	}
	return nil
}
