package inputwait_test

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// torn is a program that waits for a millisecond at a time, and in between puts another timeout into the same memory.
const torn = `
import ctypes, struct
libc = ctypes.CDLL(None)
PSELECT6 = %d
fds = ctypes.create_string_buffer(128)
spec = ctypes.create_string_buffer(16)
short, long = struct.pack('qq', 0, 1000000), struct.pack('qq', 1 << 31, 8)
print('ready', flush=True)
while True:
    fds[0] = 1
    spec[0:16] = short
    libc.syscall(PSELECT6, 1, fds, None, None, spec, None)
    spec[0:16] = long
    for i in range(20000): pass
`

// The data about a thread's wait is read in two steps. In between it may have woken up and reused the memory.
func TestTornTimeout(t *testing.T) {
	t.Parallel()
	number := map[string]string{"amd64": "270", "arm64": "72"}[runtime.GOARCH]
	if number == "" {
		t.Skip("the number of pselect6 is not known here")
	}
	j := onTerminal(t, "python3", "-c", strings.Replace(torn, "%d", number, 1))
	for start := time.Now(); !strings.Contains(j.printed(), "ready"); pause() {
		if time.Since(start) > deadline {
			t.Fatal("it never begins")
		}
	}
	for range 20000 {
		if v := j.prober.Look(150 * time.Millisecond); strings.Contains(v.Why, "596523h") {
			t.Fatalf("a timeout that it never waited for: %+v", v)
		}
	}
}
