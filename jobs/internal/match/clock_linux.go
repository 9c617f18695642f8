package match

import (
	"syscall"
	"time"
	"unsafe"
)

// Clocks of the kernel's. getrusage tells the same only as of the last tick.
const (
	processClock = 2 // CLOCK_PROCESS_CPUTIME_ID
	threadClock  = 3 // CLOCK_THREAD_CPUTIME_ID
)

// threadTime is how long the calling thread has had a processor.
func threadTime() time.Duration { return clockTime(threadClock) }

// processTime is how long all threads together have had processors.
func processTime() time.Duration { return clockTime(processClock) }

func clockTime(clock uintptr) time.Duration {
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return wallTime()
	}
	return time.Duration(t.Nano())
}
