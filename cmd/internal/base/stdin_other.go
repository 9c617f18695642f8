//go:build !linux

package base

import "os"

// Pollable returns f: only Linux can reopen the end of a pipe.
func Pollable(f *os.File) *os.File { return f }
