// Package inputwait detects whether a job waits for input, from what its processes are blocked on. It recognises no
// prompts, and relies on silence only if the system gives no better answer.
//
// One probe, on Linux:
//
//  1. Is there input that the job has not consumed, or output that is not stored yet? Then it does not wait, whatever
//     else the probe finds.
//  2. Which processes may read? On a terminal those of its foreground process group: first its leader, then the last
//     waiter, then the job's tree. On a pipe all processes of the job.
//  3. What is each of their threads blocked in (/proc/PID/syscall)? In a read of the input; or in a poll, select or
//     epoll whose descriptors include the input (/proc/PID/mem, fdinfo); or in something else, which says nothing.
//  4. If none of them waits, the processes that have left the session: they read without being in the foreground.
//  5. If one waits: waiting for the input alone and without a timeout is exact; with a timeout of a second or more it
//     is likely. If there are other sources, a short timeout, another thread that waits for something else, or another
//     running process of the job, it is listening, and is believed after some quiet. A timer among the sources counts
//     as a timeout, and so does the time after which the terminal ends a read. A descriptor by which only the process
//     itself can wake itself up, such as a pipe of which it has both ends, is no other source, unless another process
//     of the job has it open as well.
//  6. The first question again.
//
// A probe makes a few thousand system calls at most. If there is more to see, it is incomplete, and its verdict is not
// exact. None of the calls accesses a file system that the job uses, because that may never answer.
//
// The permissions on a process decide how much is seen of it (tier): the system call and the memory (1); where it
// sleeps and its descriptors (2); only that it sleeps (3), as with setuid programs. If nothing can be seen, or on other
// systems, quiet and the terminal's modes yield a guess, and the verdict is marked as such.
//
// A verdict is outdated if the job was written to, or has printed, during or after the probe. Before acting on it, the
// caller must check that nothing was written since the probe began.
package inputwait
