package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"shelld.dev/shelld/schema"
)

// A Chunk is a piece of a job's output.
type Chunk struct {
	Stream schema.Stream
	Offset int64       // of its first byte in the stream
	Text   string      // its bytes; they need not be UTF-8
	Gap    *schema.Gap // the range ahead of it that the server has not kept; nil: none
}

// A feed has the output of a job that is being read. The server stops a window ahead of the last acknowledgement, so
// that a feed stays short.
type feed struct {
	*queue[piece]
	events []schema.EventName // the events of the job that OnEvent gets

	// Guarded by Client.mu:
	live bool // the server has answered job/subscribe; earlier events are not for this feed
	left bool // the loop has ended, and the server has not answered the request that ends its subscription
}

// A piece is an event in a feed: output, or its end.
type piece struct {
	schema.JobOutputParams
	end bool
}

// open makes the feed of a job.
func (j *Job) open() (*feed, error) {
	c := j.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.feeds[j.Handle]; f != nil && !f.left {
		return nil, fmt.Errorf("the output of job %d is being read already: range over it once at a time", j.Handle)
	}
	f := &feed{queue: newQueue[piece](), events: j.events}
	c.feeds[j.Handle] = f
	return f, nil
}

// feed returns the feed of an event's job, nil if there is none. If the feed is live, it gets the event.
func (c *Client) feed(e Event, end bool) (taken bool, f *feed) {
	c.mu.Lock()
	none := len(c.feeds) == 0
	c.mu.Unlock()
	p := piece{end: end}
	if none || e.Decode(&p.JobOutputParams) != nil { // Of the ends, only the handle is read.
		return false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f = c.feeds[p.Handle]
	if f == nil || !f.live {
		return false, f
	}
	f.put(p)
	return true, f
}

// Lossless is an edit for Client.Start: from its first byte on, the program waits until its output is read. Without it,
// a program may have written more before a loop over Output begins than the server keeps, and the loop gets a gap. With
// it, a program with unread output stops after some hundred kilobytes.
func Lossless(p *schema.JobStartParams) { p.WhenSlow = new(schema.WhenSlowBlock) }

// Output returns the output of a job, from its first byte to the end of its command. A slow loop slows down the
// program: each piece is acknowledged when the loop asks for the next one, and the program's writes wait. Leaving the
// loop lets the program go on at full speed.
//
// Each stream is in order; a piece of stdout may come before one of stderr that was written earlier.
//
// The loop gets an error at most once, as its last item: that of ctx, or a *GoneError.
func (j *Job) Output(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		f, err := j.open()
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		defer j.leave(ctx, f)
		state, err := j.subscribe(ctx, f)
		if KindOf(err) == schema.KindJobExited { // Its last event was sent: all of its output is stored.
			j.stored(ctx, yield)
			return
		}
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		r := reading{job: j, ctx: ctx, window: j.client.Info.Limits.WindowBytes, at: map[schema.Stream]int64{}, acked: map[schema.Stream]int64{}}
		if state.Exit != nil {
			r.ends = state.Streams
		}
		if r.done() {
			return
		}
		for p := range f.all(ctx, j.client.conn.Done()) {
			more, err := r.take(&p, yield)
			if err != nil {
				yield(Chunk{}, err)
			}
			if err != nil || !more {
				return
			}
		}
		if ctx.Err() != nil {
			yield(Chunk{}, fmt.Errorf("the output of job %d was not read to its end: %w", j.Handle, ended(ctx)))
			return
		}
		yield(Chunk{}, j.client.conn.lost(ErrServerGone))
	}
}

// subscribe asks for the output of the job. The answer parts the events of before, which may be an end without the
// output that belongs before it, from those of the feed.
func (j *Job) subscribe(ctx context.Context, f *feed) (*schema.JobState, error) {
	c := j.client
	p := schema.JobSubscribeParams{Handle: handleID(j.Handle), From: json.RawMessage(`"start"`), WhenSlow: new(schema.WhenSlowBlock)}
	p.Events = with(j.events, schema.EventNameOutput, schema.EventNameExited, schema.EventNameClosed)
	var r schema.JobSubscribeResult
	err := c.conn.call(ctx, "job/subscribe", p, &r, callHooks{mark: func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		f.live = true
	}})
	if err != nil {
		return nil, err
	}
	if r.Job == nil {
		return nil, errors.New("this server is too old for reading output: its answer to job/subscribe has no job")
	}
	return r.Job, nil
}

