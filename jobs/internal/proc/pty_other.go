//go:build !linux && !darwin

package proc

import (
	"errors"
	"fmt"
	"os"
)

// CanonicalLineLimit is 0: there are no terminals on this system.
const CanonicalLineLimit = 0

// Windows has pseudo-consoles instead of terminals. These do not pass bytes through: the console draws the output of a
// program, and then sends its own sequences that would draw the same. They are not supported yet.

// OpenTerminal returns an error that wraps errors.ErrUnsupported.
func OpenTerminal(cols, rows int) (t *Terminal, slave *os.File, err error) {
	return nil, nil, fmt.Errorf("open a terminal: %w", errors.ErrUnsupported)
}

// Resize returns an error that wraps errors.ErrUnsupported.
func (t *Terminal) Resize(cols, rows int) error {
	return fmt.Errorf("resize a terminal: %w", errors.ErrUnsupported)
}

// Attrs returns an error that wraps errors.ErrUnsupported.
func (t *Terminal) Attrs() (Attrs, error) {
	return Attrs{}, fmt.Errorf("read the modes of a terminal: %w", errors.ErrUnsupported)
}

// ForegroundGroup returns an error that wraps errors.ErrUnsupported.
func (t *Terminal) ForegroundGroup() (int, error) {
	return 0, fmt.Errorf("read the foreground group of a terminal: %w", errors.ErrUnsupported)
}

// Overtake returns an error that wraps errors.ErrUnsupported.
func (t *Terminal) Overtake(key byte) (sent bool, err error) {
	return false, fmt.Errorf("flush the input of a terminal: %w", errors.ErrUnsupported)
}
