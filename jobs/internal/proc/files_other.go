//go:build !linux && !darwin && !windows

package proc

import (
	"errors"
	"fmt"
	"os"
)

// On these systems there is no way to get the path of an open file, so that no rule about directories could be
// enforced. There are also no jobs yet that could be given a file.

// OpenInput returns an error that wraps errors.ErrUnsupported.
func OpenInput(path string, _ Allow) (*os.File, error) {
	return nil, fmt.Errorf("open %s: %w", path, errors.ErrUnsupported)
}

// OpenOutput returns an error that wraps errors.ErrUnsupported.
func OpenOutput(path string, _ Allow) (*os.File, error) {
	return nil, fmt.Errorf("open %s: %w", path, errors.ErrUnsupported)
}

// Empty returns an error that wraps errors.ErrUnsupported.
func Empty(f *os.File) error {
	return fmt.Errorf("empty %s: %w", f.Name(), errors.ErrUnsupported)
}

// TextFile returns an error that wraps errors.ErrUnsupported.
func TextFile(string) (*os.File, error) {
	return nil, fmt.Errorf("make a file in memory: %w", errors.ErrUnsupported)
}
