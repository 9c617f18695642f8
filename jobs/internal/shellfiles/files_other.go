//go:build !linux

package shellfiles

import (
	"errors"
	"os"
)

// Supported reports whether this system has what the files take: here a shell cannot open a pipe of the server.
const Supported = false

func (f *Files) open() error { return errors.ErrUnsupported }

func (f *Files) makePlace() error { return errors.ErrUnsupported }

func readNow(*os.File, []byte) (int, error) { return 0, errors.ErrUnsupported }

// Sweep removes the directories of the start-up files that killed servers have left behind: there are none.
func Sweep() {}
