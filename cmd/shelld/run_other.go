//go:build !unix

package main

import (
	"fmt"
	"os"
)

// runJob prints an error: run depends on signals and terminal modes, which this system does not have.
func runJob(runOptions) int {
	fmt.Fprintln(os.Stderr, "shelld run: it is not available on this system; use the server instead, with job/run")
	return statusFailed
}
