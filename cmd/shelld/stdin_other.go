//go:build !linux

package main

import "os"

// pollable returns the file as it is: only Linux opens a pipe's end anew.
func pollable(f *os.File) *os.File { return f }
