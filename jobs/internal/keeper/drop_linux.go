//go:build amd64 || arm64

package keeper

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A keeper catches signals with a handler of its own that does nothing. The package os/signal, which keeps a channel
// full that is never read, needs three threads for that, of the eight that a keeper had: a tenth of its memory, and of
// the time that the kernel takes to remove it.

// dropPC and leavePC return the addresses of the handler and of the code that it returns to. Both are in assembly: the
// kernel calls a handler on any thread and at any point, so that it must not be Go code.
func dropPC() uintptr
func leavePC() uintptr

// A sigaction is the kernel's struct, on the architectures named above.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	saRestorer = 0x04000000 // SA_RESTORER
	saOnStack  = 0x08000000 // SA_ONSTACK: the stack of a goroutine has no room for the kernel's frame
	saRestart  = 0x10000000 // SA_RESTART
)

// dropSignals installs the handler in place of the runtime's.
func dropSignals(all []unix.Signal) error {
	act := sigaction{
		handler: dropPC(), flags: saOnStack | saRestart | saRestorer, restorer: leavePC(),
		mask: ^uint64(0), // One at a time: the frames of ten do not fit on the stack that the runtime has for them.
	}
	for _, sig := range all {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, unsafe.Sizeof(act.mask), 0, 0)
		if errno != 0 {
			return errno
		}
	}
	return nil
}
