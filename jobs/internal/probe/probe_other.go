//go:build !linux

package probe

// System is empty: what is looked at is Linux's.
func System() []Probe { return nil }

// Kernel is not told here.
func Kernel() string { return "" }

// SyscallFile says that there is none.
func SyscallFile(int) Finding {
	return Finding{Grade: Missing, Found: "none on this system", Reason: "there is no /proc/PID/syscall"}
}
