//go:build linux || darwin

package direct

import "syscall"

// A statusKind is a change in a child's state.
type statusKind int

const (
	hasEnded statusKind = iota
	hasStopped
	goesOn
)

// A status is the result of wait4 for a child.
type status struct {
	kind   statusKind
	code   int            // of an exit; -1 if a signal has ended it
	signal syscall.Signal // that stopped or ended it; 0 for an exit
	core   bool           // a core was dumped
}

// Parts of the number that wait4 returns on a BSD, from its sys/wait.h.
const (
	bsdMask      = 0x7f
	bsdStopped   = 0x7f
	bsdCore      = 0x80
	bsdContinued = 0x13 // the number of its CONT; its STOP is 0x11
)

// bsdStatus decodes the result of wait4 on macOS. Package syscall decodes it for a system whose continued children have
// the number of STOP: there, a child stopped by STOP seems to continue, and a child that continues seems to be stopped
// by CONT.
func bsdStatus(ws uint32) status {
	high := int(ws >> 8 & 0xff)
	switch low := ws & bsdMask; {
	case low == bsdStopped && high == bsdContinued:
		return status{kind: goesOn}
	case low == bsdStopped:
		return status{kind: hasStopped, signal: syscall.Signal(high)}
	case low != 0:
		return status{code: -1, signal: syscall.Signal(low), core: ws&bsdCore != 0}
	}
	return status{code: high}
}
