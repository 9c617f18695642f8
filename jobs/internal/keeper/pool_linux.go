package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Pool starts keepers, and keeps one spare warm, since a keeper's own start
// takes several times as long as the command's.
type Pool struct {
	log *slog.Logger

	// spawning is held while a keeper is forked and its pid entered, and while
	// orphans are told from keepers by that entry.
	spawning sync.Mutex
	keepers  map[int]*Keeper // by the pid of the keeper, reaped ones taken out
	// stopGuard is closed when keepers becomes empty.
	stopGuard chan struct{}

	sweeping sync.Mutex // held by endOrphans

	mu      sync.Mutex
	spare   *Keeper // or nil
	warming bool
	closed  bool
	warmers sync.WaitGroup
}

// NewPool returns a Pool without a spare; Warm or the first Start makes one. It
// makes this process a child subreaper, for good.
func NewPool(opts PoolOptions) *Pool {
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		log.Warn("become a child subreaper: jobs whose keeper is killed may outlive it", "err", err)
	}
	return &Pool{log: log, keepers: make(map[int]*Keeper)}
}

// Start runs the command under a keeper, and returns once it was executed. The
// error is a *StartError, or ErrClosed; after an error nothing is left.
//
// The caller must receive from the Keeper's Events until the channel is closed.
func (p *Pool) Start(cmd Command) (*Keeper, error) {
	k, err := p.take()
	if err != nil {
		return nil, startError(cmd, StageKeeper, err)
	}
	err = k.start(cmd)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed) {
		// Somebody killed the spare while it waited. It never saw the command;
		// of one that did, nobody knows how far it came, so that is an error.
		<-k.done
		if k, err = p.spawn(); err == nil {
			err = k.start(cmd)
		}
	}
	p.Warm()
	if err != nil {
		if k != nil {
			k.abandon()
		}
		return nil, startError(cmd, StageKeeper, err)
	}
	return k, nil
}

// startError makes a *StartError of an error that is none yet.
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

// take returns the spare, or a new keeper.
func (p *Pool) take() (*Keeper, error) {
	p.mu.Lock()
	k := p.spare
	p.spare = nil
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if k != nil {
		return k, nil
	}
	return p.spawn()
}

// Warm starts a spare keeper in the background if there is none.
func (p *Pool) Warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.warming || p.spare != nil {
		return
	}
	p.warming = true
	p.warmers.Go(p.warm)
}

func (p *Pool) warm() {
	k, err := p.spawn()
	if err != nil {
		p.log.Warn("start a spare keeper", "err", err)
	}
	p.mu.Lock()
	p.warming = false
	if !p.closed {
		p.spare, k = k, nil
	}
	p.mu.Unlock()
	if k != nil {
		k.abandon()
	}
}

// Close ends the spare, and makes every later Start fail. It does not touch the
// keepers of jobs: whoever started those waits for their Done.
func (p *Pool) Close() {
	p.mu.Lock()
	k := p.spare
	p.spare, p.closed = nil, true
	p.mu.Unlock()
	p.warmers.Wait()
	if k != nil {
		k.abandon()
	}
}

// keeperEnv is a keeper's whole environment; the command has its own.
var keeperEnv = []string{"GOGC=off", "GOMAXPROCS=2"}

// spawn starts a keeper process, which waits for its command.
func (p *Pool) spawn() (*Keeper, error) {
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
	// The image that runs, even if the file has been replaced since.
	proc, err := os.StartProcess("/proc/self/exe", []string{processName}, &os.ProcAttr{
		Dir:   "/",
		Env:   keeperEnv,
		Files: []*os.File{null, null, os.Stderr, theirs}, // a crash should be seen
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		p.endGuard()
		sock.close()
		return nil, fmt.Errorf("start a keeper process: %w", err)
	}
	k := newKeeper(p, proc, sock)
	p.keepers[proc.Pid] = k
	go k.readLoop()
	return k, nil
}

// forget takes a reaped keeper out, unless its pid is another's by now.
func (p *Pool) forget(k *Keeper) {
	p.spawning.Lock()
	defer p.spawning.Unlock()
	if p.keepers[k.proc.Pid] == k {
		delete(p.keepers, k.proc.Pid)
		p.endGuard()
	}
}
