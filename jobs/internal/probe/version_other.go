//go:build !linux && !darwin && !windows

package probe

// OSVersion is not told here.
func OSVersion() string { return "" }
