//go:build !linux && !darwin

package proc

import (
	"errors"
	"fmt"
)

// Foreground returns an error that wraps errors.ErrUnsupported.
func (t *Terminal) Foreground(root int) (Foreground, error) {
	return Foreground{}, fmt.Errorf("inspect the foreground of a terminal: %w", errors.ErrUnsupported)
}

// CommandLine returns "": command lines are not known on this system.
func CommandLine(int) string { return "" }

func program(int) string { return "" }
