package keeper

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Keeper is the server's side of one job, and of the keeper process while it serves that job. Its methods may be
// called from any goroutine.
type Keeper struct {
	// Immutable:
	host   *host
	number int // of the job, among those of the host
	pid    int // of the command; set by readLoop before started

	commanded atomic.Bool     // the start was sent
	answered  bool            // readLoop's own: the keeper answered the start
	exited    bool            // readLoop's own: it reported the command's exit
	ended     bool            // readLoop's own: it reported that nothing is left
	forgotten bool            // readLoop's own: it reported that it has given up the job
	started   chan startReply // from readLoop -> start; buffered, closed if there is none
	queue     *eventQueue     // from readLoop -> the consumer of Events
	done      chan struct{}   // closed by readLoop, through over

	mu      sync.Mutex
	seq     int                        // of the last signal
	waiting map[int]chan syscall.Errno // signals without an answer yet; nil when over
}

// A startReply is the keeper's answer: pid, or stage and errno.
type startReply struct {
	pid   int
	stage string
	errno syscall.Errno
}

func newKeeper(h *host, number int) *Keeper {
	return &Keeper{
		host: h, number: number,
		started: make(chan startReply, 1), queue: newEventQueue(), done: make(chan struct{}),
		waiting: make(map[int]chan syscall.Errno),
	}
}

// PID returns the command's process ID. It is valid only until Exited.
func (k *Keeper) PID() int { return k.pid }

// Process returns the keeper's own process ID, which is also the ID of the job's session. After Done it may belong to
// another job.
func (k *Keeper) Process() int { return k.host.proc.Pid }

// Events returns the channel of the job's events, in order. The channel is closed after Empty or Lost, at Done. The
// consumer must receive until then, but may do so late.
func (k *Keeper) Events() <-chan Event { return k.queue.out }

// Notify registers f, which is called whenever there is something to receive from Events, and when Events is closed:
// for a consumer that does not block on Events. f is called on goroutines of this package, and must not wait for a
// Keeper.
func (k *Keeper) Notify(f func()) { k.queue.notify(f) }

// Done returns a channel that is closed when the keeper process has nothing of the job any more: it has released the
// terminal and waits for another job, or it was reaped. After the Pool was closed, it is always the latter.
func (k *Keeper) Done() <-chan struct{} { return k.done }

// Kill ends the job: it sends TERM to every process, and after the grace period KILL until nothing is left. It returns
// at once; a Killed event reports when this is done, and Empty follows if nothing was left. A Kill during another one
// joins it: the shorter grace counts, force is added to a kill without it (and sets the grace anew), and there is one
// report for both. A Kill that finds the job empty already gets no report: Empty is the answer.
//
// The error is ErrGone, or reports that the keeper does not take commands.
func (k *Keeper) Kill(o KillOptions) error {
	k.mu.Lock()
	over := k.waiting == nil
	k.mu.Unlock()
	if over {
		return ErrGone
	}
	if k.host.endStanding(k) {
		return nil
	}
	// If the keeper has its next job already, it drops this by the number.
	return k.command(encodeKill(k.number, o), "kill")
}

func (k *Keeper) command(message []byte, what string) error {
	err := k.host.sock.send(message)
	switch {
	case err == nil:
		return nil
	case isGone(err):
		return ErrGone
	}
	return fmt.Errorf("send %s to keeper %d: %w", what, k.host.proc.Pid, err)
}

// Signal sends a signal to some of the job's processes, and returns when it was sent. The error wraps ESRCH if the
// target has no process, and EPERM if it may not be signalled. It is ErrGone if the job is over.
func (k *Keeper) Signal(target Target, sig syscall.Signal) error {
	k.mu.Lock()
	if k.waiting == nil {
		k.mu.Unlock()
		return ErrGone
	}
	k.seq++
	seq := k.seq
	answer := make(chan syscall.Errno, 1)
	k.waiting[seq] = answer
	k.mu.Unlock()

	message := encodeSignal(k.number, seq, target, sig)
	if err := k.command(message, "signal"); err != nil {
		k.answer(seq, 0)
		return err
	}
	errno, ok := <-answer
	switch {
	case !ok:
		return ErrGone
	case errno != 0:
		return fmt.Errorf("send signal %d to the %s of job %d: %w", int(sig), target, k.pid, errno)
	}
	return nil
}

func (k *Keeper) answer(seq int, errno syscall.Errno) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if answer := k.waiting[seq]; answer != nil {
		answer <- errno
		delete(k.waiting, seq)
	}
}

// start sends the command, and waits until it runs. If isGone reports true for the error, the keeper had ended before
// it could take the command.
func (k *Keeper) start(cmd Command) error {
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	if len(cmd.Argv) == 0 {
		cmd.Argv = []string{cmd.Path}
	}
	flags, fds := startFDs(cmd)
	text := encodeCommand(cmd)
	if len(text) > maxInPacket {
		memfd, err := commandFile(text)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(memfd) }()
		flags, fds, text = flags|startCommand, append([]int{memfd}, fds...), nil
	}
	k.commanded.Store(true)
	message := appendInt(appendInt([]byte{opStart}, k.number), flags)
	err := k.host.sock.send(append(message, text...), fds...)
	runtime.KeepAlive(cmd) // Until here the garbage collector must not close the files.
	if err != nil {
		return err
	}
	reply, ok := <-k.started
	switch {
	case !ok:
		return &StartError{Stage: StageKeeper, Errno: unix.EIO, Path: cmd.Path, Killed: true}
	case reply.errno != 0:
		return failedStart(cmd, reply)
	}
	return nil
}

func failedStart(cmd Command, reply startReply) error {
	e := &StartError{Stage: reply.stage, Errno: reply.errno, Path: cmd.Path}
	switch {
	case e.Stage == StageChdir:
		e.Path = cmd.Dir
	case e.Stage == StageExec && e.Errno == unix.ENOENT:
		e.MissingInterpreter = missingInterpreter(cmd.Path, cmd.Dir)
	}
	return e
}

// commandFile writes the command, which may be megabytes long, to a file in memory.
func commandFile(text []byte) (int, error) {
	memfd, err := unix.MemfdCreate("shelld job", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("make a file in memory: %w", err)
	}
	for len(text) > 0 {
		n, err := unix.Write(memfd, text)
		if err != nil && err != unix.EINTR {
			_ = unix.Close(memfd)
			return -1, fmt.Errorf("write a file in memory: %w", err)
		}
		text = text[max(n, 0):]
	}
	return memfd, nil
}

// startFDs lists the descriptors to send to the keeper. Fd puts them into blocking mode.
func startFDs(cmd Command) (flags int, fds []int) {
	for i, f := range []*os.File{cmd.Terminal, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Directory} {
		if f != nil {
			flags |= startTerminal << i
			fds = append(fds, int(f.Fd()))
		}
	}
	return flags, fds
}

// over ends the job: callers that wait for an answer of the keeper get ErrGone, and Events and Done are closed.
func (k *Keeper) over() {
	k.mu.Lock()
	for _, answer := range k.waiting {
		close(answer)
	}
	k.waiting = nil
	k.mu.Unlock()
	close(k.started)
	close(k.done)
	k.queue.end()
}
