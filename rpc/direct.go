package rpc

import (
	"io"

	"shelld.dev/shelld/jobs"
)

// A DirectWriter can also write without blocking. If the output of [Serve] is one, small messages are sent without
// waking up another goroutine.
type DirectWriter interface {
	io.Writer
	// WriteNow writes as many bytes as the output accepts at once, possibly none.
	WriteNow(p []byte) (n int, err error)
}

// direct is the part of an outbox with which goroutines other than run write.
type direct struct {
	to     DirectWriter // immutable; nil: only run writes
	on     bool         // a goroutine other than run is writing
	beyond bool         // there is something to send that this goroutine would have to wait for
}

func directTo(w io.Writer) direct {
	d, _ := w.(DirectWriter)
	return direct{to: d}
}

const (
	// directBytes is the maximum that is sent without run. More than this has been queued for a while, or is a flood,
	// which goes out in large messages.
	directBytes = 4 << 10
	// directRounds is how many times a sending goroutine checks for more before it leaves the rest to run.
	directRounds = 4
)

// flushSoon gets the queue sent: by the calling goroutine if it is little and the client reads, otherwise by run. It
// never blocks: output that must be read from disk is left to run as well. The caller must hold no lock of the outbox,
// and none that sending takes: those of a job's output and of its files.
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
		return // The queue is empty, or the current writer will send it.
	}
	defer func() {
		if p := recover(); p != nil {
			jobs.Crash(p) // A writer that stopped halfway would silence the server.
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

// hand leaves the rest to run.
func (o *outbox) hand() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handed = true
	o.poke()
}
