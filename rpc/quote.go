package rpc

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// This file quotes output in answers: cut to size, with a mark at the omission. job/read and job/output carry bytes
// instead, so that a client can join them; see textOrBase64.

// A quotation says how output is quoted.
type quotation struct {
	plain    bool
	maxBytes int
	mark     bool
}

// A rendering is a piece of output in the form that a client asked for.
type rendering struct {
	text, base64 *string // in an answer that quotes, base64 is beside the text if the bytes are not UTF-8
	truncated    *schema.Truncated
}

// quote reads a range without the parts to skip. Output that the spool has dropped counts as left out.
func (q quotation) quote(j *jobs.Job, name jobs.Stream, r jobs.Range, skip ...jobs.Range) rendering {
	b, cut := j.Excerpt(name, r, skip, q.plain, q.maxBytes)
	p := q.text(b, cut)
	if !q.plain && !utf8.Valid(b) {
		p.base64 = encode64(b)
	}
	return p
}

// quoteRun is quote for the answer of job/run, whose output begins at the job's first byte. Plain text does not show
// all bytes, so base64 is added to it only if it can hold all of the output.
func (q quotation) quoteRun(j *jobs.Job, name jobs.Stream, r jobs.Range) rendering {
	p := q.quote(j, name, r)
	if q.plain && r.To-r.From <= int64(q.maxBytes) {
		if b, cut := j.Excerpt(name, r, nil, false, q.maxBytes); cut == nil && !utf8.Valid(b) {
			p.base64 = encode64(b)
		}
	}
	return p
}

// text returns an excerpt as text, with a mark between head and tail if it was cut.
func (q quotation) text(b []byte, cut *jobs.Truncated) (p rendering) {
	if cut == nil {
		s := string(validUTF8(b))
		p.text = &s
		return p
	}
	p.truncated = truncated(cut)
	head, tail := validUTF8(b[:cut.HeadBytes]), validUTF8(b[cut.HeadBytes:])
	mark := ""
	if q.mark && q.maxBytes > 0 {
		mark = markBehind(head, cut)
		p.truncated.Mark = &schema.TruncationMark{Text: mark, Offset: int64(len(head)), Bytes: int64(len(mark))}
	}
	s := string(head) + mark + string(tail)
	p.text = &s
	return p
}

// markBehind returns the line between a head and its tail.
func markBehind(head []byte, cut *jobs.Truncated) string {
	mark := fmt.Sprintf("[... %d bytes, %d lines left out ...]\n", cut.OmittedBytes, cut.OmittedLines)
	if n := len(head); n > 0 && head[n-1] != '\n' {
		return "\n" + mark
	}
	return mark
}

// bytesOnly reads a range as bytes, for a client that wants no text.
func bytesOnly(j *jobs.Job, name jobs.Stream, r jobs.Range, maxBytes int) (p rendering) {
	b, cut := j.Excerpt(name, r, nil, false, maxBytes)
	p.base64 = encode64(b)
	if cut != nil {
		p.truncated = truncated(cut)
	}
	return p
}

func truncated(t *jobs.Truncated) *schema.Truncated {
	return &schema.Truncated{HeadBytes: t.HeadBytes, TailBytes: t.TailBytes, OmittedBytes: t.OmittedBytes, OmittedLines: t.OmittedLines}
}

// validUTF8 is jobs.ValidUTF8, but does not copy valid text.
func validUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return []byte(jobs.ValidUTF8(string(b)))
}

func encode64(b []byte) *string {
	s := base64.StdEncoding.EncodeToString(b)
	return &s
}

// textOrBase64 returns text if the bytes are UTF-8, and base64 otherwise, so that the client can always restore the
// bytes.
func textOrBase64(b []byte, wantBase64 bool) (p rendering) {
	if wantBase64 || !utf8.Valid(b) {
		p.base64 = encode64(b)
		return p
	}
	s := string(b)
	p.text = &s
	return p
}
