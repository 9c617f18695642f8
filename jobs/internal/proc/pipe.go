//go:build unix

package proc

import (
	"fmt"
	"os"
)

// OutputPipe makes the pipe of a job's stdout or stderr. The caller gives theirs,
// which is in blocking mode as programs expect, to the job and closes it.
func OutputPipe() (ours *Source, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make an output pipe: %w", err)
	}
	_ = w.Fd() // This sets blocking mode; only our end is for the poller.
	if ours, err = newSource(r, false); err != nil {
		_, _ = r.Close(), w.Close()
		return nil, nil, err
	}
	return ours, w, nil
}

// InputPipe makes the pipe of a job's stdin. The caller gives theirs, which is in
// blocking mode as programs expect, to the job and closes it.
func InputPipe() (ours *Sink, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make an input pipe: %w", err)
	}
	_ = r.Fd() // This sets blocking mode; only our end is for the poller.
	if ours, err = newSink(w, false); err != nil {
		_, _ = r.Close(), w.Close()
		return nil, nil, err
	}
	return ours, r, nil
}
