//go:build !linux

package base

import "os"

// Pollable returns the file as it is: only Linux opens a pipe's end anew.
func Pollable(f *os.File) *os.File { return f }
