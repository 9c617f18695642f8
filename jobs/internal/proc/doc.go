// Package proc provides the server's side of one job's terminal or pipes. It also resolves two things before a job
// starts: the job's environment, and the file that its command names.
//
// The package starts no goroutine. One goroutine of the caller calls Source.Read and one calls Sink.Write; each blocks
// in Go's poller. All other functions may be called from any goroutine. Some of them end those two calls at once; their
// comments say so.
//
// The life of a job's output:
//
//	OpenTerminal or OutputPipe   the other end goes to the keeper, which starts the job
//	Source.Read                  blocks, then takes all output that the kernel has
//	the keeper reports "exited"
//	Source.Drain                 Read returns ErrDrained once it finds no more output:
//	                             now everything that the command wrote has been read
//	io.EOF, or Close             no process can write any more
//
// A terminal's master must never be closed before that: closing it hangs up on the job and discards the unread output.
package proc
