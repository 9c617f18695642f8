//go:build !linux

package proc

import "errors"

// Image returns errors.ErrUnsupported.
func Image(int) (string, error) { return "", errors.ErrUnsupported }

// StartedWith returns errors.ErrUnsupported.
func StartedWith(int, string) (bool, error) { return false, errors.ErrUnsupported }
