package proc

import (
	"os"
	"sync/atomic"
)

// A Terminal is the master side of a job's terminal: non-blocking, in the poller,
// close-on-exec. Its methods may be called from any goroutine.
type Terminal struct {
	file   *os.File
	source *Source
	sink   *Sink
	closed atomic.Bool
}

// Source returns the reader of what the job prints.
func (t *Terminal) Source() *Source { return t.source }

// Sink returns the writer of what is typed into the job.
func (t *Terminal) Sink() *Sink { return t.sink }

// Close closes the master, which hangs up on the job, and ends Source.Read and
// Sink.Write at once. It may be called twice.
func (t *Terminal) Close() error {
	if t.closed.Swap(true) {
		return nil
	}
	// Marked first, so that what they return is os.ErrClosed.
	_, _ = t.source.Close(), t.sink.Close() // These close nothing and return nil.
	return t.file.Close()
}

// Attrs are the terminal's modes that decide what a byte typed into it does, as
// the job's programs have set them. A character that is 0 is disabled.
type Attrs struct {
	Canonical bool // ICANON: input arrives by lines
	Echo      bool // ECHO: input is shown
	Signals   bool // ISIG: Intr, Quit and Susp become signals
	NoFlush   bool // NOFLSH: those signals leave the input that was not read alone
	CRToNL    bool // ICRNL: a carriage return arrives as a newline

	EOF, EOL, Intr, Quit, Susp, Kill, Erase byte

	Shown EchoAttrs // how input is shown
}

// IsSignal says whether the terminal makes a signal of the byte c.
func (a Attrs) IsSignal(c byte) bool {
	return a.Signals && c != 0 && (c == a.Intr || c == a.Quit || c == a.Susp)
}
