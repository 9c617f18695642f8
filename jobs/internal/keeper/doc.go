// Package keeper runs each job under a small process of its own, the keeper,
// so that the kernel itself says when nothing of the job is alive.
//
// A keeper is a re-exec of the server's binary, of which it runs nothing but this
// package: it goes no further than its init. It is the session leader that
// owns the job's terminal, and a child subreaper: whatever the job starts
// (children, other process groups and sessions, daemonised orphans) ends up as
// the keeper's child when its own parent dies. Hence waitid answering ECHILD is
// proof that the job is over, which no scan of /proc is: a process that forks
// and exits in a loop is never in the list when it is read. The command is not
// the session leader, so that `cmd &` outlives it, Ctrl-Z stops it, and nobody
// is hung up on when it ends.
//
// To end a job its processes have to be listed. Keeper and server each keep the file open that
// lists their own children (tree_linux.go): it can be read when no descriptor is left, and it has
// children that /proc hides from their own user (hidepid). What lies below a process whose list cannot
// be read becomes such a child when that process has ended. An error of a list is never taken for an
// empty list: a report of a job that is not over names at least one survivor.
//
// # Processes
//
//	server (Pool, Keeper) ==SEQPACKET socket== keeper --fork/exec--> command
//
// The server is a child subreaper as well. It gets the orphans of a keeper that
// was killed, and ends them before it tells of the loss ([Lost]). A server must
// therefore start no process with a session of its own except through a Pool:
// a child of ours in a foreign session is taken for such an orphan.
// When the server dies, its end of the socket closes, and the keeper kills the
// job and exits. A stopped keeper is woken for that by its parent-death signal.
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
//	Limited                         more processes than there may be
//	Kill: TERM, grace, KILL ...     Killed with what became of each process
//	Empty                           ECHILD
//	  keeper: TIOCNOTTY, forget     or exit, if it is not sure to be as new
//	  ready                         a spare again, or ended if there are enough; Events is closed
//
// # From one job to the next
//
// ECHILD proves that nobody is left who could do anything to the next job. What the
// keeper itself has of a job is its terminal, with a descriptor of it, and its [job],
// and it gives up both. The directory it leaves right after the fork, and the
// environment it never takes on. What a job can do to its keeper from outside (stop
// it, set its limits or priorities) is looked for after each job, by the server and
// by the keeper, and ends the keeper. So does the garbage of many jobs: a keeper
// collects none, because that alone would cost a fifth of its memory. A signal that others sent it is caught and means
// nothing. What the server sent for the job when it was over already is dropped by
// the job's number.
//
// # Goroutines of the server
//
//  1. Pool.warm: one at most, starts a spare; ends by itself.
//  2. host.readLoop, one per keeper: reads the socket until the keeper ended,
//     closes each job's Events, reaps the keeper. Ends with the keeper; it never
//     waits for the consumer of Events.
//  3. Pool.guard, one from a Pool's first keeper to its last: wakes keepers that
//     were stopped, and sees that one has ended whose socket somebody else holds.
//  4. Pool.watchEnds, as long as the guard: sees by its pidfd that a keeper has ended whose
//     zombie a tracer holds.
//  5. eventQueue.pump, while the consumer of Events lags: owns the send that
//     blocks. Ends when the consumer has caught up.
//
// # Goroutines of the keeper
//
//  1. main, locked to the main thread (the command's parent-death signal is
//     bound to the thread that forks): reads the socket, starts the command,
//     passes signals on.
//  2. reap, one per job: waitid without taking the status, then, under the reap
//     lock, wait4; at ECHILD it makes the keeper as new.
//  3. runKill, while a kill goes on: waits out the grace, in which it looks for what TERM
//     has missed, then sweeps. It sees under the lock that its job is over, and does
//     nothing after that.
//  4. countProcesses, one per job with such a limit: looks every now and then, and
//     ends, a pause later at most, with its job.
//
// Everything in the keeper that looks at a pid and then signals it does so under
// the reap lock (keeper.mu): a child that is not reaped keeps its pid.
//
// # What is not covered
//
// A server and its keepers that are killed in the same instant by a stranger; a
// process of another user under an unprivileged server, which is told as a
// survivor; a job that stops its keeper again and again when the server, which
// alone can wake the keeper each time, is killed, or one that stops or kills it after that;
// and a job that takes its keeper over, as any process of the same user may where the system
// lets him trace those that are not below him (kernel.yama.ptrace_scope is 0) and root may
// anyway: by its memory, or by a copy of its socket. Such a job can lie about itself, and can
// take what is meant for the keeper. What it cannot do is to hide behind a keeper that it has
// killed or stopped, or to cost the server memory or a goroutine: a keeper that says what
// none says is ended, as one is that stands still in somebody's trace when its job is to be
// ended, and then the server ends the job by itself.
package keeper
