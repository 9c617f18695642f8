//go:build !linux

package proc

import (
	"errors"
	"fmt"
)

// ID returns an error that wraps errors.ErrUnsupported.
func (t *Terminal) ID() (FileID, error) {
	return FileID{}, fmt.Errorf("identify a terminal: %w", errors.ErrUnsupported)
}

// Unread returns an error that wraps errors.ErrUnsupported.
func (t *Terminal) Unread() (bool, error) {
	return false, fmt.Errorf("inspect the input of a terminal: %w", errors.ErrUnsupported)
}

// ID returns an error that wraps errors.ErrUnsupported.
func (p *PipeInput) ID() (FileID, error) {
	return FileID{}, fmt.Errorf("identify a pipe: %w", errors.ErrUnsupported)
}

// Unread returns an error that wraps errors.ErrUnsupported.
func (p *PipeInput) Unread() (bool, error) {
	return false, fmt.Errorf("inspect a pipe: %w", errors.ErrUnsupported)
}

// Outputs returns nil: pipes cannot be identified on this system.
func (p *PipeInput) Outputs() []FileID { return nil }

// settled returns false: this is not known on this system.
func (s *Source) settled() bool { return false }
