package proc

import "errors"

// The errors for files that cannot be used, in addition to the kernel's own errors.
var (
	// ErrNotRegular: the file is not a regular one. Opening it could block, or affect a device.
	ErrNotRegular = errors.New("it is not a regular file")
	// ErrOfServer: the path would refer to something else in the job itself.
	ErrOfServer = errors.New("it is an entry of /proc that means something else in the job")
)

// An Allow decides whether a file may be used. It gets the path at which the kernel has found the file: absolute,
// without symlinks. A non-nil error refuses the file and is returned to the caller unchanged.
type Allow func(real string) error
