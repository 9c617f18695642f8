package match

import (
	"syscall"
	"time"
	"unsafe"
)

// threadTime is how long the calling thread has had a processor. getrusage tells that only
// as of the last tick.
func threadTime() time.Duration {
	const clock = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return wallTime()
	}
	return time.Duration(t.Nano())
}
