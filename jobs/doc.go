// Package jobs runs commands on terminals and pipes: a job is one started command and everything
// that it starts. It knows nothing of JSON.
//
// # States
//
//	starting → running ⇄ stopped → exited → closed
//	    └→ failed (an error answer; never a job)
//
// exited: the leader was reaped, a read begun after that returned no more output, and the patterns
// have seen all output. closed: the keeper reports that no process is left, and the same holds
// again for reads and patterns. Each happens once, in this order.
//
// # Events
//
// A job reports to its [Sink] that it started, that output is stored, which patterns matched, which
// of its properties changed, that it exited and that it closed. An event names the offsets up to
// which output must be delivered before it. The output itself is not part of an event: each
// consumer reads it from the job by offset.
//
// # Goroutines
//
//  1. run (actor.go), one per job, starts the process and opens its files (start.go, stdio.go).
//     After that it blocks only in its select. It ends when the job is forgotten (retention,
//     [Manager.Close]).
//  2. readLoop (loops.go), one per stream, owns a blocking read, removes secret values (redact)
//     and appends to the stream's spool. It ends at the end of the stream or when its descriptor is
//     closed. In a terminal's output it also finds the properties that programs set (display.go)
//     and the queries that they send (queries.go).
//  3. writeLoop (send.go), if the job has an input, owns the blocking write of the input that the
//     kernel does not accept at once. It ends when the descriptor is closed or the job ends.
//  4. follow.Follower.run (package follow, owned by following.go), from the job's first pattern on,
//     does the matching that the readLoops do not do themselves. run ends it.
//  5. look (changes.go), at most one for the loop and one per job/get, finds the foreground process
//     of the terminal. lookBehind (changes.go), one per job/get, finds the processes that outlive
//     the leader. lookAtPorts (ports.go), at most one while a wait for a port is armed and one per
//     job/get, finds open ports. Each ends with its answer to run.
//  6. archive.run (archive.go), one per manager if output is kept in files, writes the records of
//     live jobs and deletes files. [Manager.Close] ends it. Beside it, archive.tidy cleans up once
//     after earlier servers (package stored).
//  7. For work that may wait for a file, bounded by the request or by the job's end: one per read
//     (read.go), one at the end of a job (files.go).
//  8. One per job/screen (view_ask.go), and one at a time for patterns on the screen and screen
//     changes (glance.go), draws the new output. It ends with its answer to run. One more draws the
//     remaining output when the job is closed (releaseView), and then ends.
//  9. One per query that only the drawn screen answers (queries.go), one after the other. It ends
//     with the answer.
//  10. If a consumer needs to know whether the job waits for input, one at a time probes the job's
//     processes (beginLook, waiting.go). It ends with its answer to run.
//  11. One per program that the server runs for itself (inquiry.go), and one that reads its output.
//     They end when none of the program's processes is left. Goroutines that wait for their turn to
//     ask a shell for its version (shells.go) end with those before them.
//  12. One per request that needs a person's confirmation: a kill, a signal, a write, a command for
//     a shell or a change of its variables (confirm_ask.go, confirm_write.go). It ends with the answer, a cancel, or the
//     end of the job or the server. For a start, run itself asks.
//  13. recording.run (recording.go), if the job is recorded, owns its file. The job's end ends it.
//  14. A search (search.go) runs in its caller's goroutine and reads streams as any reader does. It
//     takes only one turn of a job, to get the end of its output. At most half as many searches as
//     processors run at a time, the others wait. Closing its cancel channel and [Manager.Shutdown]
//     end it.
//  15. The goroutine of package keeper, one per job, that receives the messages of the job's keeper
//     process.
//  16. feedLoop (shell_feed.go), if the job is a shell with integration, owns the blocking write of
//     the commands for the shell. The job's end ends it. One per interrupt of such a command, and
//     one per hint why it could not be run (exec.go, end.go), end by themselves.
//
// The job's state belongs to the goroutine that holds the turn (actor.go). A turn never blocks. The
// goroutine that posts a message takes the turn itself: the one that reads requests, a readLoop,
// the follower, or the one that receives the keeper's messages. Otherwise run takes it. On a
// machine with few processors, waking up another goroutine costs more than a turn: this way a typed
// key, its echo and the match of a prompt pass through the server without a wakeup.
//
// # Shells
//
// A shell with integration (package shellmark) reports by marks in its output when it reads a line,
// when a command begins and when it has ended. The readLoop removes these marks and leaves them,
// with their offsets, for a turn, which derives the state of the shell from them (shell.go). A
// command of [Job.Exec] waits until the shell reads (exec.go). Then it is written into a pipe, and
// keys are typed that make the shell read the pipe (shell_feed.go). Its wait is armed when it
// begins, and input that is typed after it is held until then (shell_reading.go).
//
// # The screen
//
// A terminal job's output is drawn on demand (package view): for job/screen, for patterns on the
// screen, for screen change events and for queries that only the drawn screen answers. displayPart
// owns the job's view and calls it in goroutines of its own (8 and 9 above), so that neither the
// readLoop nor a turn waits for drawing. If the view is far behind, it draws only the newest
// output. It exists as long as the job is known.
//
// # Waiting for input
//
// The server detects whether a job waits for input by the operations on which its processes block
// (package inputwait). It probes if there is a consumer: a client that gets events of it, a wait
// for it, job/get, a write that is meant for one wait, a client that is asked for passwords, a wait
// that times out, a match that more output could change, or a shell that is to take a command. For
// these, probes follow output and input closely at first, and then at growing intervals. Without a
// consumer it probes a quiet job at long intervals if info.json is kept, which names the jobs that
// wait (waiting.go). A probe counts if neither output nor input came meanwhile.
//
// # Environment
//
// The environment of jobs is an immutable value, and a change makes a new one: a start uses the one
// that was in effect when the start was read (environment.go). If the login shell is asked for it
// (login.go), starts wait in their own goroutines (start.go). Requests for the environment or
// for the list of shells wait as well, but nothing else does.
//
// # Files
//
// Output is in memory, and as a rule in files as well. No file work delays a start: the readLoop
// makes a stream's file with its first byte, and info.json is written later. The readLoop writes
// info.json, too, before the file drops output (recordRing). A stalled disk blocks the affected
// stream and the job's closed event. It never blocks the loop, a kill or shutdown. A recording
// comes after all of that: a slow disk under it delays only the closed event.
//
// A server holds the lock of its directory while it lives. So the next server knows which of the
// others are dead, completes their directories, and deletes as much as retention requires (package
// stored).
//
// # Secrets
//
// Secret values (redaction.go) are removed from output before it is stored, and from all reports on a
// job (redaction.go) when they are made. So no other code has to know of them. The readLoop holds
// back output that may be the beginning of a secret value. Until it is released it counts as output
// that has not come.
//
// # Ending without help
//
// Kill and Shutdown need nothing that a job can hold: no lock of a job is taken under the manager's
// lock, and the loop does no I/O. A loop that is stuck all the same is bypassed (giveUp). That is
// safe, because its keeper kills the tree as soon as the server's end of its socket is gone.
package jobs
