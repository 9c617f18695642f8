package jobs

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/shellfiles"
)

// PlatformInfo describes the features of this machine's system for a server.
type PlatformInfo struct {
	Modes              []Mode
	Tree               string   // how a job is contained, as capabilities.treeControl.kind has it
	Reaches            []string // the processes that a kill reaches
	NotReached         []string // the processes that it does not reach
	SurvivesServer     bool     // whether processes of a job can outlive the server
	CanonicalLineLimit int      // bytes of a line before the terminal drops its end; 0 = not known
}

// The ways to find a job's processes.
const (
	treeKeeper  = "keeper"    // the kernel reparents them to a process of ours
	treeObject  = "jobObject" // the kernel keeps them in an object of ours
	treeSession = "session"   // the server searches for them
	treeNone    = "none"      // there are no jobs
)

// Platform returns the features of this machine's system for a manager.
func (m *services) Platform() PlatformInfo { return m.system.platform }

// A starter runs commands and contains the processes that they start. Linux has package keeper for it, macOS and
// Windows have package direct, and other systems have none.
type starter interface {
	Start(keeper.Command) (process, error) // *keeper.StartError, or keeper.ErrClosed
	Warm()
	Close()
}

// ShellIntegration returns the shell families that can have the integration on this system.
func ShellIntegration() []string {
	if !shellfiles.Supported {
		return []string{}
	}
	return []string{"bash", "fish", "zsh"}
}

// terminalReserve is the maximum number of terminals that are left to others on a machine that runs out of them. An
// administrator who searches for the cause needs one to log in.
const terminalReserve = 32

// terminals guards the terminals of the machine.
type terminals struct {
	sync.Mutex        // held while the free terminals are counted and one is opened
	counts     string // the directory with the system's counts of terminals
}

// openTerminal opens a terminal, unless the machine has only a few left. Starts open terminals one after the other, so
// that each count includes the terminals of earlier starts.
func (m *services) openTerminal(cols, rows int) (*proc.Terminal, *os.File, *Error) {
	m.system.terminals.Lock()
	defer m.system.terminals.Unlock()
	if err := m.spareTerminals(); err != nil {
		return nil, nil, err
	}
	t, slave, err := proc.OpenTerminal(cols, rows)
	switch {
	case err == nil:
		return t, slave, nil
	case isResource(err):
		return nil, nil, resourceError("a terminal", err)
	}
	e := errorf(CodePTYUnavailable, "no terminal is available (%s); start the job with \"mode\": \"pipe\"", errnoText(err))
	e.Errno, e.Retryable = errnoText(err), errors.Is(err, syscall.ENOSPC)
	return nil, nil, e
}

// spareTerminals returns an error if only the machine's last terminals are free. If the system does not report its
// counts, it returns nil.
func (m *services) spareTerminals() *Error {
	inUse, most, err := proc.Terminals(m.system.terminals.counts)
	if err != nil || inUse < most-min(terminalReserve, most/8) {
		return nil
	}
	e := errorf(CodePTYUnavailable, "%d of the machine's %d terminals are in use, and the last are reserved for other programs; end jobs that have one, or start the job with \"mode\": \"pipe\"", inUse, most)
	e.Length, e.Max, e.Retryable = int64(inUse), int64(most), true
	return e
}
