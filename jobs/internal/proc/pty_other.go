//go:build !linux && !darwin

package proc

import (
	"errors"
	"fmt"
	"os"
)

// CanonicalLineLimit is not known where there is no terminal.
const CanonicalLineLimit = 0

// Windows has pseudo-consoles instead of terminals. They are no terminals of bytes: what a
// program writes is drawn by the console, which then sends what it would take to draw it
// again. That is not built, and said so.

// OpenTerminal answers an error that wraps errors.ErrUnsupported.
func OpenTerminal(cols, rows int) (t *Terminal, slave *os.File, err error) {
	return nil, nil, fmt.Errorf("open a terminal: %w", errors.ErrUnsupported)
}

// Resize answers an error that wraps errors.ErrUnsupported.
func (t *Terminal) Resize(cols, rows int) error {
	return fmt.Errorf("resize a terminal: %w", errors.ErrUnsupported)
}

// Attrs answers an error that wraps errors.ErrUnsupported.
func (t *Terminal) Attrs() (Attrs, error) {
	return Attrs{}, fmt.Errorf("read the modes of a terminal: %w", errors.ErrUnsupported)
}

// ForegroundGroup answers an error that wraps errors.ErrUnsupported.
func (t *Terminal) ForegroundGroup() (int, error) {
	return 0, fmt.Errorf("read the foreground group of a terminal: %w", errors.ErrUnsupported)
}

// Overtake answers an error that wraps errors.ErrUnsupported.
func (t *Terminal) Overtake(key byte) (sent bool, err error) {
	return false, fmt.Errorf("flush the input of a terminal: %w", errors.ErrUnsupported)
}
