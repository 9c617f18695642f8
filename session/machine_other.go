//go:build !linux

package session

import "errors"

// startTicks returns an error: it would be of use only with a boot id.
func startTicks(int) (uint64, error) { return 0, errors.ErrUnsupported }

// bootID returns "": what depends on it does not apply here.
func bootID() string { return "" }

func machineID() string { return "" }
