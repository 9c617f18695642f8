package jobs

import (
	"fmt"
	"slices"
	"time"

	"shelld/jobs/internal/plain"
)

// ReadOptions say what to read of a job's output.
type ReadOptions struct {
	Stream   Stream // "" = the only one
	Offset   *int64 // negative: from the end; nil: the read cursor, which the read moves
	MaxBytes int
	Wait     time.Duration // how long to wait for something to be there
	Plain    bool          // it is to be shown as [Plain]: say what Shown is
	Room     RoomFunc      // nil: there is room
}

// A RoomFunc is called, in a goroutine that may block, before so many bytes are read for an answer. It returns when
// the caller has room for them, or false if it does not want the answer any more.
type RoomFunc func(bytes int64) bool

func (f RoomFunc) wait(bytes int64) bool { return f == nil || f(bytes) }

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
	Shown      []byte // what plain text is made of: as [Job.Shown] has it
}

// A readReq waits for output, and then for the bytes, which may have to come from a
// disk and are read in a goroutine of their own.
type readReq struct {
	msg      readMsg
	st       *stream
	off      int64
	deadline time.Time
	begun    bool // its goroutine will say so when it has read
}

// byCursor says whether it reads from the cursor, and moves it.
func (r *readReq) byCursor() bool { return r.msg.opts.Offset == nil }

// Read asks for output. It works as well after the job's end.
func (j *Job) Read(o ReadOptions) Pending[ReadResult] {
	r := newReply[ReadResult]()
	j.ask(readMsg{o, r})
	return pend(j, r)
}

func (j *Job) onRead(m readMsg) {
	if len(j.streams) == 0 {
		m.reply.fail(Invalid("/stream", noStreams))
		return
	}
	st := j.streams[0]
	if m.opts.Stream != "" {
		st = j.stream(m.opts.Stream)
	}
	switch {
	case st == nil:
		m.reply.fail(j.noStream("/stream", m.opts.Stream))
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
	now := time.Now()
	j.reads = append(j.reads, &readReq{msg: m, st: st, off: off, deadline: now.Add(m.opts.Wait)})
	j.reviewReads(now) // before the requests behind it: they may begin where it ends
}

// reviewReads begins those that have something to read, will never have, or have
// waited long enough. One that moves the cursor begins where the one before it ends,
// and so waits for that.
func (j *Job) reviewReads(now time.Time) {
	for _, r := range j.reads {
		if r.begun || r.byCursor() && j.cursorAt[r.st.name] != nil {
			continue
		}
		if r.byCursor() {
			r.off = j.cursor[r.st.name]
		}
		over := j.st.status == StatusClosed || j.closing || !now.Before(r.deadline)
		if r.st.spool.End() > r.off || over {
			j.beginRead(r)
		}
	}
}

// beginRead reads beside the loop. What it finds comes as a readDoneMsg.
func (j *Job) beginRead(r *readReq) {
	r.begun = true
	if r.byCursor() {
		j.cursorAt[r.st.name] = r
	}
	release := j.Hold()
	j.loops.Go(func() {
		defer release()
		end := r.st.spool.End() // what comes later is for the next read
		length := max(min(int64(r.msg.opts.MaxBytes), end-r.off), 0)
		if !r.msg.opts.Room.wait(length) {
			j.ask(readDoneMsg{req: r, unwanted: true})
			return
		}
		buf := make([]byte, length)
		n, at, err := r.st.spool.TryRead(buf, r.off)
		done := readDoneMsg{req: r, data: buf[:n], at: at, err: err}
		if r.msg.opts.Plain && n > 0 && at == r.off { // a sequence ends where something is gone
			done.lead, done.inside = plain.LeadIn(r.st.spool, at, at+int64(n))
		}
		j.ask(done)
	})
}

// onReadDone answers a read, unless that was cancelled meanwhile: then the cursor
// stays where it is.
func (j *Job) onReadDone(m readDoneMsg) {
	r := m.req
	if j.cursorAt[r.st.name] == r {
		delete(j.cursorAt, r.st.name)
	}
	i := slices.Index(j.reads, r)
	if i < 0 {
		return
	}
	j.reads = slices.Delete(j.reads, i, i+1)
	if m.unwanted {
		r.msg.reply.fail(j.canceled())
		return
	}
	if m.err != nil {
		r.msg.reply.fail(j.unreadable(r.off, m.err, "see to the disk and read again, or read from an offset behind it")) // the cursor stays where it is
		return
	}
	data, end := m.data, r.st.spool.End()
	more := m.at+int64(len(data)) < end || j.st.status != StatusClosed
	if more {
		data = data[:plain.WholeRunes(data)]
	}
	res := ReadResult{Stream: r.st.name, Data: data, Offset: m.at, NextOffset: m.at + int64(len(data)), State: j.state()}
	res.HasMore = res.NextOffset < end
	if r.msg.opts.Plain {
		res.Shown = slices.Concat(m.lead, data[min(m.inside, int64(len(data))):])
		if more {
			res.Shown = res.Shown[:len(res.Shown)-len(plain.PartialRune(res.Shown))]
		}
	}
	if m.at > r.off { // also where nothing is left behind it
		res.Gap = &Range{From: r.off, To: m.at}
	}
	if r.byCursor() {
		j.cursor[r.st.name] = res.NextOffset
		r.st.take(res.NextOffset)
		j.unread[r.st.name] = max(j.unread[r.st.name], res.NextOffset)
	}
	r.msg.reply.ok(res)
}

// unreadable says that what is stored at an offset can't be read, and what to do about it.
func (j *Job) unreadable(off int64, err error, advice string) *Error {
	if isResource(err) {
		return resourceError("a read of stored output", err)
	}
	e := storeError(err, j.folder.Path())
	e.Message = fmt.Sprintf("the output of job %d is stored at offset %d and cannot be read (%s: %s); %s", j.id, off, e.Path, e.Errno, advice)
	return e
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
