//go:build unix

package proc

import "syscall"

// readFD is read(2), which never blocks on a descriptor of ours.
func readFD(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

// writeFD is write(2), which never blocks on a descriptor of ours.
func writeFD(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }
