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

	"shelld.dev/shelld/session"
)

// A record has, for each job of a session, up to where its output was sent to the host of MCP, and whether its end was.
// It is in a claimed file, so that this front end goes on from there if it is killed and started again. The server
// cannot keep it: what another client of the session has read, this one's model has not seen.
//
// The file begins with the session's id and the digest of its policy. After recordHead bytes there are 8 bytes for each
// handle: twice the offset, 2 more so that it is not 0, and 1 more if the end was sent. So each change is one small write, which no kill divides.
type record struct{ *session.Claim }

const recordHead = 256

func newRecord(c *session.Claim) *record { return &record{c} }

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
	_, err = r.WriteAt(fmt.Appendf(nil, "%-*s\n", recordHead-1, id+" "+digest), 0)
	return was, err
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
	_, err := r.WriteAt(b[:], recordHead+8*handle)
	return err
}

// keep writes the job's place into the record of its session. An answer that is not written yet counts as not sent. The
// caller holds j.reading.
func (j *job) keep(r *record) error {
	if j.dropped {
		return nil // The record is another session's by now.
	}
	next := j.next
	for _, s := range j.sending {
		next = min(next, s.from)
	}
	return r.set(j.handle, next, j.sentEnd)
}

// sent removes a part of the output from those whose answers are not written. The caller holds j.reading.
func (j *job) sent(s span) {
	if i := slices.Index(j.sending, s); i >= 0 {
		j.sending = slices.Delete(j.sending, i, i+1)
	}
}

// written notes that the answer to a call was written: its model has what is in it.
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
		s.job.reading.Lock()
		s.job.sent(s)
		s.job.sentEnd = s.job.sentEnd || s.ended
		c.front.keep(s.job)
		s.job.reading.Unlock()
	}
}

// keep records the place of a job. The caller holds j.reading.
func (f *front) keep(j *job) {
	if err := j.keep(f.jobs.recordOfJobs()); err != nil && !errors.Is(err, os.ErrClosed) { // Closed: the host has not read the answer until the end.
		f.log.Warn("what was sent of a job cannot be recorded; after a restart it is sent again", "handle", j.handle, "error", err)
	}
}
