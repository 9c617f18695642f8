//go:build !unix

package names

import "syscall"

// signals is empty on systems that do not end processes by signals.
var signals = map[syscall.Signal]string{}
