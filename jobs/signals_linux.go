//go:build !(mips || mipsle || mips64 || mips64le)

package jobs

import "syscall"

// Two more end a process on Linux, and have names everywhere but on MIPS.
func init() {
	signalNames[syscall.SIGPWR] = "SIGPWR"
	signalNames[syscall.SIGSTKFLT] = "SIGSTKFLT"
}
