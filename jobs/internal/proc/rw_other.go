//go:build !unix

package proc

import "errors"

// Pipes here would need overlapped I/O instead of a poller for readiness.

func readFD(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func writeFD(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
