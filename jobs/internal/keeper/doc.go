// Package keeper runs each job under a small process of its own, the keeper, so that the kernel itself reports when no
// process of the job is alive.
//
// A keeper is a re-exec of the server's binary and runs only this package: it never gets past the package's init. It is
// the session leader that owns the job's terminal, and a child subreaper: every descendant of the job (children, other
// process groups and sessions, daemonised orphans) becomes a child of the keeper when its own parent dies. ECHILD from
// waitid is therefore proof that the job is over. A scan of /proc is no proof: a process that forks and exits in a loop
// is never in the list when the list is read. The command is not the session leader, so that `cmd &` outlives it,
// Ctrl-Z stops it, and its end hangs up no other process.
//
// To end a job, its processes must be listed. Keeper and server each keep open the file that lists their own children
// (tree_linux.go): it can be read when no descriptor is left, and it includes children that /proc hides from their own
// user (hidepid). The processes below one whose list cannot be read become such children when it ends. An error of a
// list is never treated as an empty list: a report of a job that is not over names at least one survivor.
//
// # Processes
//
//	server (Pool, Keeper) ==SEQPACKET socket== keeper --fork/exec--> command
//
// The server is a child subreaper as well. It inherits the orphans of a keeper that was killed, and ends them before it
// reports the loss ([Lost]). A server must therefore start processes with a session of their own only through a Pool: a
// child of the server in another session is treated as such an orphan. When the server dies, its end of the socket
// closes, and the keeper kills the job and exits. The parent-death signal wakes a stopped keeper for that.
//
// # The life of one job
//
//	Pool.Start                      takes a spare keeper, or starts one
//	  send start                    number of the job, {path, dir, argv, env} in a memfd, descriptors by SCM_RIGHTS
//	    keeper: TIOCSCTTY           -> StartError "terminal"
//	    keeper: chdir, or fchdir    -> StartError "chdir"
//	    keeper: fork, TIOCSPGRP     the command is the foreground group from the start
//	    keeper: exec                -> StartError "exec" or "resource"
//	      by way of the limiter     -> StartError "limits"; see limitexec_linux.go
//	  started {pid}                 Start returns; if no spare is left, one is started
//	Exited, Stopped, Continued      as wait reports them for the command
//	Limited                         more processes than the limit
//	Kill: TERM, grace, KILL ...     Killed, with the result for each process
//	Empty                           ECHILD
//	  keeper: TIOCNOTTY, forget     or exit, if the old state is not certain to be restored
//	  ready                         a spare again, or killed if there are enough; Events is closed
//
// # From one job to the next
//
// ECHILD proves that no process is left that could affect the next job. Of a job, the keeper itself has only the
// terminal, with a descriptor of it, and its [job] state, and it gives up both. It leaves the job's directory right
// after the fork, and never takes on the job's environment. After each job, server and keeper check for the changes
// that a job can make to its keeper from outside (stop it, set its limits or priorities), and end a changed keeper. The
// garbage of many jobs ends the keeper as well: a keeper collects none, because that alone would cost a fifth of its
// memory. Signals that other processes send to the keeper are caught without effect. If the server sends a message for
// a job that is already over, the keeper drops it by the job's number.
//
// # Goroutines of the server
//
//  1. Pool.warm: one at most, starts a spare; ends by itself.
//  2. host.readLoop, one per keeper: reads the socket until the keeper has ended,
//     closes each job's Events, reaps the keeper. Ends with the keeper; it never
//     waits for the consumer of Events.
//  3. Pool.guard, one from a Pool's first keeper to its last: wakes keepers that
//     were stopped, and detects the end of a keeper whose socket another process holds.
//  4. Pool.watchEnds, as long as the guard: detects by its pidfd the end of a keeper
//     whose zombie a tracer holds.
//  5. eventQueue.pump, while the consumer of Events lags: does the send that
//     blocks. Ends when the consumer has caught up.
//
// # Goroutines of the keeper
//
//  1. main, locked to the main thread (the command's parent-death signal is
//     bound to the thread that forks): reads the socket, starts the command,
//     passes signals on.
//  2. reap, one per job: waitid without taking the status, then, under the reap
//     lock, wait4; at ECHILD it resets the keeper.
//  3. runKill, while a kill is in progress: waits for the end of the grace period, during
//     which it looks for processes that missed TERM, then sweeps. When it sees under the
//     lock that its job is over, it does nothing more.
//  4. countProcesses, one per job with such a limit: counts at intervals, and ends at
//     most one interval after its job.
//
// Code in the keeper that checks a pid and then signals it holds the reap lock (keeper.mu) throughout: a child that is
// not reaped keeps its pid.
//
// # What is not covered
//
// A server and its keepers that another process kills in the same instant; a process of another user under an
// unprivileged server, which is reported as a survivor; a job that stops its keeper again and again while the server,
// which alone can wake the keeper each time, is killed, or one that stops or kills the keeper after that; and a job
// that takes over its keeper, through its memory or through a copy of its socket. Any process of the same user can do
// that if the system lets it trace processes that are not its descendants (kernel.yama.ptrace_scope is 0), and root
// always can. Such a job can report falsehoods about itself, and can take messages meant for the keeper. But it cannot
// hide behind a keeper that it has killed or stopped, nor cost the server memory or a goroutine: the server ends a
// keeper that sends a message that no keeper sends, and a keeper that a tracer holds stopped when its job is to be
// ended. Then the server ends the job itself.
package keeper
