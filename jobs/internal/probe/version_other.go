//go:build !linux && !darwin && !windows

package probe

// OSVersion returns "": the version is not known on this system.
func OSVersion() string { return "" }
