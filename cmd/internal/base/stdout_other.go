//go:build !linux

package base

import "os"

// TakeStdout keeps stdout for the protocol as far as it can be done without
// duplicating descriptors: what this process prints goes to stderr.
func TakeStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
