package jobs

import (
	"slices"
	"sync"
	"time"

	"shelld.dev/shelld/jobs/internal/plain"
)

// readsPart has the read cursors of a job, and the reads that are not answered yet.
type readsPart struct {
	noPart
	j *base

	all      []*readReq
	cursor   map[Stream]int64
	cursorAt map[Stream]*readReq // the read that will move the cursor next
}

// A readReq waits for output, and then for the bytes. These may have to come from a disk, so they are read in a
// goroutine of their own.
type readReq struct {
	msg      readMsg
	st       *stream
	off      int64
	deadline time.Time
	begun    bool // its goroutine reads, and will post a readDoneMsg
}

// A readDoneMsg is the result of a read.
type readDoneMsg struct {
	req  *readReq
	data []byte
	at   int64
	err  error // nothing can be read at the moment

	unwanted bool // nothing was read: see RoomFunc

	lead   []byte // for plain text, as from leadIn
	inside int64
}

func (readDoneMsg) message() {}

// byCursor reports whether the request reads from the cursor, and moves it.
func (r *readReq) byCursor() bool { return r.msg.opts.Offset == nil }

func (p *readsPart) onRead(m readMsg) {
	if len(p.j.output.streams) == 0 {
		m.reply.fail(Invalid("/stream", noStreams))
		return
	}
	st := p.j.output.streams[0]
	if m.opts.Stream != "" {
		st = p.j.output.stream(m.opts.Stream)
	}
	switch {
	case st == nil:
		m.reply.fail(p.j.output.noStream("/stream", m.opts.Stream))
		return
	case m.opts.Stream == "" && len(p.j.output.streams) > 1:
		m.reply.fail(Invalid("/stream", "this job has the streams %s: name one", p.j.output.streamNames()))
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
	p.all = append(p.all, &readReq{msg: m, st: st, off: off, deadline: now.Add(m.opts.Wait)})
	p.review(now) // before the requests behind it, which may begin where this one ends
}

// review begins the requests that have output to read, will never have any, or have waited long enough. A request that
// moves the cursor begins where the previous one ends, and so waits for it.
func (p *readsPart) review(now time.Time) {
	for _, r := range p.all {
		if r.begun || r.byCursor() && p.cursorAt[r.st.name] != nil {
			continue
		}
		if r.byCursor() {
			r.off = p.cursor[r.st.name]
		}
		over := p.j.st.status == StatusClosed || p.j.closing || !now.Before(r.deadline)
		if r.st.spool.End() > r.off || over {
			p.beginRead(r)
		}
	}
}

// beginRead begins a read in a goroutine beside the loop. The result comes as a readDoneMsg.
func (p *readsPart) beginRead(r *readReq) {
	p.j.lock.Check()
	r.begun = true
	if r.byCursor() {
		p.cursorAt[r.st.name] = r
	}
	release := p.j.Hold()
	p.j.background(func() {
		defer release()
		end := r.st.spool.End() // later output is for the next read
		length := max(min(int64(r.msg.opts.MaxBytes), end-r.off), 0)
		if !r.msg.opts.Room.wait(length) {
			p.j.ask(readDoneMsg{req: r, unwanted: true})
			return
		}
		buf := make([]byte, length)
		n, at, err := r.st.spool.TryRead(buf, r.off)
		done := readDoneMsg{req: r, data: buf[:n], at: at, err: err}
		if r.msg.opts.Plain && n > 0 && at == r.off { // an escape sequence ends at a gap
			done.lead, done.inside = plain.LeadIn(r.st.spool, at, at+int64(n))
		}
		p.j.ask(done)
	})
}

// onReadDone answers a read, unless the read was canceled meanwhile: then the cursor does not move.
func (p *readsPart) onReadDone(m readDoneMsg) {
	r := m.req
	if p.cursorAt[r.st.name] == r {
		delete(p.cursorAt, r.st.name)
	}
	i := slices.Index(p.all, r)
	if i < 0 {
		return
	}
	p.all = slices.Delete(p.all, i, i+1)
	if m.unwanted {
		r.msg.reply.fail(p.j.canceled())
		return
	}
	if m.err != nil {
		r.msg.reply.fail(p.j.output.unreadable(r.off, m.err, "check the disk and read again, or read from a later offset")) // the cursor does not move
		return
	}
	data, end := m.data, r.st.spool.End()
	more := m.at+int64(len(data)) < end || p.j.st.status != StatusClosed
	if more {
		data = data[:plain.WholeRunes(data)]
	}
	res := ReadResult{Stream: r.st.name, Data: data, Offset: m.at, NextOffset: m.at + int64(len(data)), State: p.j.state()}
	res.HasMore = res.NextOffset < end
	if r.msg.opts.Plain {
		res.Shown = slices.Concat(m.lead, data[min(m.inside, int64(len(data))):])
		if more {
			res.Shown = res.Shown[:len(res.Shown)-len(plain.PartialRune(res.Shown))]
		}
	}
	if m.at > r.off { // even if no output is left behind the gap
		res.Gap = &Range{From: r.off, To: m.at}
	}
	if r.byCursor() {
		p.cursor[r.st.name] = res.NextOffset
		r.st.take(res.NextOffset)
		p.j.output.unread[r.st.name] = max(p.j.output.unread[r.st.name], res.NextOffset)
	}
	r.msg.reply.ok(res)
}

func (p *readsPart) cancel(tok *token) bool {
	i := slices.IndexFunc(p.all, func(r *readReq) bool { return r.msg.reply.tok == tok })
	if i < 0 {
		return false
	}
	p.all[i].msg.reply.fail(p.j.canceled())
	p.all = slices.Delete(p.all, i, i+1)
	return true
}

func (p *readsPart) due(time.Time) (t time.Time) {
	for _, r := range p.all {
		if !r.begun && !(r.byCursor() && p.cursorAt[r.st.name] != nil) { // else the awaited read wakes the loop
			t = earliest(t, r.deadline)
		}
	}
	return t
}

func (p *readsPart) pending() int { return len(p.all) }

func (p *readsPart) fail(err *Error) {
	for _, r := range p.all {
		r.msg.reply.fail(err)
	}
	p.all = nil
}

// The functions below handle stored output that cannot be read, although it may still exist, if no client has
// requested it by an offset. A request by offset, such as job/read, fails with the reason. Code that shows output as
// it comes has no place for an error in its messages. It continues behind the missing part, and the error is logged.

// goesPast returns the callback that logs a range of a stream that could not be read. It logs each reason only once: a
// burst of output meets the same disk error again and again.
func (o *outputs) goesPast(name Stream) func(Range, error) {
	var mu sync.Mutex
	told := map[string]bool{}
	return func(r Range, err error) {
		e := storeError(err, o.j.folder.Path())
		mu.Lock()
		again := told[e.Errno]
		told[e.Errno] = true
		mu.Unlock()
		if again {
			return
		}
		o.j.log.Warn("stored output cannot be read and is skipped in events and on the screen: "+unreadAdvice(err),
			"job", o.j.id, "stream", name, "from", r.From, "to", r.To, "path", e.Path, "error", e.Errno)
	}
}

// unreadAdvice returns advice on how to get the output that was skipped.
func unreadAdvice(err error) string {
	const then = "job/read at that offset returns it once it is readable"
	if isResource(err) {
		return "end some jobs, or give the server more descriptors or memory; " + then
	}
	return "check the disk; " + then + ", and returns the error until then"
}

// isMoving reports whether a read is pending that will move the cursor.
func (p *readsPart) isMoving() bool { return len(p.cursorAt) > 0 }
