// Package jobs runs commands on terminals and pipes: a job is one started command
// and everything that it starts. It knows nothing of JSON.
//
// # States
//
//	starting → running ⇄ stopped → exited → closed
//	    └→ failed (an error answer; never a job)
//
// exited: the leader was reaped, a read begun after that found nothing more, and
// the patterns have seen it all. closed: the keeper says that nobody is left, and
// the same holds again. Each happens once, in this order.
//
// # Events
//
// A job tells its [Sink] that it started, that output is stored, which patterns
// matched, that it exited, that it closed. An event names the offsets up to which
// output must be delivered before it; the output itself is read from the job, by
// offset, by whoever wants it.
//
// # Goroutines
//
//  1. run (actor.go), one per job, owns the job's state. It blocks on nothing but
//     its select. It ends when the job is let go of (retention, [Manager.Close]).
//  2. startLoop (start.go) makes the process; it ends with that.
//  3. readLoop (loops.go), one per stream, owns a blocking read and appends to the
//     stream's spool; the stream's end, or closing its descriptor, ends it.
//  4. writeLoop (loops.go), where the job has an input, owns the blocking write;
//     closing the descriptor and the job's end end it.
//  5. follower.run (follower.go), from the job's first pattern on, owns the
//     matching; run ends it.
//  6. What package keeper has for a job: the goroutine that receives what its
//     keeper process says.
//
// # Ending without help
//
// Kill and Shutdown need nothing that a job can hold: no lock of a job's is taken
// under the manager's, the loop does no I/O, and a loop that is stuck all the same
// is passed by (giveUp), because its keeper kills the tree as soon as the server's
// end of its socket is gone.
package jobs
