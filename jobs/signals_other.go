//go:build !unix

package jobs

import "syscall"

// signalNames is empty on systems that do not end processes by signals.
var signalNames = map[syscall.Signal]string{}
