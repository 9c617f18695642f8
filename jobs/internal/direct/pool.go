//go:build linux || darwin

package direct

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A Pool starts jobs.
type Pool struct {
	// Immutable:
	log *slog.Logger
	sys system

	mu     sync.Mutex
	jobs   map[*Job]bool // that are not over
	closed bool
	stop   chan struct{} // closed when jobs becomes empty
}

// NewPool returns a Pool. If log is nil, nothing is logged.
func NewPool(log *slog.Logger) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	closeOnExec()
	return newPool(log, newSystem(log))
}

func newPool(log *slog.Logger, sys system) *Pool {
	return &Pool{log: log, sys: sys, jobs: map[*Job]bool{}}
}

// Start runs the command, and returns once it was executed. The error is a *keeper.StartError, or keeper.ErrClosed;
// after an error no process is left.
//
// The caller must receive from the Job's Events until the channel is closed.
func (p *Pool) Start(cmd keeper.Command) (*Job, error) {
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	if len(cmd.Argv) == 0 {
		cmd.Argv = []string{cmd.Path}
	}
	j := newJob(p)
	if !p.enter(j) {
		return nil, keeper.ErrClosed
	}
	err := j.start(cmd)
	if err != nil {
		p.leave(j)
		return nil, err
	}
	go j.run()
	return j, nil
}

// enter adds a job. It begins to listen to SIGCHLD before the first job can cause one. It returns false if the Pool is
// closed.
func (p *Pool) enter(j *Job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if len(p.jobs) == 0 {
		p.stop = make(chan struct{})
		heard := make(chan os.Signal, 1) // One is enough: the receiver checks all.
		signal.Notify(heard, syscall.SIGCHLD)
		go p.children(heard, p.stop)
	}
	p.jobs[j] = true
	return true
}

func (p *Pool) leave(j *Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jobs, j)
	if len(p.jobs) > 0 {
		return
	}
	close(p.stop)
	if p.closed {
		p.sys.close()
	}
}

// children wakes all jobs when the status of any child has changed.
func (p *Pool) children(heard chan os.Signal, stop chan struct{}) {
	defer signal.Stop(heard)
	for {
		select {
		case <-heard:
			p.mu.Lock()
			for j := range p.jobs {
				j.poke()
			}
			p.mu.Unlock()
		case <-stop:
			return
		}
	}
}

// Warm does nothing: a start has nothing to prepare.
func (p *Pool) Warm() {}

// Close makes every later Start fail. It does not touch jobs.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := len(p.jobs) == 0
	p.mu.Unlock()
	if idle {
		p.sys.close()
	}
}
