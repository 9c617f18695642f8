//go:build !linux && !darwin

package proc

import (
	"errors"
	"fmt"
)

// Foreground answers an error that wraps errors.ErrUnsupported.
func (t *Terminal) Foreground(root int) (Foreground, error) {
	return Foreground{}, fmt.Errorf("inspect the foreground of a terminal: %w", errors.ErrUnsupported)
}

// CommandLine is not known here.
func CommandLine(int) string { return "" }

func program(int) string { return "" }
