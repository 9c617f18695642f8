//go:build !linux

package probe

// System returns no probes: they are all for Linux.
func System() []Probe { return nil }

// Kernel returns "": the kernel is not known on this system.
func Kernel() string { return "" }
