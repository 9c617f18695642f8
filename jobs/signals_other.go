//go:build !unix

package jobs

import "syscall"

// signalNames is empty where processes do not end by signals.
var signalNames = map[syscall.Signal]string{}
