//go:build !linux

package main

import "os"

// takeStdout keeps stdout for the protocol as far as it can be done without duplicating
// descriptors: what this process prints goes to stderr.
func takeStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
