package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSpares is the maximum number of keepers that wait for a job. Jobs in sequence need two: the next one starts before
// the last one's keeper is ready again.
const maxSpares = 4

// A Pool starts keepers, and has spares of them: the start of a keeper takes several times as long as the start of the
// command. A keeper whose job is over is a spare again.
type Pool struct {
	log *slog.Logger

	// spawning is held while a keeper is forked and its pid entered, and while orphans are distinguished from keepers
	// by that entry.
	spawning sync.Mutex
	keepers  map[int]*host // by the pid of the keeper, without reaped ones
	// stopGuard is closed when keepers becomes empty.
	stopGuard chan struct{}
	children  chan os.Signal // from the kernel, or lookAgain -> guard
	ends      *ends          // of those in keepers; nil if there are none, or it failed

	sweeping sync.Mutex // held by endOrphans

	kids *ownChildren // closed with the last host once the Pool is closed

	mu      sync.Mutex
	hosts   int     // number of hosts whose readLoop runs
	spares  []*host // the last one is used next: its memory is in the caches
	warming bool
	closed  bool
	warmers sync.WaitGroup
}

// NewPool returns a Pool without a spare; Warm or the first Start makes one. It makes this process a child subreaper,
// permanently.
func NewPool(opts PoolOptions) *Pool {
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		log.Warn("cannot become a child subreaper: jobs whose keeper is killed may outlive it", "err", err)
	}
	return &Pool{log: log, keepers: make(map[int]*host), kids: openOwnChildren()}
}

// Start runs the command under a keeper, and returns once it was executed. The error is a *StartError, or ErrClosed;
// after an error no process is left.
//
// The caller must receive from the Keeper's Events until the channel is closed.
func (p *Pool) Start(cmd Command) (*Keeper, error) {
	for {
		h, spare, err := p.take()
		if err != nil {
			return nil, startError(cmd, StageKeeper, err)
		}
		k, err := h.start(cmd)
		if spare && isGone(err) {
			// The spare was killed while it waited, and never saw the command. If it had, its progress would be
			// unknown: that is an error.
			<-h.gone
			continue
		}
		p.Warm()
		if err != nil {
			h.abandon()
			return nil, startError(cmd, StageKeeper, err)
		}
		return k, nil
	}
}

// startError turns err into a *StartError, unless it is one already or ErrClosed.
func startError(cmd Command, stage string, err error) error {
	var already *StartError
	if errors.Is(err, ErrClosed) || errors.As(err, &already) {
		return err
	}
	errno := unix.EIO
	errors.As(err, &errno)
	if execStage(errno) == StageResource {
		stage = StageResource
	}
	return &StartError{Stage: stage, Errno: errno, Path: cmd.Path}
}

// take returns a spare, or a new keeper.
func (p *Pool) take() (h *host, spare bool, err error) {
	p.mu.Lock()
	if n := len(p.spares); n > 0 {
		h = p.spares[n-1]
		p.spares = p.spares[:n-1]
	}
	closed := p.closed
	p.mu.Unlock()
	switch {
	case closed:
		return nil, false, ErrClosed
	case h != nil:
		return h, true, nil
	}
	h, err = p.spawn()
	return h, false, err
}

// keep makes a keeper without a job a spare, and returns false if there are enough or the Pool is closed.
func (p *Pool) keep(h *host) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.spares) >= maxSpares {
		return false
	}
	p.spares = append(p.spares, h)
	return true
}

// Warm starts a spare keeper in the background if there is none.
func (p *Pool) Warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.warming || len(p.spares) > 0 {
		return
	}
	p.warming = true
	p.warmers.Go(p.warm)
}

func (p *Pool) warm() {
	h, err := p.spawn()
	if err != nil {
		p.log.Warn("cannot start a spare keeper", "err", err)
	}
	p.mu.Lock()
	p.warming = false
	if h != nil && !p.closed && len(p.spares) < maxSpares {
		p.spares = slices.Insert(p.spares, 0, h) // None of its memory is in the caches yet.
		h = nil
	}
	p.mu.Unlock()
	if h != nil {
		h.abandon()
	}
}

// Close ends the spares, and makes every later Start fail. Of the keepers that have a job, it ends those that a tracer
// holds stopped. The caller that started the jobs waits for their Done; then their keepers have ended as well.
func (p *Pool) Close() {
	p.mu.Lock()
	spares := p.spares
	p.spares, p.closed = nil, true
	p.closeLists()
	p.mu.Unlock()
	p.warmers.Wait()
	for _, h := range spares {
		h.abandon()
	}
	p.spawning.Lock()
	defer p.spawning.Unlock()
	for _, h := range p.keepers {
		h.endStanding(h.job.Load())
	}
}

// keeperEnv is a keeper's whole environment; the command has its own. A keeper must be small: there may be hundreds. It
// collects garbage only at a limit that only a job of very many processes reaches, starts with the resources of one
// processor, and profiles nothing.
var keeperEnv = []string{"GOGC=off", "GOMEMLIMIT=24MiB", "GOMAXPROCS=1", "GODEBUG=memprofilerate=0"}

// spawn starts a keeper process, which waits for its command.
func (p *Pool) spawn() (*host, error) {
	sock, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		sock.close()
		return nil, err
	}
	defer func() { _ = null.Close() }()

	p.spawning.Lock()
	defer p.spawning.Unlock()
	if len(p.keepers) == 0 {
		p.startGuard()
	}
	// This is the running image, even if the file has been replaced since.
	proc, err := os.StartProcess("/proc/self/exe", []string{processName}, &os.ProcAttr{
		Dir:   "/",
		Env:   keeperEnv,
		Files: []*os.File{null, null, os.Stderr, theirs}, // stderr, to show a crash
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		p.endGuard()
		sock.close()
		if errors.Is(err, unix.EBADF) {
			// In the child, package syscall moves descriptors above the highest of these, and that number may be one
			// too many.
			err = unix.EMFILE
		}
		return nil, fmt.Errorf("start a keeper process: %w", err)
	}
	h := newHost(p, proc, sock)
	p.keepers[proc.Pid] = h
	p.watchEnd(proc)
	p.mu.Lock()
	p.hosts++
	p.mu.Unlock()
	go h.readLoop()
	return h, nil
}

// over is called by a host after it has ended the processes that its keeper has left.
func (p *Pool) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts--
	p.closeLists()
}

// closeLists closes kids once the Pool is closed and has no host. It is called with p.mu held.
func (p *Pool) closeLists() {
	if p.closed && p.hosts == 0 {
		p.kids.close()
	}
}

// forget removes a reaped keeper, unless its pid belongs to another by now.
func (p *Pool) forget(h *host) {
	p.mu.Lock()
	p.spares = slices.DeleteFunc(p.spares, func(spare *host) bool { return spare == h })
	p.mu.Unlock()
	p.spawning.Lock()
	defer p.spawning.Unlock()
	if p.keepers[h.proc.Pid] == h {
		delete(p.keepers, h.proc.Pid)
		p.lookAgain()
		p.endGuard()
	}
}

// SomeKeeper returns the process ID of one of the keepers, or 0 if there is none yet.
func (p *Pool) SomeKeeper() int {
	p.spawning.Lock()
	defer p.spawning.Unlock()
	for pid := range p.keepers {
		return pid
	}
	return 0
}
