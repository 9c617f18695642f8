package jobs

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"shelld/jobs/internal/proc"
)

// terminalReserve is how many terminals are left to others, at most, on a machine that
// runs out of them: a person who is to look what has taken them all needs one to log in.
const terminalReserve = 32

// terminals are those of the machine.
type terminals struct {
	sync.Mutex        // held to look how many are left, and to take one
	counts     string // the directory in which the system says how many there are
}

// openTerminal opens a terminal, unless the machine has hardly any left. Starts do so
// one after the other, so that each sees what those before it have taken.
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
	e := errorf(CodePTYUnavailable, "no terminal can be had (%s); start the job with \"mode\": \"pipe\"", errnoText(err))
	e.Errno, e.Retryable = errnoText(err), errors.Is(err, syscall.ENOSPC)
	return nil, nil, e
}

// spareTerminals refuses the machine's last terminals, where it tells how many it has.
func (m *Manager) spareTerminals() *Error {
	inUse, most, err := proc.Terminals(m.system.terminals.counts)
	if err != nil || inUse < most-min(terminalReserve, most/8) {
		return nil
	}
	e := errorf(CodePTYUnavailable, "%d of the machine's %d terminals are in use, and the last are left to others; end jobs that have one, or start the job with \"mode\": \"pipe\"", inUse, most)
	e.Length, e.Max, e.Retryable = int64(inUse), int64(most), true
	return e
}
