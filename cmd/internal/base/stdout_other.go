//go:build !linux

package base

import "os"

// TakeStdout reserves stdout for the protocol as far as possible without duplicating descriptors: prints to os.Stdout
// go to stderr.
func TakeStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
