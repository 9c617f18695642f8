//go:build linux || darwin

package direct

import "syscall"

// A statusKind is what has become of a child.
type statusKind int

const (
	hasEnded statusKind = iota
	hasStopped
	goesOn
)

// A status is what wait4 tells of a child.
type status struct {
	kind   statusKind
	code   int            // of an exit; -1 where a signal has ended it
	signal syscall.Signal // that has stopped or ended it; 0 for an exit
	core   bool           // a core was dumped
}

// Parts of the number that wait4 gives on a BSD, from its sys/wait.h.
const (
	bsdMask      = 0x7f
	bsdStopped   = 0x7f
	bsdCore      = 0x80
	bsdContinued = 0x13 // the number of its CONT; its STOP is 0x11
)

// bsdStatus reads what wait4 gives on macOS. Package syscall reads it for a system whose
// continued children have the number of STOP: there, whom STOP has stopped goes on, and
// who goes on was stopped by CONT.
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
