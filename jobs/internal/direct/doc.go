// Package direct runs jobs where there can be no keeper: the server itself is the
// parent of each job's command. It serves macOS and Windows; package keeper serves
// Linux, and has the types that both share.
//
// # macOS
//
// The command leads a session of its own, and owns the job's terminal. There is no
// child subreaper, so whose process an orphan was is nowhere written down. A job's
// processes are found by a look at the list of all processes ([family]):
//
//   - those in the command's session,
//   - those below a process of the job, with the sessions that they have begun,
//   - those that an earlier look has found, as long as they live.
//
// The list is looked at when something depends on it: when the command has ended,
// when a kill or a signal to the tree is asked for, and then whenever a process ends
// that was found. While a command just runs, nobody looks.
//
// What has left the session and lost its parent before the first look (a daemon made
// by forking twice with a setsid between) is not found, not told, and not ended.
//
// # The life of one job there
//
//	Pool.Start            forks and executes: session, terminal, foreground
//	SIGCHLD -> Job.run    wait4 for the command alone: Exited, Stopped, Continued
//	while it is stopped   its state, from time to time: no SIGCHLD tells that it goes on
//	Exited                with what the look has found; kqueue tells when each of them ends
//	Kill: TERM, grace, KILL, look, KILL ... Killed with what became of each
//	Empty                 the command was reaped, and looks in a row have found nobody
//
// Empty rests on looks, not on proof: a process that forks and exits in a loop may be
// missed by each of them. When the server is killed, the kernel hangs up the terminals
// of its jobs, which ends most of what runs on them. Nothing ends jobs on pipes then.
//
// # Windows
//
// A job is a job object of the kernel's, into which the command is put before its
// first instruction. Nothing leaves it: what the command starts is in it, the kernel
// counts who is, and ends all of them when the last handle is closed, which is the
// server's. There are no signals, so that a kill has no gentle part. What the kernel
// tells may be lost: once the command has ended or the job was killed, the object is
// looked at from time to time as well.
//
// # What is tested where
//
// Everything in files without a system's name is tested on Linux: by a fake system, and
// by real processes, for which Linux plays the part of macOS (system_linux.go; no
// server uses it). What is in files named for macOS and Windows is built and vetted, and was never
// run by the tests of this repository.
//
// # Goroutines
//
//  1. Job.run, one per job: owns its state, never blocks. Ends with the job.
//  2. Pool.children, from a Pool's first job to its last: passes SIGCHLD on.
//  3. watcher.run (macOS), one per process: kqueue, from the first watched process on.
//  4. On Windows one per job that waits for the command, and one per Pool that hears
//     from the kernel who has become empty.
package direct
