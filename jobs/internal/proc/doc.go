// Package proc is one job's terminal or pipes, as the server sees them, with
// what is decided before a job starts: its environment, and the file that its
// command names.
//
// The package starts no goroutine. Of the caller's, one calls Source.Read and
// one Sink.Write, each blocked in Go's poller; everything else may be called
// from any goroutine, and ends those calls at once where it says so.
//
// The life of a job's output:
//
//	OpenTerminal or OutputPipe   the other end goes to the keeper, which starts the job
//	Source.Read                  blocks, then takes all that the kernel has
//	the keeper says "exited"
//	Source.Drain                 Read answers ErrDrained when it found nothing more:
//	                             now everything that the command wrote has been read
//	io.EOF, or Close             nobody can write any more
//
// A terminal's master must never be closed before that: closing it hangs up on
// the job and throws away what was not read.
package proc
