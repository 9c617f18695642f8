//go:build !unix

package main

import "shelld.dev/shelld/cmd/internal/base"

// attach prints an error: this system has no sessions.
func attach(c *base.Call, o attachOptions) int {
	_, _, err := connectOptions{dir: o.dir, session: "none", existing: true}.attach()
	return attachFailed(c, err)
}
