//go:build !linux

package proc

import "errors"

// Image is not known here.
func Image(int) (string, error) { return "", errors.ErrUnsupported }
