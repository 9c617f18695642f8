//go:build !linux

package jobs

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// open: a shell has no way to open a pipe of the server's here.
func (f *shellFiles) open() (string, error) { return "", errors.ErrUnsupported }

func readNow(*os.File, []byte) (int, error) { return 0, errors.ErrUnsupported }

const interruptSignal = syscall.SIGINT

// ShellIntegration are the shells that can be given it here: none.
func ShellIntegration() []string { return []string{} }

// The directory for the start-up files of a shell.
func (f *shellFiles) makePlace() error { return errors.ErrUnsupported }

func sweepPlaces(string, time.Time) {}

const placeTime = 0
