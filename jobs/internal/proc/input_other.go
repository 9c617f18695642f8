//go:build !linux

package proc

import (
	"errors"
	"fmt"
)

// ID answers an error that wraps errors.ErrUnsupported.
func (t *Terminal) ID() (FileID, error) {
	return FileID{}, fmt.Errorf("identify a terminal: %w", errors.ErrUnsupported)
}

// Unread answers an error that wraps errors.ErrUnsupported.
func (t *Terminal) Unread() (bool, error) {
	return false, fmt.Errorf("inspect the input of a terminal: %w", errors.ErrUnsupported)
}

// ID answers an error that wraps errors.ErrUnsupported.
func (p *PipeInput) ID() (FileID, error) {
	return FileID{}, fmt.Errorf("identify a pipe: %w", errors.ErrUnsupported)
}

// Unread answers an error that wraps errors.ErrUnsupported.
func (p *PipeInput) Unread() (bool, error) {
	return false, fmt.Errorf("inspect a pipe: %w", errors.ErrUnsupported)
}

// Outputs are not known here.
func (p *PipeInput) Outputs() []FileID { return nil }

// settled is not known here.
func (s *Source) settled() bool { return false }
