//go:build !linux

package jobs

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// open returns an error: on this system a shell cannot open a pipe of the server.
func (f *shellFiles) open() (string, error) { return "", errors.ErrUnsupported }

func readNow(*os.File, []byte) (int, error) { return 0, errors.ErrUnsupported }

const interruptSignal = syscall.SIGINT

// ShellIntegration returns the shell families that can have the integration on this system: none.
func ShellIntegration() []string { return []string{} }

// makePlace would make the directory for the start-up files of a shell.
func (f *shellFiles) makePlace() error { return errors.ErrUnsupported }

func sweepPlaces(string, time.Time) {}

const placeTime = 0
