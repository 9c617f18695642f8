package jobs

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"shelld/jobs/internal/proc"
)

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
func (m *Manager) openTerminal(cols, rows int) (*proc.Terminal, *os.File, *Error) {
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
func (m *Manager) spareTerminals() *Error {
	inUse, most, err := proc.Terminals(m.system.terminals.counts)
	if err != nil || inUse < most-min(terminalReserve, most/8) {
		return nil
	}
	e := errorf(CodePTYUnavailable, "%d of the machine's %d terminals are in use, and the last are reserved for other programs; end jobs that have one, or start the job with \"mode\": \"pipe\"", inUse, most)
	e.Length, e.Max, e.Retryable = int64(inUse), int64(most), true
	return e
}
