package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"shelld.dev/shelld/session"
)

// A record has, for each job of a session, up to where its output was sent to the host of MCP, and whether its end was.
// It is in a claimed file, so that this front end goes on from there if it is killed and started again. The server
// cannot keep it: what another client of the session has read, this one's model has not seen.
//
// The file begins with the session's id and the digest of its policy. After recordHead bytes there are 8 bytes for each
// handle: twice the offset, 2 more so that it is not 0, and 1 more if the end was sent. So each change is one small write, which no kill divides.
//
// As long as the end of a job was not sent, the record is to be kept when the session ends: the next start says so.
type record struct {
	*session.Claim

	mu   sync.Mutex // held over a change
	kept bool
}

const recordHead = 256

func newRecord(c *session.Claim) *record { return &record{Claim: c} }

func (r *record) close() {
	if r != nil {
		_ = r.Claim.Close() // Each write was checked.
	}
}

// A wasRecord says of which session a record was.
type wasRecord int

const (
	wasNone  wasRecord = iota
	wasThis            // of the same session
	wasOther           // of one that has ended, with jobs whose end no answer has had
)

// begin makes the record one of this session. Of another session it keeps nothing.
func (r *record) begin(id, digest string) (was wasRecord, err error) {
	switch had, _ := r.head(); {
	case had == id:
		was = wasThis
	case had != "" && r.isOpen():
		was = wasOther
	}
	if was != wasThis {
		if err := r.Truncate(0); err != nil {
			return was, err
		}
	}
	if _, err = r.WriteAt(fmt.Appendf(nil, "%-*s\n", recordHead-1, id+" "+digest), 0); err != nil {
		return was, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = r.isOpen()
	return was, r.Keep(r.kept)
}

// isOpen reports whether the record has a job whose end was not sent.
func (r *record) isOpen() bool {
	all, err := io.ReadAll(io.NewSectionReader(r, recordHead, math.MaxInt64-recordHead))
	for ; err == nil && len(all) >= 8; all = all[8:] {
		if v := binary.LittleEndian.Uint64(all); v > 0 && v%2 == 0 {
			return true
		}
	}
	return false
}

// head returns the session's id and the digest of its policy; "": the file has none.
func (r *record) head() (id, digest string) {
	b := make([]byte, recordHead)
	n, _ := r.ReadAt(b, 0) // A new file is empty.
	return headOf(b[:n])
}

func headOf(b []byte) (id, digest string) {
	if len(b) < recordHead {
		return "", ""
	}
	id, digest, _ = strings.Cut(strings.TrimSpace(string(b[:recordHead])), " ")
	return id, digest
}

// of returns the offset up to which the output of a job was sent, and whether its end was.
func (r *record) of(handle int64) (next int64, ended bool) {
	var b [8]byte
	if _, err := r.ReadAt(b[:], recordHead+8*handle); err != nil {
		return 0, false // The file ends before it.
	}
	v := int64(binary.LittleEndian.Uint64(b[:]))
	return max(v/2-1, 0), v%2 == 1
}

// set sets what of returns.
func (r *record) set(handle, next int64, ended bool) error {
	v := 2*next + 2
	if ended {
		v++
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(v))
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.WriteAt(b[:], recordHead+8*handle); err != nil {
		return err
	}
	if open := r.isOpen(); open != r.kept {
		r.kept = open
		return r.Keep(open)
	}
	return nil
}

// A place is how far a job has been sent to the host of MCP: the record has it. Its lock is not j.reading, which is held
// during requests: answers are written, and starts reported, meanwhile.
type place struct {
	mu      sync.Mutex
	next    int64  // up to here output was sent, apart from what is in sending
	sending []span // of answers that are not written yet
	ended   bool   // an answer with the end of the job was written
	dropped bool   // the connection to the job's session is lost: the record may be another session's
}

// begin sets the place, as the record has it, and returns the offset.
func (p *place) begin(next int64, ended bool) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.ended = next, ended
	return next
}

// add adds a part of the output, or the end, that is in an answer.
func (p *place) add(s span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending, p.next = append(p.sending, s), max(p.next, s.to)
}

// remove removes a part whose answer is not sent. It is unread again if it is the last one, as in untell.
func (p *place) remove(s span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(s)
	if p.next == s.to {
		p.next = s.from
	}
}

func (p *place) removeLocked(s span) {
	if i := slices.Index(p.sending, s); i >= 0 {
		p.sending = slices.Delete(p.sending, i, i+1)
	}
}

// sent removes a part whose answer was written.
func (p *place) sent(s span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(s)
	p.ended = p.ended || s.ended
}

func (p *place) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropped = true
}

func (p *place) hasEnd() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// keep writes the place into the record.
func (p *place) keep(handle int64, r *record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped {
		return nil
	}
	next := p.next
	for _, s := range p.sending {
		next = min(next, s.from)
	}
	return r.set(handle, next, p.ended)
}

// written notes that the answer to a call was written: its model has all that is in it.
func (c *call) written() {
	if c.front.engine.member == nil {
		return
	}
	c.mu.Lock()
	told, j := c.told, c.job
	c.told = nil
	c.mu.Unlock()
	if j != nil && !j.terminal {
		told = append(told, span{job: j, ended: true}) // The answer to its start has all of it.
	}
	for _, s := range told {
		s.job.place.sent(s)
		c.front.keep(s.job)
	}
}

// keep records the place of a job.
func (f *front) keep(j *job) {
	err := j.place.keep(j.handle, f.jobs.recordOfJobs())
	if err != nil && !errors.Is(err, os.ErrClosed) { // Closed: the host has not read the answer until the end.
		f.log.Warn("what was sent of a job cannot be recorded; after a restart it is sent again", "handle", j.handle, "error", err)
	}
}
