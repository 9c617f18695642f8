//go:build !linux

package probe

// System is empty: what is looked at is Linux's.
func System() []Probe { return nil }

// Kernel is not told here.
func Kernel() string { return "" }
