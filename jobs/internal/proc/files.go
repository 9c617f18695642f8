package proc

import "errors"

// What a file cannot be used for, besides what the kernel says itself.
var (
	// ErrNotRegular: opening it could block, or do something to a device.
	ErrNotRegular = errors.New("it is not a regular file")
	// ErrOfServer: the name would mean something else to the job itself.
	ErrOfServer = errors.New("it is an entry of /proc that means something else in the job")
)

// An Allow says whether a file may be used, by the path that the kernel has found
// it under: absolute, without a symlink. Its error is returned as it is.
type Allow func(real string) error
