//go:build !linux

package keeper

import "syscall"

// Other systems have no child subreaper, and so no proof that a job is over. These types exist so that the server
// builds, and reports an error when a job is started.

// A Pool starts nothing on this platform.
type Pool struct{}

// NewPool returns a Pool whose Start always fails.
func NewPool(PoolOptions) *Pool { return &Pool{} }

// Start returns a *StartError for which errors.Is(err, errors.ErrUnsupported) is true.
func (p *Pool) Start(cmd Command) (*Keeper, error) {
	return nil, &StartError{Stage: StageKeeper, Errno: syscall.ENOSYS, Path: cmd.Path}
}

// Warm does nothing.
func (p *Pool) Warm() {}

// Close does nothing.
func (p *Pool) Close() {}

// A Keeper is never made on this platform.
type Keeper struct{}

// PID returns 0.
func (k *Keeper) PID() int { return 0 }

// Process returns 0.
func (k *Keeper) Process() int { return 0 }

// Events returns nil.
func (k *Keeper) Events() <-chan Event { return nil }

// Notify never calls f.
func (k *Keeper) Notify(f func()) {}

// Done returns nil.
func (k *Keeper) Done() <-chan struct{} { return nil }

// Kill returns ErrGone.
func (k *Keeper) Kill(KillOptions) error { return ErrGone }

// Signal returns ErrGone.
func (k *Keeper) Signal(Target, syscall.Signal) error { return ErrGone }
