package rpc

import (
	"bytes"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/screen"
)

// A client that feeds a terminal of its own gets the output without the queries that the server answers, since that
// terminal would answer them as well (queries of job/start and job/subscribe). Or the client answers queries itself.
// Then each query is sent to it once, and only if the server has left it to the client.

// answers reports whether the client answers the queries of programs from now on: only a client that may type does. The
// caller must hold out.mu.
func (l *lane) answers(info jobs.Info) bool {
	return l.open && l.want.queries == schema.QueriesClient && l.out.client.mayType(info.Lease.Holder)
}

// mayType reports whether a client may type into a job whose input that holder has; "": none.
func (m *attendee) mayType(holder string) bool {
	return m == nil || m.role != schema.SessionRoleViewer && (holder == "" || holder == m.name)
}

// settleLocked decides anew whether the client answers queries, and from where on it is sent them. It must be called in a
// turn of the job, under out.mu.
func (l *lane) settleLocked(info jobs.Info) {
	is := l.answers(info)
	switch {
	case !is:
		l.want.settled = noLimit
	case !l.answering:
		l.want.settled = nextOffset(info)
	}
	l.answering, l.changed = is, true
}

// settle is called when another client may type.
func (l *lane) settle(info jobs.Info) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if l.open {
		l.settleLocked(info)
		l.tellsLocked()
		l.out.enqueueLocked(l)
	}
}

// settle decides anew which clients answer queries. It must be called in a turn of the job.
func (f *feed) settle(info jobs.Info, _ map[jobs.Stream]int64) (answered bool, err error) {
	for _, l := range f.lanes() {
		l.settle(info)
	}
	f.Flush()
	return f.demands.answered(), nil
}

// strips reports whether the terminal's output at an offset is sent without queries.
func (l *lane) strips(off int64) bool {
	return l.queries == schema.QueriesStrip || l.queries == schema.QueriesClient && off < l.settled
}

// nextOffset returns the end of the output of a job's terminal.
func nextOffset(info jobs.Info) int64 {
	for _, s := range info.Streams {
		if s.Name == jobs.PTY {
			return s.NextOffset
		}
	}
	return 0
}

// stripped removes the queries from a chunk. Bytes that may be the start of a query are held back, like the start of a
// character, until more is there, or an event waits for them. Then they are sent as they are, since their meaning is
// unknown.
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

// upTo is the sequence that is open at an offset of a terminal's output: the ESC of a query aborts it.
type upTo struct {
	off  int64
	open screen.Open
}

// opened returns the sequence that is open at the start of a piece. After a gap it is unknown.
func (l *lane) opened(off int64) screen.Open {
	if l.whole.off != off {
		return screen.Open{}
	}
	return l.whole.open
}

// answered returns the queries that a server with terminals answers, for capabilities.
func answered(modes []jobs.Mode) []string {
	for _, m := range modes {
		if m == jobs.ModePTY {
			return screen.QueryNames()
		}
	}
	return nil
}
