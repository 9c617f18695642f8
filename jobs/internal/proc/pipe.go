//go:build unix

package proc

import (
	"fmt"
	"os"
)

// OutputPipe creates the pipe for a job's stdout or stderr. theirs is the job's end, in blocking mode as programs
// expect: the caller gives it to the job and closes it.
func OutputPipe() (ours *Source, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make an output pipe: %w", err)
	}
	_ = w.Fd() // This sets blocking mode; only the server's end is in the poller.
	if ours, err = newSource(r, false); err != nil {
		_, _ = r.Close(), w.Close()
		return nil, nil, err
	}
	return ours, w, nil
}

// InputPipe creates the pipe for a job's stdin. theirs is the job's end, in blocking mode as programs expect: the
// caller gives it to the job and closes it.
func InputPipe() (ours *Sink, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make an input pipe: %w", err)
	}
	_ = r.Fd() // This sets blocking mode; only the server's end is in the poller.
	if ours, err = newSink(w, false); err != nil {
		_, _ = r.Close(), w.Close()
		return nil, nil, err
	}
	return ours, r, nil
}
