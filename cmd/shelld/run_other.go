//go:build !unix

package main

import (
	"fmt"
	"os"
)

// runJob says that there are no jobs here.
func runJob(runOptions) int {
	fmt.Fprintln(os.Stderr, "shelld run:", errNoJobs)
	return statusFailed
}
