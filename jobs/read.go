package jobs

import (
	"slices"
	"time"
	"unicode/utf8"
)

// ReadOptions say what to read of a job's output.
type ReadOptions struct {
	Stream   Stream // "" = the only one
	Offset   *int64 // negative: from the end; nil: the read cursor, which the read moves
	MaxBytes int
	Wait     time.Duration // how long to wait for something to be there
}

// A ReadResult is a piece of output. Data begins at Offset; a Gap before it was
// dropped.
type ReadResult struct {
	Stream     Stream
	Data       []byte
	Offset     int64
	NextOffset int64
	HasMore    bool
	Gap        *Range
	State      State
}

// A readReq waits for output.
type readReq struct {
	msg      readMsg
	st       *stream
	off      int64
	deadline time.Time
}

// Read asks for output. It works as well after the job's end.
func (j *Job) Read(o ReadOptions) Pending[ReadResult] {
	r := newReply[ReadResult]()
	j.post(readMsg{o, r})
	return pend(j, r)
}

func (j *Job) onRead(m readMsg) {
	st := j.streams[0]
	if m.opts.Stream != "" {
		st = j.stream(m.opts.Stream)
	}
	switch {
	case st == nil:
		m.reply.fail(Invalid("/stream", "this job has no stream %q; it has %s", m.opts.Stream, j.streamNames()))
		return
	case m.opts.Stream == "" && len(j.streams) > 1:
		m.reply.fail(Invalid("/stream", "this job has the streams %s: say which", j.streamNames()))
		return
	}
	var off int64
	if m.opts.Offset != nil {
		off = *m.opts.Offset
		if off < 0 {
			off = max(st.spool.End()+off, 0)
		}
	}
	j.reads = append(j.reads, &readReq{m, st, off, time.Now().Add(m.opts.Wait)})
}

// reviewReads answers those that have something to read, will never have, or have
// waited long enough.
func (j *Job) reviewReads(now time.Time) {
	j.reads = slices.DeleteFunc(j.reads, func(r *readReq) bool {
		if r.msg.opts.Offset == nil {
			r.off = j.cursor[r.st.name] // which the reads before this one have moved
		}
		over := j.st.status == StatusClosed || j.closing || !now.Before(r.deadline)
		if r.st.spool.End() <= r.off && !over {
			return false
		}
		j.answerRead(r)
		return true
	})
}

func (j *Job) answerRead(r *readReq) {
	buf := make([]byte, r.msg.opts.MaxBytes)
	n, at := r.st.spool.Read(buf, r.off)
	if n == 0 {
		at = r.off
	}
	if end := r.st.spool.End(); at+int64(n) < end || j.st.status != StatusClosed {
		n = wholeRunes(buf[:n])
	}
	res := ReadResult{Stream: r.st.name, Data: buf[:n], Offset: at, NextOffset: at + int64(n), State: j.state()}
	res.HasMore = res.NextOffset < r.st.spool.End()
	if at > r.off {
		res.Gap = &Range{r.off, at}
	}
	if r.msg.opts.Offset == nil {
		j.cursor[r.st.name] = res.NextOffset
		r.st.take(res.NextOffset)
		j.unread[r.st.name] = max(j.unread[r.st.name], res.NextOffset)
	}
	r.msg.reply.ok(res)
}

// wholeRunes returns how much of b ends with a whole character: a read that stops
// inside one would make text of it that neither half can be. A piece that is
// nothing but the beginning of one stays whole.
func wholeRunes(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) && i < len(b) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

func (j *Job) cancelRead(tok *token) bool {
	i := slices.IndexFunc(j.reads, func(r *readReq) bool { return r.msg.reply.tok == tok })
	if i < 0 {
		return false
	}
	j.reads[i].msg.reply.fail(j.canceled())
	j.reads = slices.Delete(j.reads, i, i+1)
	return true
}
