//go:build !linux

package proc

import "errors"

// Image is not known here.
func Image(int) (string, error) { return "", errors.ErrUnsupported }

// StartedWith is not known here.
func StartedWith(int, string) (bool, error) { return false, errors.ErrUnsupported }
