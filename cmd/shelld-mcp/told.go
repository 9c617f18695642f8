package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shelld/schema"
)

// What is new of a job. Each job has one cursor for all tools that tell what is new, so that
// nothing is told twice, whichever of them is called, and nothing is told by none: what did not
// fit into an answer is in it by its number of bytes and by the place where it is.

// A telling says how what is new is told.
type telling struct {
	maxBytes int64 // of more, head and tail are told
	echo     bool  // whether the echo of what was typed last is told as well
}

// A span is what a call has told of a job.
type span struct {
	job      *job
	from, to int64
}

// untold is the offset from which on output was not told yet.
func (j *job) untold() int64 {
	j.reading.Lock()
	defer j.reading.Unlock()
	return j.next
}

// tell returns all that was not told yet, and takes it as told. It is what an outcome brought,
// where that begins at the cursor; where it does not, since others have told some meanwhile or
// something came before the outcome's beginning, or there is no outcome, the server is asked.
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
			return "" // It was forgotten, the call was cancelled, or all ends.
		}
		o = rest
		if out, ok = terminalOutput(o); !ok {
			return "" // It has no terminal; what it writes is told by the call that has started it.
		}
	}
	before := c.advance(ctx, j, out.NextOffset, &o.Job)
	if out.Text == nil {
		return before
	}
	return before + c.front.marked(ctx, j.handle, schema.StreamPty, *out.Text, out.Truncated)
}

// tellUntold returns all that was not told yet, without an outcome that may have it.
func (c *call) tellUntold(ctx context.Context, j *job, t telling) string {
	return c.tell(ctx, j, nil, t)
}

// terminalOutput is what an outcome brought of a terminal.
func terminalOutput(o *schema.Outcome) (out schema.OutcomeOutput, ok bool) {
	if o != nil {
		out, ok = o.Output[string(schema.StreamPty)]
	}
	return out, ok
}

// advance takes what is before next as told by this call. It returns what is to be said before
// that: how much was in answers that nobody got. j.reading is held.
func (c *call) advance(ctx context.Context, j *job, next int64, s *schema.JobState) string {
	if next > j.next {
		c.mu.Lock()
		c.told = append(c.told, span{j, j.next, next})
		c.mu.Unlock()
		j.next = next
	}
	j.toldAll = s.Status == schema.StatusClosed && j.next >= s.Streams[string(schema.StreamPty)].NextOffset
	if j.missed == 0 {
		return ""
	}
	missed := j.missed
	j.missed = 0
	return fmt.Sprintf("[... %d bytes were in the answer to a call that was cancelled%s ...]\n", missed, c.front.whereabouts(ctx, j.handle, schema.StreamPty))
}

// untell gives back what a call has told whose answer nobody gets. Where others have told more
// meanwhile it cannot be told in its place any more: then the next answer says so.
func (c *call) untell() {
	c.mu.Lock()
	told := c.told
	c.told = nil
	c.mu.Unlock()
	for _, s := range slices.Backward(told) {
		s.job.reading.Lock()
		if s.job.next == s.to {
			s.job.next, s.job.toldAll = s.from, false
		} else {
			s.job.missed += s.to - s.from
		}
		s.job.reading.Unlock()
	}
}

// marked adds to the mark of a text that was cut where the whole output is.
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

// whereabouts says where the whole output of a job is: in its file, or, where it is kept in
// memory alone, in its resource.
func (f *front) whereabouts(ctx context.Context, handle int64, stream schema.Stream) string {
	info, err := f.info(ctx, handleID(handle))
	if kindOf(err) == schema.KindJobNotFound {
		return ", and not kept any more"
	}
	if file := keptIn(info, stream); file != "" {
		return file
	}
	return fmt.Sprintf("; up to 1 MiB of all is in the resource shelld://job/%d/%s", handle, resourcePart(stream))
}

// keptIn says in which file the output of a job is; "" where there is none.
func keptIn(info *schema.JobInfo, stream schema.Stream) string {
	file := outputFile(info, stream)
	if file == "" {
		return ""
	}
	if kept := info.Streams[string(stream)].Kept; len(kept) != 1 || kept[0][0] != 0 {
		return "; what is kept of all is in " + file
	}
	return "; all of it is in " + file
}

// resourcePart is the part of a job that is a stream, in the URIs of resources and the names of
// files.
func resourcePart(stream schema.Stream) string {
	if stream == schema.StreamStderr {
		return "stderr"
	}
	return "stdout"
}

// outputFile is where a stream of a job is kept; "" where it is not.
func outputFile(j *schema.JobInfo, stream schema.Stream) string {
	if j == nil || j.OutputDirectory == nil || j.OutputFileError != nil {
		return ""
	}
	return strings.TrimRight(*j.OutputDirectory, `/\`) + "/" + resourcePart(stream) + ".txt"
}
