//go:build !linux && !darwin

package main

import (
	"fmt"
	"os"
)

// runHost prints an error: nothing can start a host on this system.
func runHost(connectOptions) int {
	fmt.Fprintln(os.Stderr, "shelld host: there are no sessions on this system; use shelld serve")
	return 1
}
