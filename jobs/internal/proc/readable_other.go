//go:build !linux && !darwin

package proc

import "errors"

// readable is left to the bound that holds for every pipe.
func readable(uintptr) (int, error) { return 0, errors.ErrUnsupported }

// nothingToRead is not known here.
func nothingToRead(uintptr) bool { return false }
