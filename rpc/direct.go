package rpc

import (
	"io"

	"shelld/jobs"
)

// A DirectWriter also writes where that blocks nobody. An output of [Serve] that is one
// has small messages sent without another goroutine's having to wake up for them.
type DirectWriter interface {
	io.Writer
	// WriteNow writes what is taken at once, which may be nothing.
	WriteNow(p []byte) (n int, err error)
}

// direct is what an outbox has for being written by others than run.
type direct struct {
	to     DirectWriter // immutable; nil: only run writes
	on     bool         // such a one is the writer
	beyond bool         // there is something to send that he would have to wait for
}

func directTo(w io.Writer) direct {
	d, _ := w.(DirectWriter)
	return direct{to: d}
}

const (
	// directBytes is the most that is sent without run. More has waited already, or is
	// a flood, which goes out in large messages.
	directBytes = 4 << 10
	// directRounds is how often whoever sends looks for more before he leaves it to run.
	directRounds = 4
)

// flushSoon has what is queued sent: by its caller if it is little and the client
// reads, and else by run. It never blocks: what only a disk has is run's as well. No lock
// of the outbox's may be held, and none that sending takes: those of a job's output, and
// of its files.
func (o *outbox) flushSoon() {
	o.mu.Lock()
	if o.direct.to == nil || o.err != nil || o.closing {
		o.poke()
		o.mu.Unlock()
		return
	}
	mine := o.beginLocked()
	o.mu.Unlock()
	if !mine {
		return // there is nothing, or whoever writes takes it along
	}
	defer func() {
		if p := recover(); p != nil {
			jobs.Crash(p) // a writer that is left half done would mute the server
		}
	}()
	o.direct.on, o.direct.beyond = true, false
	for range directRounds {
		if !o.refill() {
			return
		}
		if o.direct.beyond || len(o.batch) > directBytes {
			break
		}
		n, err := o.direct.to.WriteNow(o.batch)
		if err != nil {
			o.breakWith(err)
			return
		}
		if n > 0 {
			o.progress.Add(1)
		}
		if o.batch = o.batch[:copy(o.batch, o.batch[n:])]; len(o.batch) > 0 {
			break
		}
	}
	o.hand()
}

// hand leaves it to run to go on.
func (o *outbox) hand() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handed = true
	o.poke()
}
