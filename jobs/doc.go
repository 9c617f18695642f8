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
// matched, what has changed, that it exited, that it closed. An event names the offsets up to which
// output must be delivered before it; the output itself is read from the job, by
// offset, by whoever wants it.
//
// # Goroutines
//
//  1. run (actor.go), one per job, makes the process and opens its files (start.go,
//     stdio.go), and then blocks on nothing but its select. It ends when the job is let
//     go of (retention, [Manager.Close]).
//  2. readLoop (loops.go), one per stream, owns a blocking read, takes out what is secret
//     (cleaner.go) and appends to the stream's spool; the stream's end, or closing its
//     descriptor, ends it. It reads a terminal's output for what its programs tell it
//     (display.go) and ask it (queries.go).
//  3. writeLoop (send.go), where the job has an input, owns the blocking write of what
//     the kernel does not take at once; closing the descriptor and the job's end end it.
//  4. follow.Follower.run (package follow, owned by following.go), from the job's first pattern on,
//     does the matching that the readLoops do not do themselves; run ends it.
//  5. look (changes.go), at most one for the loop and one per job/get, reads who has
//     the terminal's foreground; lookBehind (changes.go), one per job/get, who lives
//     behind the leader. Their answer to run ends them.
//     So does lookAtPorts (ports.go), at most one while a wait for a port is armed, and
//     one per job/get.
//  6. archive.run (archive.go), one per manager where output is kept in files, writes
//     what is known of jobs that live, and deletes; [Manager.Close] ends it. Beside it
//     archive.tidy sees once to what earlier servers have left (package stored).
//  7. Where a file may have to be waited for, and the wait is bounded by the request or
//     by the job's end: one per read (read.go), one at the end of a job (files.go).
//  8. One per job/screen (view_ask.go), and one at a time for patterns on the screen and
//     screen changes (glance.go), draws the new output; its answer to run ends it. One more
//     draws the rest when the job is closed (releaseView), and ends with that.
//  9. One per query that only the drawn screen answers (queries.go), one after
//     the other; it ends with the answer.
//  10. Where somebody wants to know whether the job waits for input, one at a time looks at
//     its processes (beginLook, waiting.go); its answer to run ends it.
//  11. One per program that the server runs for itself (inquiry.go), and one that reads its
//     output: they end when nothing of it is left. What waits for its turn to ask a shell for
//     its version (shells.go) ends with those before it.
//  12. One per kill, signal and write about which the person at the client is asked (confirm.go): the
//     answer, a cancel, and the end of the job and of the server end it. A start is asked about by run itself.
//  13. recording.run (recording.go), where a job is recorded, owns its file; the job's end
//     ends it.
//  14. A search (search.go) runs in its caller's goroutine, reads streams as any reader does,
//     and has no turn but the one in which a job says how far its output has come. As many
//     run at a time as half the processors, the others wait; closing its cancel and
//     [Manager.Shutdown] end it.
//  15. What package keeper has for a job: the goroutine that receives what its
//     keeper process says.
//  16. feedLoop (shell_feed.go), where the job is a shell with integration, owns the blocking
//     write of what the shell is to run; the job's end ends it. One per interrupt of such a
//     command, and per hint at why it could not be run (exec.go), which end by themselves.
//
// The job's state belongs to whoever has its turn (actor.go). A turn never blocks, and is
// taken by the goroutine that brings something: the one that reads requests, a readLoop,
// the follower, the one that hears the keeper, or else run. On a machine with few
// processors to wake up another one costs more than a turn does: a key that is typed, its
// echo and a prompt's match pass through the server without that.
//
// # Shells
//
// A shell with integration (package shellmark) says in its output when it reads a line, when a
// command begins and when it has ended. The readLoop takes these marks out and leaves them, with
// their places, for a turn, from which follows what the shell does (shell.go). A command of
// [Job.Exec] waits until the shell reads (exec.go), is laid into a pipe, and keys are typed that have
// the shell read it (shell_feed.go); its wait is armed when it begins, and what is typed behind it
// waits until then (shell_reading.go).
//
// # The screen
//
// A terminal job's output is drawn on demand (package view): for job/screen, for patterns
// on the screen, for screen change events and for queries that only the drawn screen answers.
// displayPart owns the job's view and calls it in goroutines of its own (8 and 9 above), so that
// neither the readLoop nor a turn waits for drawing. If the view is far behind, it draws only
// the newest output. It exists as long as the job is known.
//
// # Waiting for input
//
// Whether a job waits for input is seen from what its processes are blocked on (package
// inputwait), while somebody wants to know, and not else: who is told of it, a wait for it,
// job/get, a write that is for one wait, a client that is asked for passwords, and whoever
// comes to a timeout. A look counts where neither output nor input came meanwhile; they
// follow both closely, and then ever more slowly (waiting.go).
//
// # Environment
//
// What jobs start with is an immutable value, of which a change makes another one: a start
// has the one that was in effect when it was read (environment.go). Where the login shell is
// asked for it (login.go), starts wait in their own goroutines (start_held.go), and nobody
// else does.
//
// # Files
//
// Output is in memory, and as a rule in files beside it. Nothing of that is on the way
// of a start: the readLoop makes a stream's file with its first byte, and info.json is
// written late; by the readLoop, too, before the file drops output (recordRing). A disk that takes nothing stops the output that it should take and the
// job's closing, and neither the loop, nor a kill, nor the server's end. A recording is behind all
// of that: what is slow about its disk stops the closing alone.
//
// A server holds the lock of its directory while it lives. So the next one knows which of
// the others are dead, finishes what they have left, and deletes what is too much of it
// (package stored).
//
// # Secrets
//
// Values that are secret (vault.go) are taken out of output before it is stored, and out of
// what is told of a job (redaction.go) where it is told. So nobody else has to know of them.
// What may be the beginning of one is held back by the readLoop, which counts as output that
// has not come.
//
// # Ending without help
//
// Kill and Shutdown need nothing that a job can hold: no lock of a job's is taken
// under the manager's, the loop does no I/O, and a loop that is stuck all the same
// is passed by (giveUp), because its keeper kills the tree as soon as the server's
// end of its socket is gone.
package jobs
