//go:build !linux

package probe

import "errors"

// System is empty: what is looked at is Linux's.
func System() []Probe { return nil }

// Kernel is not told here.
func Kernel() string { return "" }

// Terminals are not counted here.
func Terminals() (most, used int, err error) { return 0, 0, errors.ErrUnsupported }

// SyscallFile says that there is none.
func SyscallFile(int) Finding {
	return Finding{Grade: Missing, Found: "none on this system", Reason: "there is no /proc/PID/syscall"}
}
