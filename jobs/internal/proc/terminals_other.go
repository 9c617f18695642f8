//go:build !linux

package proc

import "errors"

// TerminalCounts is no place on this system.
const TerminalCounts = ""

// Terminals are not counted on this system.
func Terminals(string) (inUse, most int, err error) { return 0, 0, errors.ErrUnsupported }
