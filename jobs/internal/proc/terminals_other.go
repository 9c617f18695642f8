//go:build !linux

package proc

import "errors"

// TerminalCounts is empty: there is no such directory on this system.
const TerminalCounts = ""

// Terminals returns errors.ErrUnsupported.
func Terminals(string) (inUse, most int, err error) { return 0, 0, errors.ErrUnsupported }
