package rpc

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// This file handles output that a client is slow to take: how much of it may be on its way (the window), and what
// happens to the rest (whenSlow).
//
// A client that acknowledges has a window in bytes for each stream. Without acknowledgements the limit is the capacity
// of its end of stdout, since output is read from the job only when its turn to be written comes.

// defaultWindow is the default window, in bytes.
const defaultWindow = 1 << 20

// anyRoom means that there is no window.
const anyRoom = int64(math.MaxInt64)

// A flow is the progress of one stream of a lane on its way to the client. All of it is guarded by the outbox's mu.
type flow struct {
	stream jobs.Stream
	sent   int64 // same as its cursor
	acked  int64
	gaps   []jobs.Range // gaps reported beyond acked: they need no acknowledgement
}

// A piece is the part of a stream that one message covers.
type piece struct {
	stream jobs.Stream
	gap    jobs.Range // skipped output that the message reports; may be empty
	end    int64      // of the output that the client has
}

// moved records a message that was sent.
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

// ack records an acknowledgement. A repeated one has no effect. One beyond the sent output is ignored: it must be for
// output that was sent before a restart.
func (f *flow) ack(off int64) {
	if off > f.sent {
		return
	}
	f.acked = max(f.acked, off)
	f.gaps = slices.DeleteFunc(f.gaps, func(g jobs.Range) bool { return g.To <= f.acked })
}

// unacked returns the number of bytes that were sent and not acknowledged.
func (f *flow) unacked() int64 {
	n := f.sent - f.acked
	for _, g := range f.gaps {
		n -= g.To - max(g.From, f.acked)
	}
	return n
}

// flowsOf returns flows that start at the cursors.
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

// roomLocked returns how much of a stream may be sent. The caller must hold out.mu.
func (l *lane) roomLocked(name jobs.Stream) int64 {
	f := l.flowLocked(name)
	if f == nil || !l.out.acks.Load() {
		return anyRoom
	}
	return max(l.out.window.Load()-f.unacked(), 0)
}

// movedLocked records what the writer has just sent. The caller must hold out.mu.
func (l *lane) movedLocked(p piece) {
	f := l.flowLocked(p.stream)
	if f == nil {
		return
	}
	f.moved(p, l.out.acks.Load())
	// If output is to restart at another place, the program already waits for that.
	if l.whenSlow == schema.WhenSlowBlock && l.place == nil {
		l.feed.demands.sent(l, p.stream, p.end)
	}
}

// ack handles an acknowledgement, and sends more if there is room now. It reports whether the job has such a stream.
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

// jobAck handles the notification job/ack. A notification has no answer, so a bad one is reported with log/message:
// otherwise output might wait for an acknowledgement for ever.
func (s *Server) jobAck(params []byte) {
	if !s.out.acks.Load() {
		return
	}
	var p schema.JobAckParams
	err := schema.DecodeParams("job/ack", params, &p)
	if err == nil {
		l := s.laneOf(p.Handle)
		if l == nil || l.ack(jobs.Stream(p.Stream), p.Offset) {
			return // All of its output may have been sent, and the job removed.
		}
		err = fmt.Errorf("job %s has no stream %s", p.Handle, p.Stream)
	}
	s.log.Warn("bad job/ack", "error", err)
	s.out.send(notification("log/message", schema.LogMessageParams{
		Level: schema.LogLevelWarning, Text: "invalid job/ack, ignored; output may wait for a valid one: " + s.mgr.CleanText(err.Error()),
	}))
}

// laneOf returns the lane of a job; nil: nothing is sent of it. A forgotten job keeps its lane until all of it is sent.
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
	return j.Sink().(*feed).laneOf(s.out)
}

// holdProgramLocked makes the job's program wait for this client, or no longer wait, according to the last
// subscription. The caller must hold out.mu.
func (l *lane) holdProgramLocked(info jobs.Info) {
	window := int64(0)
	if l.open && l.want.whenSlow == schema.WhenSlowBlock && l.want.events[schema.EventNameOutput] {
		window = l.out.window.Load()
	}
	if window > 0 {
		l.sentTo(l.place) // first, so that output from there on is kept
	}
	for _, s := range info.Streams {
		l.feed.demands.holdTo(l, s.Name, window)
	}
}

// sentTo informs the job how far each stream was sent, so that a waiting program can go on.
func (l *lane) sentTo(cursors []cursor) {
	l.feed.demands.begin(l)
	for _, c := range cursors {
		l.feed.demands.sent(l, c.stream, c.off)
	}
}

// newest returns the offset from which a client gets output if it is more than a window behind and skips. It returns
// c.off if it is not.
func (l *lane) newest(c cursor, end int64) int64 {
	window := l.out.window.Load()
	if l.whenSlow != schema.WhenSlowSkip || end-c.off <= window {
		return c.off
	}
	return max(c.off, end-min(chunkBytes, window/2))
}

// lineStart returns the index in data, which begins anywhere in the output, where reading should begin: the start of a
// line, or, if there is none, of a character.
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
