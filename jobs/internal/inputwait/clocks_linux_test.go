package inputwait_test

import "testing"

// A timer among the sources is a timeout, unless it is disarmed.
func TestTimers(t *testing.T) {
	const timer = `
import ctypes, os, select, struct
libc = ctypes.CDLL(None)
def timer(seconds, nanoseconds):
    f = libc.timerfd_create(1, 0)
    libc.timerfd_settime(f, 0, struct.pack('4q', seconds, nanoseconds, seconds, nanoseconds), None)
    return f
print('ready', flush=True)
`
	const again = `
while True:
    for fd, _ in p.poll():
        if fd == t: os.read(t, 8)
`
	t.Run("not set", func(t *testing.T) {
		onTerminal(t, "python3", "-c", timer+"select.select([0, timer(0, 0)], [], [])").waits("ready", reading, line, exact)
	})
	t.Run("often", func(t *testing.T) {
		onTerminal(t, "python3", "-c", timer+"t = timer(0, 100000000); p = select.poll(); p.register(0, 1); p.register(t, 1)"+again).waits("ready", listening, line, likely)
	})
	t.Run("often, in an epoll", func(t *testing.T) {
		onTerminal(t, "python3", "-c", timer+"t = timer(0, 100000000); p = select.epoll(); p.register(0, 1); p.register(t, 1)"+again).waits("ready", listening, line, likely)
	})
	t.Run("seldom", func(t *testing.T) {
		onTerminal(t, "python3", "-c", timer+"select.select([0, timer(60, 0)], [], [])").waits("ready", reading, line, likely)
	})
}
