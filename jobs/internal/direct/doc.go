// Package direct runs jobs on systems that have no keeper: the server itself is the parent of each job's command. It
// serves macOS and Windows; package keeper serves Linux, and has the types that both share.
//
// # macOS
//
// The command leads a session of its own, and owns the job's terminal. There is no child subreaper, so the system keeps
// no record of the job that an orphan belonged to. A job's processes are found by a scan of the list of all processes
// ([family]):
//
//   - those in the command's session,
//   - those below a process of the job, with the sessions that they have begun,
//   - those that an earlier scan has found, as long as they live.
//
// The list is scanned when something depends on it: when the command has ended, when a kill or a signal to the tree is
// requested, and then whenever a process ends that was found. While a command just runs, there are no scans.
//
// A process that has left the session and lost its parent before the first scan (a daemon made by forking twice with a
// setsid between) is neither found, nor reported, nor ended.
//
// # The life of one job there
//
//	Pool.Start            forks and executes: session, terminal, foreground
//	SIGCHLD -> Job.run    wait4 for the command alone: Exited, Stopped, Continued
//	while it is stopped   its state, at intervals: no SIGCHLD reports that it continues
//	Exited                with the result of the scan; kqueue reports when each of them ends
//	Kill: TERM, grace, KILL, scan, KILL ... Killed with the result for each process
//	Empty                 the command was reaped, and scans in a row have found no process
//
// Empty rests on scans, not on proof: each of them may miss a process that forks and exits in a loop. When the server
// is killed, the kernel hangs up the terminals of its jobs, which ends most of the processes that run on them. Nothing
// ends jobs on pipes then.
//
// # Windows
//
// A job is a job object of the kernel, into which the command is put before its first instruction. Nothing leaves it:
// all processes that the command starts are in it, the kernel counts them, and ends all of them when the last handle is
// closed, which is the server's. There are no signals, so that a kill has no gentle part. Notifications of the kernel
// may be lost: once the command has ended or the job was killed, the object is also inspected at intervals.
//
// # Test coverage
//
// Everything in files without a system's name is tested on Linux: with a fake system, and with real processes, for
// which Linux plays the part of macOS (system_linux.go; no server uses it). The files named for macOS and Windows are
// built and vetted, and were never run by the tests of this repository.
//
// # Goroutines
//
//  1. Job.run, one per job: owns its state, never blocks. Ends with the job.
//  2. Pool.children, from a Pool's first job to its last: passes SIGCHLD on.
//  3. watcher.run (macOS), one per process: kqueue, from the first watched process on.
//  4. On Windows one per job that waits for the command, and one per Pool that receives
//     the kernel's notifications of empty job objects.
package direct
