package direct

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sys/windows"

	"shelld/jobs/internal/keeper"
)

// A Job is a command that runs, and what it has started.
type Job = contained

// A Pool starts jobs.
//
// Goroutines: listen, from the first job on; it ends when the Pool is closed and no job
// is left. One for each job, which waits for the command.
type Pool struct {
	log *slog.Logger

	mu     sync.Mutex
	port   windows.Handle   // where the kernel tells who has become empty; 0 before the first job
	jobs   map[uintptr]*Job // that are not over, by the number that the kernel tells them by
	last   uintptr          // the number given last; 0 is no job's
	closed bool
}

// NewPool returns a Pool. A nil log means that nothing is logged.
func NewPool(log *slog.Logger) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Pool{log: log, jobs: map[uintptr]*Job{}}
}

// Start runs the command, and returns once it was let run. The error is a
// *keeper.StartError where that is the command's, and keeper.ErrClosed once the Pool is
// closed; after an error nothing is left. There must be no Terminal.
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

// await tells of the command's end. Its handle is held until then: a pid is not given
// away while one is open.
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

// listen passes on what the kernel tells, of which it does not promise that all arrives:
// each job looks for itself as well, now and then.
func (p *Pool) listen(port windows.Handle) {
	for {
		var message uint32
		var number uintptr
		var pid *windows.Overlapped // where it tells of one process
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

// deaf lets go of a port that tells nothing any more. The next job gets another; those
// that run look for themselves.
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

// end ends listen where nobody will need it. The caller holds p.mu.
func (p *Pool) end() {
	if !p.closed || len(p.jobs) > 0 || p.port == 0 {
		return
	}
	if err := windows.PostQueuedCompletionStatus(p.port, 0, 0, nil); err != nil {
		p.log.Error("cannot stop the listener to job objects", "err", err)
	}
	p.port = 0
}

// Warm does nothing: there is nothing that a start could find ready.
func (p *Pool) Warm() {}

// Close makes every later Start fail. It does not touch jobs.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.end()
}

// startError makes a *keeper.StartError of what the system said.
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
