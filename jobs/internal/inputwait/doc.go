// Package inputwait tells whether a job waits for input, by what its processes are
// blocked on: no prompt is recognised, and no silence taken for one where the system
// tells better.
//
// One look, on Linux:
//
//  1. Is there input that the job has not consumed, or output that was not stored? Then
//     it does not wait, whatever else is seen.
//  2. Who may read? On a terminal the processes of its foreground group: its leader
//     first, the last waiter, then the job's tree. On a pipe all of the job's.
//  3. What is each of their threads blocked in (/proc/PID/syscall)? A read of the input,
//     or a poll, select or epoll with the input among what it waits for (/proc/PID/mem,
//     fdinfo), or anything else, which says nothing.
//  4. Nobody? Then the processes that have left the session: they read without being in
//     the foreground.
//  5. Found: waiting for the input alone and without a timeout is exact; with a timeout
//     of a second or more likely; other sources, a short timeout, another thread that waits
//     for something else, or somebody of the job running meanwhile is listening, and believed
//     after some quiet. A timer among what is waited for is a timeout, and so is the time
//     after which the terminal ends a read. What wakes up only the process itself, such as a
//     pipe of which it has both ends, is no other source, unless another process of the job
//     has it open as well.
//  6. The first question again.
//
// A look does some thousand system calls at most. Where there is more to see it has not
// seen everybody, and nothing is exact. None of them asks a file system of the job's, which
// may never answer.
//
// What may be read of a process decides how much is seen of it (tier): the system call
// and the memory (1); where it sleeps and its descriptors (2); no more than that it
// sleeps (3), as with setuid programs. Where nothing is to be seen, or on other systems,
// quiet and the terminal's modes make a guess, and the verdict says so.
//
// A look that overlaps a write to the job, or that output overtakes, is about a moment
// that is over: who acts on it checks that nothing was written since the look began.
package inputwait
