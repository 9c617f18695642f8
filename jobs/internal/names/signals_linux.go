//go:build !(mips || mipsle || mips64 || mips64le)

package names

import "syscall"

// Two more signals end a process on Linux. Package syscall names both on all architectures but MIPS.
func init() {
	signals[syscall.SIGPWR] = "SIGPWR"
	signals[syscall.SIGSTKFLT] = "SIGSTKFLT"
}
