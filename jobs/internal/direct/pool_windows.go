package direct

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sys/windows"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A Job is a running command, with the processes that it has started.
type Job = contained

// A Pool starts jobs.
//
// Goroutines: listen, from the first job on; it ends when the Pool is closed and no job is left. One for each job,
// which waits for the command.
type Pool struct {
	log *slog.Logger

	mu     sync.Mutex
	port   windows.Handle   // receives the kernel's notifications of empty objects; 0 before the first job
	jobs   map[uintptr]*Job // that are not over, by the number in the kernel's notifications
	last   uintptr          // the number given last; 0 is never given to a job
	closed bool
}

// NewPool returns a Pool. If log is nil, nothing is logged.
func NewPool(log *slog.Logger) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Pool{log: log, jobs: map[uintptr]*Job{}}
}

// Start runs the command, and returns once it was resumed. The error is a *keeper.StartError if the command caused it,
// and keeper.ErrClosed once the Pool is closed; after an error no process is left. There must be no Terminal.
//
// The caller must receive from the Job's Events until the channel is closed.
func (p *Pool) Start(cmd keeper.Command) (*Job, error) {
	if len(cmd.Argv) == 0 {
		cmd.Argv = []string{cmd.Path}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, keeper.ErrClosed
	}
	if err := p.listenFirst(); err != nil {
		return nil, fmt.Errorf("listen to job objects: %w", err)
	}
	p.last++
	number := p.last
	o, err := newJobObject(p.port, number)
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	child, err := createIn(o, cmd)
	if err != nil {
		o.close()
		return nil, err
	}
	j := newContained(p.log, int(child.ProcessId), o, func() { p.leave(number) })
	p.jobs[number] = j
	go p.await(j, child.Process)
	return j, nil
}

// await reports the command's end. Its handle is held until then: a pid is not reused while one is open.
func (p *Pool) await(j *Job, process windows.Handle) {
	defer func() { _ = windows.CloseHandle(process) }() // Nothing is written by it.
	if _, err := windows.WaitForSingleObject(process, windows.INFINITE); err != nil {
		p.log.Error("cannot wait for a command", "job", j.pid, "err", err)
	}
	var code uint32
	if err := windows.GetExitCodeProcess(process, &code); err != nil {
		p.log.Error("cannot read a command's exit status", "job", j.pid, "err", err)
	}
	j.leaderEnded(code)
}

// listenFirst makes the port. The caller holds p.mu.
func (p *Pool) listenFirst() error {
	if p.port != 0 {
		return nil
	}
	port, err := windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 1)
	if err != nil {
		return err
	}
	p.port = port
	go p.listen(port)
	return nil
}

// activeProcessZero is JOB_OBJECT_MSG_ACTIVE_PROCESS_ZERO.
const activeProcessZero = 4

// listen passes on the kernel's notifications, which may be lost: each job checks its object at intervals as well.
func (p *Pool) listen(port windows.Handle) {
	for {
		var message uint32
		var number uintptr
		var pid *windows.Overlapped // set if the message is about one process
		err := windows.GetQueuedCompletionStatus(port, &message, &number, &pid, windows.INFINITE)
		if err != nil {
			p.log.Error("no more messages from the job objects; running ones are polled instead", "err", err)
			p.deaf(port)
			return
		}
		if number == 0 { // our own, from end
			_ = windows.CloseHandle(port) // Nothing is written by it.
			return
		}
		p.mu.Lock()
		j := p.jobs[number]
		p.mu.Unlock()
		if j != nil && message == activeProcessZero {
			j.emptied()
		}
	}
}

// deaf closes a port that no longer works. The next job gets another; the running ones check their objects themselves.
func (p *Pool) deaf(port windows.Handle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.port == port {
		p.port = 0
	}
	_ = windows.CloseHandle(port) // Nothing is written by it.
}

func (p *Pool) leave(number uintptr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jobs, number)
	p.end()
}

// end ends listen if it is no longer needed. The caller holds p.mu.
func (p *Pool) end() {
	if !p.closed || len(p.jobs) > 0 || p.port == 0 {
		return
	}
	if err := windows.PostQueuedCompletionStatus(p.port, 0, 0, nil); err != nil {
		p.log.Error("cannot stop the listener to job objects", "err", err)
	}
	p.port = 0
}

// Warm does nothing: a start has nothing to prepare.
func (p *Pool) Warm() {}

// Close makes every later Start fail. It does not touch jobs.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.end()
}

// startError turns an error of the system into a *keeper.StartError.
func startError(cmd keeper.Command, stage string, err error) error {
	e := &keeper.StartError{Stage: stage, Path: cmd.Path, Errno: errnoOf(err)}
	if isShortage(e.Errno) {
		e.Stage = keeper.StageResource
	}
	if errors.Is(err, windows.ERROR_DIRECTORY) {
		e.Stage, e.Path = keeper.StageChdir, cmd.Dir
	}
	return e
}
