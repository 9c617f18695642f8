//go:build !(mips || mipsle || mips64 || mips64le)

package jobs

import "syscall"

// Two more signals end a process on Linux. Package syscall names both on all architectures but MIPS.
func init() {
	signalNames[syscall.SIGPWR] = "SIGPWR"
	signalNames[syscall.SIGSTKFLT] = "SIGSTKFLT"
}
