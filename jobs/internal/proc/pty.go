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

// Source returns the reader of the job's output.
func (t *Terminal) Source() *Source { return t.source }

// Sink returns the writer of the job's input.
func (t *Terminal) Sink() *Sink { return t.sink }

// Close closes the master, which hangs up on the job, and ends Source.Read and
// Sink.Write at once. It may be called twice.
func (t *Terminal) Close() error {
	if t.closed.Swap(true) {
		return nil
	}
	// These come first, so that Read and Write return os.ErrClosed.
	_, _ = t.source.Close(), t.sink.Close() // They do not close the file, and return nil.
	return t.file.Close()
}

// Attrs are the terminal's modes that determine the effect of a typed byte, as the job's programs have set them. A
// character that is 0 is disabled.
type Attrs struct {
	Canonical bool // ICANON: input arrives by lines
	Echo      bool // ECHO: input is echoed
	Signals   bool // ISIG: Intr, Quit and Susp become signals
	NoFlush   bool // NOFLSH: those signals do not discard the unread input
	CRToNL    bool // ICRNL: a carriage return arrives as a newline

	EOF, EOL, Intr, Quit, Susp, Kill, Erase byte

	Shown EchoAttrs // how input is echoed
}

// IsSignal reports whether the terminal turns the byte c into a signal.
func (a Attrs) IsSignal(c byte) bool {
	return a.Signals && c != 0 && (c == a.Intr || c == a.Quit || c == a.Susp)
}