// with returns events, with those of more that are not among them.
func with(events []schema.EventName, more ...schema.EventName) []schema.EventName {
	all := slices.Clone(events)
	for _, name := range more {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// leave ends the reading of the output: the job's events are again those from before the loop. Nothing waits for the
// answer: until then, the feed drops the events that only the loop has asked for.
func (j *Job) leave(ctx context.Context, f *feed) {
	c := j.client
	c.mu.Lock()
	f.live, f.left = false, true
	c.mu.Unlock()
	f.take() // Memory for a feed that may stay for a while.
	answered := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.feeds[j.Handle] == f { // Otherwise the next loop has begun.
			delete(c.feeds, j.Handle)
		}
	}
	// An error means that the server, or the job, has ended.
	soon(ctx, cancelTime, func() {
		if len(j.events) == 0 {
			_, _ = c.conn.send("job/unsubscribe", schema.JobUnsubscribeParams{Handle: handleID(j.Handle)}, answered)
			return
		}
		p := schema.JobSubscribeParams{Handle: handleID(j.Handle), Events: j.events, WhenSlow: new(schema.WhenSlowSpool)}
		_, _ = c.conn.send("job/subscribe", p, answered)
	})
}

// A reading is the state of one loop over the output of a job.
type reading struct {
	job       *Job
	ctx       context.Context // of the loop
	window    *int64
	at, acked map[schema.Stream]int64           // the offsets up to which each stream was taken, and acknowledged
	ends      schema.Map[schema.StreamPosition] // the ends of the output; nil: not known yet
}

// done reports whether all of the output was taken.
func (r *reading) done() bool {
	if r.ends == nil {
		return false
	}
	for name, end := range r.ends {
		if r.at[schema.Stream(name)] < end.NextOffset {
			return false
		}
	}
	return true
}

// take handles a piece. It returns false when nothing more is wanted, or will come.
func (r *reading) take(p *piece, yield func(Chunk, error) bool) (bool, error) {
	if p.end {
		return false, nil // The server sends it after the last byte.
	}
	text, err := decode(p.Text, p.Base64)
	if err != nil {
		return false, err
	}
	if !yield(Chunk{p.Stream, p.Offset, text, p.Gap}, nil) {
		return false, nil
	}
	r.at[p.Stream] = p.Offset + p.Bytes
	// The server counts from the offset at which output begins, and stops a window behind the last acknowledgement.
	if window := or(r.window, 1<<20); p.Gap != nil || r.at[p.Stream]-r.acked[p.Stream] >= window/4 {
		r.acked[p.Stream] = r.at[p.Stream]
		if err := r.job.client.conn.notify(r.ctx, "job/ack", ack(p.Handle, p.Stream, r.at[p.Stream])); err != nil {
			return false, err
		}
	}
	return !r.done(), nil
}

// stored reads the stored output of a job of which no event is sent any more.
func (j *Job) stored(ctx context.Context, yield func(Chunk, error) bool) {
	r, err := Call[schema.JobGetResult](ctx, j.client, "job/get", schema.JobGetParams{Handle: handleID(j.Handle)})
	if err != nil {
		yield(Chunk{}, err)
		return
	}
	for _, stream := range streams {
		if _, has := r.Job.Streams[string(stream)]; !has {
			continue
		}
		for offset, more := int64(0), true; more; {
			p, err := Call[schema.JobReadResult](ctx, j.client, "job/read", schema.JobReadParams{Handle: handleID(j.Handle), Stream: &stream, Offset: &offset})
			if err != nil {
				yield(Chunk{}, err)
				return
			}
			text, err := decode(p.Text, p.Base64)
			if err != nil {
				yield(Chunk{}, err)
				return
			}
			if (text != "" || p.Gap != nil) && !yield(Chunk{stream, p.Offset, text, p.Gap}, nil) {
				return
			}
			offset, more = p.NextOffset, p.HasMore
		}
	}
}

// streams are all streams of jobs, in the order of their output if nothing else orders it.
var streams = []schema.Stream{schema.StreamPty, schema.StreamStdout, schema.StreamStderr}

// maxLineBytes is the length at which Lines breaks a line.
const maxLineBytes = 1 << 20

// Lines returns the output of a job by lines, without their ends, as Output does. Lines of more than 1 MiB are broken,
// and so is a line at a Gap: its beginning and its end are lines of their own. Only Output has the gap itself.
func (j *Job) Lines(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		rest := map[schema.Stream][]byte{}
		for chunk, err := range j.Output(ctx) {
			if err != nil {
				yield("", err)
				return
			}
			if begun := rest[chunk.Stream]; chunk.Gap != nil && len(begun) > 0 {
				rest[chunk.Stream] = begun[:0]
				if !yield(string(begun), nil) {
					return
				}
			}
			for text := chunk.Text; text != ""; {
				line, after, whole := strings.Cut(text, "\n")
				if begun := rest[chunk.Stream]; len(begun) > 0 || !whole {
					begun = append(begun, line...)
					if !whole && len(begun) < maxLineBytes {
						rest[chunk.Stream] = begun
						break
					}
					line, rest[chunk.Stream] = string(begun), begun[:0]
				}
				if !yield(strings.TrimSuffix(line, "\r"), nil) {
					return
				}
				text = after
			}
		}
		for _, stream := range streams {
			if last := rest[stream]; len(last) > 0 && !yield(string(last), nil) {
				return
			}
		}
	}
}

// decode returns the bytes of output that came as text or in base64.
func decode(text, encoded *string) (string, error) {
	if encoded == nil {
		return or(text, ""), nil
	}
	raw, err := base64.StdEncoding.DecodeString(*encoded)
	return string(raw), err
}

func ack(handle int64, stream schema.Stream, offset int64) schema.JobAckParams {
	return schema.JobAckParams{Handle: handleID(handle), Stream: stream, Offset: offset}
}

// or returns *p, or a default if there is none.
func or[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}
