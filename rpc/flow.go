package rpc

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"shelld/jobs"
	"shelld/schema"
)

// This file is what becomes of output that a client is slow to take: how much of it may be
// on its way (the window), and what happens to the rest (whenSlow).
//
// A client that acknowledges has a window in bytes of each stream. Another one has what
// its side of stdout holds, since output is read from the job when its turn to be written
// comes.

// defaultWindow is the window, in bytes, of a client that has asked for none.
const defaultWindow = 1 << 20

// anyRoom stands for no window.
const anyRoom = int64(math.MaxInt64)

// A flow is how far one stream of a lane has gone on its way to the client. All of it is
// guarded by the outbox's mu.
type flow struct {
	stream jobs.Stream
	sent   int64 // as its cursor says
	acked  int64
	gaps   []jobs.Range // told behind acked: there is nothing of them to acknowledge
}

// A piece is what one message has brought the client of a stream.
type piece struct {
	stream jobs.Stream
	gap    jobs.Range // which it was told that it will not get; may be empty
	end    int64      // of what it has
}

// moved takes what was sent.
func (f *flow) moved(p piece, acks bool) {
	if acks && p.gap.To > p.gap.From {
		if last := len(f.gaps) - 1; last >= 0 && f.gaps[last].To == p.gap.From {
			f.gaps[last].To = p.gap.To
		} else {
			f.gaps = append(f.gaps, p.gap)
		}
	}
	f.sent = p.end
}

// ack takes what the client has said, but for what it says once more. More than was sent can
// only be meant for what was sent before output began anew.
func (f *flow) ack(off int64) {
	if off > f.sent {
		return
	}
	f.acked = max(f.acked, off)
	f.gaps = slices.DeleteFunc(f.gaps, func(g jobs.Range) bool { return g.To <= f.acked })
}

// unacked is what was sent and not acknowledged.
func (f *flow) unacked() int64 {
	n := f.sent - f.acked
	for _, g := range f.gaps {
		n -= g.To - max(g.From, f.acked)
	}
	return n
}

// flowsOf begins anew where cursors stand.
func flowsOf(cursors []cursor) []flow {
	all := make([]flow, len(cursors))
	for i, c := range cursors {
		all[i] = flow{stream: c.stream, sent: c.off, acked: c.off}
	}
	return all
}

func (l *lane) flowLocked(name jobs.Stream) *flow {
	for i := range l.flows {
		if l.flows[i].stream == name {
			return &l.flows[i]
		}
	}
	return nil
}

// roomLocked is how much of a stream may be sent. The caller must hold out.mu.
func (l *lane) roomLocked(name jobs.Stream) int64 {
	f := l.flowLocked(name)
	if f == nil || !l.out.acks.Load() {
		return anyRoom
	}
	return max(l.out.window.Load()-f.unacked(), 0)
}

// movedLocked notes what the writer has just sent. The caller must hold out.mu.
func (l *lane) movedLocked(p piece) {
	f := l.flowLocked(p.stream)
	if f == nil {
		return
	}
	f.moved(p, l.out.acks.Load())
	// Where output is to begin elsewhere, the program waits for that already.
	if l.whenSlow == schema.WhenSlowBlock && l.place == nil {
		l.job.Sent(p.stream, p.end)
	}
}

// ack takes an acknowledgement, and goes on sending where that makes room. It says whether
// the job has such a stream.
func (l *lane) ack(name jobs.Stream, off int64) bool {
	l.out.mu.Lock()
	f := l.flowLocked(name)
	known := f != nil || len(l.flows) == 0
	if f != nil {
		f.ack(off)
		if l.open {
			l.out.enqueueLocked(l)
		}
	}
	l.out.mu.Unlock()
	l.out.flushSoon()
	return known
}

// jobAck is the notification job/ack. Nobody can be told in an answer that it was no good,
// and output might wait for it for ever.
func (s *Server) jobAck(params []byte) {
	if !s.out.acks.Load() {
		return
	}
	var p schema.JobAckParams
	err := schema.DecodeParams("job/ack", params, &p)
	if err == nil {
		l := s.laneOf(p.Handle)
		if l == nil || l.ack(jobs.Stream(p.Stream), p.Offset) {
			return // all that there was of it may have been sent, and the job removed
		}
		err = fmt.Errorf("job %s has no stream %s", p.Handle, p.Stream)
	}
	s.log.Warn("bad job/ack", "error", err)
	s.out.send(notification("log/message", schema.LogMessageParams{
		Level: schema.LogLevelWarning, Text: "a job/ack is of no use, and output may wait for another: " + s.mgr.CleanText(err.Error()),
	}))
}

// laneOf finds what is sent of a job; nil: nothing is. A job that is forgotten has its lane
// until all of it was sent.
func (s *Server) laneOf(ref []byte) *lane {
	r, err := jobRef(ref)
	if err != nil {
		return nil
	}
	if l := s.out.laneOf(int64(r.Handle)); l != nil {
		return l
	}
	j, refused := s.mgr.Lookup(r)
	if refused != nil {
		return nil
	}
	l, _ := j.Sink().(*lane)
	return l
}

// holdProgramLocked has the job's program wait for this client, or not any more, as was asked for
// last. The caller must hold out.mu.
func (l *lane) holdProgramLocked(info jobs.Info) {
	window := int64(0)
	if l.open && l.want.whenSlow == schema.WhenSlowBlock && l.want.events[schema.EventNameOutput] {
		window = l.out.window.Load()
	}
	if window > 0 {
		l.sentTo(l.place) // first: what is kept from there on stays
	}
	for _, s := range info.Streams {
		l.job.HoldTo(s.Name, window)
	}
}

// sentTo says how far each stream has gone, to whoever waits for it.
func (l *lane) sentTo(cursors []cursor) {
	for _, c := range cursors {
		l.job.Sent(c.stream, c.off)
	}
}

// newest is from where on a client is sent the newest output that has fallen behind by
// more than a window; c.off where it has not.
func (l *lane) newest(c cursor, end int64) int64 {
	window := l.out.window.Load()
	if l.whenSlow != schema.WhenSlowSkip || end-c.off <= window {
		return c.off
	}
	return max(c.off, end-min(chunkBytes, window/2))
}

// lineStart is where in data, which begins anywhere in output, a reader should begin: at a
// line, and if there is none at a character.
func lineStart(data []byte) int {
	if i := bytes.IndexByte(data, '\n') + 1; i > 0 && i < len(data) {
		return i
	}
	for i := range min(len(data), utf8.UTFMax) {
		if utf8.RuneStart(data[i]) {
			return i
		}
	}
	return 0
}
