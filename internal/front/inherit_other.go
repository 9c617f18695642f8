//go:build unix && !linux

package front

// CloseOnExec keeps the descriptors from first on from programs that this process executes: as long as another process
// holds the end of a client's pipe, the pipe does not end.
func CloseOnExec(first int) error { return closeOnExec("/dev/fd", first) }
