//go:build unix

package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

const (
	// pullBytes is the maximum size of one read of a job's output.
	pullBytes = 128 << 10
	// feedBytes is the maximum size of one read of our input.
	feedBytes = 32 << 10
	// pullWait is how long, in milliseconds, one read waits for output: practically forever.
	pullWait = int64(1) << 40
)

// pull reads one stream of the job to its end and writes it to our output. The job's window counts from the last read,
// so the job blocks while the reader of our output is slow.
func (r *runner) pull(handle int64, o *runOutput) {
	err := r.pullAll(handle, o)
	r.post(func() { r.pulled(o, err) })
}

// A pullError is an error in reading a job's output.
type pullError struct{ error }

func (r *runner) pullAll(handle int64, o *runOutput) error {
	params := map[string]any{"handle": handle, "stream": o.stream, "maxBytes": pullBytes, "waitMs": pullWait, "format": schema.ReadFormatBase64}
	for {
		var res struct {
			Base64     []byte
			NextOffset int64
			HasMore    bool
			Gap        *schema.Gap
			Job        struct{ Status schema.Status }
		}
		if err := r.server.Call(context.Background(), "job/read", params, &res); err != nil {
			return pullError{err}
		}
		if g := res.Gap; g != nil {
			r.post(func() {
				r.say("%d bytes of %s came too fast while the command was ended, and are lost", g.To-g.From, o.stream)
			})
		}
		if _, err := o.to.Write(res.Base64); err != nil {
			return err
		}
		o.done.Store(res.NextOffset)
		select {
		case r.moved <- struct{}{}:
		default:
		}
		if !res.HasMore && res.Job.Status == schema.StatusClosed {
			return nil
		}
	}
}

// pulled handles the end of a pull.
func (r *runner) pulled(o *runOutput, err error) {
	o.ended = true
	_, reading := errors.AsType[pullError](err)
	switch {
	case err == nil:
	case reading:
		r.endWith(statusFailed, fmt.Sprintf("the command's %s cannot be read: %v", o.stream, err))
	case errors.Is(err, syscall.EPIPE):
		r.endWith(statusSignal+int(syscall.SIGPIPE), "")
	default:
		r.endWith(statusFailed, fmt.Sprintf("the command's %s cannot be forwarded: %v", o.stream, err))
	}
}

// feed writes our input to the job, as fast as the job takes it, and then its end.
func (r *runner) feed(handle int64) {
	buf := make([]byte, feedBytes)
	for {
		n, err := os.Stdin.Read(buf)
		if n > 0 && !r.send(handle, map[string]any{"send": []any{map[string]any{"base64": base64.StdEncoding.EncodeToString(buf[:n])}}}) {
			return
		}
		switch {
		case err == nil:
			continue
		case r.console.isRaw(): // Our terminal is gone; its hang-up comes as a signal.
			return
		case !errors.Is(err, io.EOF):
			r.post(func() { r.say("standard input cannot be read: %v", err) })
		}
		r.send(handle, map[string]any{"eof": true})
		return
	}
}

// send types into the job, and reports whether to go on.
func (r *runner) send(handle int64, params map[string]any) bool {
	params["handle"] = handle
	err := r.server.Call(context.Background(), "job/write", params, nil)
	call, _ := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return true
	case call != nil && call.Kind == schema.KindLineTooLong && r.console.isRaw():
		_, _ = os.Stdout.WriteString("\a") // Like the kernel's terminal, drop a line that is too long, and beep.
		return true
	case call != nil && call.Kind == schema.KindLineTooLong:
		r.post(func() {
			r.endWith(statusFailed, fmt.Sprintf("a line of standard input is longer than a terminal takes (%d bytes); leave -pty out, or send shorter lines", 4095))
		})
		return false
	}
	// The command has closed its input, or has ended. Closing ours lets the process that writes to us know.
	if !r.console.isTerminal {
		_ = os.Stdin.Close()
	}
	return false
}
