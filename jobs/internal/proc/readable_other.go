//go:build !linux && !darwin

package proc

import "errors"

// readable returns errors.ErrUnsupported. The caller then uses the bound that holds for every pipe.
func readable(uintptr) (int, error) { return 0, errors.ErrUnsupported }

// nothingToRead returns false: this is not known on this system.
func nothingToRead(uintptr) bool { return false }
