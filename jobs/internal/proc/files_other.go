//go:build !linux && !darwin && !windows

package proc

import (
	"errors"
	"fmt"
	"os"
)

// Without a way to ask a descriptor where its file lies, no rule about directories
// could be kept; and there are no jobs here yet that could be given a file.

// OpenInput answers an error that wraps errors.ErrUnsupported.
func OpenInput(path string, _ Allow) (*os.File, error) {
	return nil, fmt.Errorf("open %s: %w", path, errors.ErrUnsupported)
}

// OpenOutput answers an error that wraps errors.ErrUnsupported.
func OpenOutput(path string, _ Allow) (*os.File, error) {
	return nil, fmt.Errorf("open %s: %w", path, errors.ErrUnsupported)
}

// Empty answers an error that wraps errors.ErrUnsupported.
func Empty(f *os.File) error {
	return fmt.Errorf("empty %s: %w", f.Name(), errors.ErrUnsupported)
}

// TextFile answers an error that wraps errors.ErrUnsupported.
func TextFile(string) (*os.File, error) {
	return nil, fmt.Errorf("make a file in memory: %w", errors.ErrUnsupported)
}
