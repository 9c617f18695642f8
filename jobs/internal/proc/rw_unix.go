//go:build unix

package proc

import "syscall"

// readFD is read(2). It never blocks, since the server's descriptors are non-blocking.
func readFD(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

// writeFD is write(2). It never blocks, since the server's descriptors are non-blocking.
func writeFD(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }
