//go:build !unix

package main

import (
	"fmt"
	"os"
)

// runJob says that there is none here: it goes by signals and by the modes of terminals.
func runJob(runOptions) int {
	fmt.Fprintln(os.Stderr, "shelld run: it is not there on this system; drive the server instead, with job/run")
	return statusFailed
}
