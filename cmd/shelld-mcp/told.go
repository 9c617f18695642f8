package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shelld.dev/shelld/schema"
)

// Each job has one cursor for the unread output, shared by all tools. So no output is returned twice, whichever tools
// are called, and none is lost: if output does not fit into an answer, the answer contains its size and its place.

// A telling has the options for the unread output in an answer.
type telling struct {
	maxBytes int64 // maximum size; of more output, head and tail are returned
	echo     bool  // whether the echo of the last input is included
}

// A span is a part of a job's output that a call has returned.
type span struct {
	job      *job
	from, to int64
	ended    bool // with the end of the job
}

// untold returns the offset of the first unread byte.
func (j *job) untold() int64 {
	j.reading.Lock()
	defer j.reading.Unlock()
	return j.next
}

// tell returns the unread output, and marks it as read. If the output of the outcome begins at the cursor, it returns
// that. Otherwise it asks the server: there is no outcome, other calls have returned some of its output meanwhile, or
// there is unread output before it.
func (c *call) tell(ctx context.Context, j *job, o *schema.Outcome, t telling) string {
	j.reading.Lock()
	defer j.reading.Unlock()
	out, ok := terminalOutput(o)
	if !ok || out.Offset != j.next {
		rest, err := c.wait(ctx, schema.JobWaitParams{
			Handle: j.id(), From: from(j.next), Until: []schema.Condition{}, TimeoutMs: schema.ValueOf(int64(0)),
			MaxBytes: new(t.maxBytes), StripEcho: new(!t.echo),
		})
		if err != nil {
			return "" // The job was forgotten, the call was cancelled, or the server is ending.
		}
		o = rest
		if out, ok = terminalOutput(o); !ok {
			return "" // The job has no terminal; its output is returned by the call that has started it.
		}
	}
	before := c.advance(ctx, j, out.NextOffset, &o.Job)
	if out.Text == nil {
		return before
	}
	return before + c.front.marked(ctx, j.handle, schema.StreamPty, *out.Text, out.Truncated)
}

// tellUntold is tell without an outcome: it returns the unread output from the server.
func (c *call) tellUntold(ctx context.Context, j *job, t telling) string {
	return c.tell(ctx, j, nil, t)
}

// terminalOutput returns the terminal's output in an outcome.
func terminalOutput(o *schema.Outcome) (out schema.OutcomeOutput, ok bool) {
	if o != nil {
		out, ok = o.Output[string(schema.StreamPty)]
	}
	return out, ok
}

// advance marks the output before next as read by this call. It returns a text to put in front: the amount of output
// that was lost in cancelled answers, if any. The caller holds j.reading.
func (c *call) advance(ctx context.Context, j *job, next int64, s *schema.JobState) string {
	ended := s.Exit != nil && c.front.engine.member != nil
	if next > j.next || ended && !j.place.hasEnd() {
		c.tells(span{j, j.next, max(j.next, next), ended})
		j.next = max(j.next, next)
	}
	j.toldAll = s.Status == schema.StatusClosed && j.next >= s.Streams[string(schema.StreamPty)].NextOffset
	if j.missed == 0 {
		return ""
	}
	missed := j.missed
	j.missed = 0
	return fmt.Sprintf("[... %d bytes were in the answer to a call that was cancelled%s ...]\n", missed, c.front.whereabouts(ctx, j.handle, schema.StreamPty))
}

// tells notes that the answer has a part of a job's output. The caller holds j.reading.
func (c *call) tells(s span) {
	c.mu.Lock()
	c.told = append(c.told, s)
	c.mu.Unlock()
	if c.front.engine.member != nil {
		s.job.place.add(s)
	}
}

// tellsEnd notes that the answer has the end of a job. The caller holds j.reading.
func (c *call) tellsEnd(j *job) {
	if c.front.engine.member != nil {
		c.tells(span{j, j.next, j.next, true})
	}
}

// untell marks the output as unread that a call has put into an answer that was dropped. If other calls have returned
// later output meanwhile, it is too late for that: the next answer then contains the number of lost bytes.
func (c *call) untell() {
	c.mu.Lock()
	told := c.told
	c.told = nil
	c.mu.Unlock()
	for _, s := range slices.Backward(told) {
		s.job.reading.Lock()
		s.job.place.remove(s)
		if s.job.next == s.to {
			s.job.next, s.job.toldAll = s.from, false
		} else {
			s.job.missed += s.to - s.from
		}
		s.job.reading.Unlock()
	}
}

// marked adds the place of the whole output to the truncation mark of a text.
func (f *front) marked(ctx context.Context, handle int64, stream schema.Stream, text string, cut *schema.Truncated) string {
	if cut == nil || cut.Mark == nil {
		return text
	}
	return withMark(text, cut.Mark, f.whereabouts(ctx, handle, stream))
}

func withMark(text string, mark *schema.TruncationMark, where string) string {
	end := int(mark.Offset) + len(strings.TrimSuffix(mark.Text, " ...]\n"))
	return text[:end] + where + text[end:]
}

// whereabouts returns the place of a job's whole output: its file or, if it is kept only in memory, its resource.
func (f *front) whereabouts(ctx context.Context, handle int64, stream schema.Stream) string {
	info, err := f.info(ctx, handleID(handle))
	if kindOf(err) == schema.KindJobNotFound {
		return ", and no longer kept"
	}
	if file := keptIn(info, stream); file != "" {
		return file
	}
	return fmt.Sprintf("; up to 1 MiB of the output is in the resource shelld://job/%d/%s", handle, resourcePart(stream))
}

// keptIn returns a text with the file of a job's output, or "" if there is none.
func keptIn(info *schema.JobInfo, stream schema.Stream) string {
	file := outputFile(info, stream)
	if file == "" {
		return ""
	}
	if kept := info.Streams[string(stream)].Kept; len(kept) != 1 || kept[0][0] != 0 {
		return "; what is still kept is in " + file
	}
	return "; all of it is in " + file
}

// resourcePart returns the name of a stream in resource URIs and file names.
func resourcePart(stream schema.Stream) string {
	if stream == schema.StreamStderr {
		return "stderr"
	}
	return "stdout"
}

// outputFile returns the path of the file with a stream of a job, or "" if there is none.
func outputFile(j *schema.JobInfo, stream schema.Stream) string {
	if j == nil || j.OutputDirectory == nil || j.OutputFileError != nil {
		return ""
	}
	return strings.TrimRight(*j.OutputDirectory, `/\`) + "/" + resourcePart(stream) + ".txt"
}
