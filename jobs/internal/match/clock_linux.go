package match

import (
	"syscall"
	"time"
	"unsafe"
)

// Clock numbers of the kernel. getrusage returns the same times only as of the last tick.
const (
	processClock = 2 // CLOCK_PROCESS_CPUTIME_ID
	threadClock  = 3 // CLOCK_THREAD_CPUTIME_ID
)

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration { return clockTime(threadClock) }

// processTime returns the processor time of all threads together.
func processTime() time.Duration { return clockTime(processClock) }

func clockTime(clock uintptr) time.Duration {
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return wallTime()
	}
	return time.Duration(t.Nano())
}
