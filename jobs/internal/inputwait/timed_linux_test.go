package inputwait_test

import (
	"strings"
	"testing"
	"time"
)

// If the terminal's modes make a read end by itself, the read has a timeout.
func TestTimedRead(t *testing.T) {
	timed := func(tenths, then string, least ...string) []string {
		return []string{"python3", "-c", `
import os, termios, tty
tty.setcbreak(0)
modes = termios.tcgetattr(0)
modes[6][termios.VMIN], modes[6][termios.VTIME] = ` + strings.Join(append(least, "0")[:1], "") + `, ` + tenths + `
termios.tcsetattr(0, termios.TCSANOW, modes)
print('> ', end='', flush=True)
while True:
    os.read(0, 1)
    ` + then}
	}
	t.Run("and idle", func(t *testing.T) { onTerminal(t, timed("1", "pass")...).waits("> ", listening, raw, likely) })
	t.Run("and busy", func(t *testing.T) {
		onTerminal(t, timed("1", "sum(range(2000000))")...).never("> ", 700*time.Millisecond)
	})
	t.Run("long", func(t *testing.T) { onTerminal(t, timed("30", "pass")...).waits("> ", reading, raw, likely) })
	// The read ends some time after one byte of several.
	t.Run("several bytes", func(t *testing.T) { onTerminal(t, timed("50", "pass", "10")...).waits("> ", reading, raw, likely) })
	t.Run("several at once", func(t *testing.T) { onTerminal(t, timed("1", "pass", "10")...).waits("> ", reading, raw, likely) })
	t.Run("one byte", func(t *testing.T) { onTerminal(t, timed("50", "pass", "1")...).waits("> ", reading, raw, exact) })
	t.Run("less seen", func(t *testing.T) {
		onTerminal(t, timed("1", "pass")...).limited(2).waits("> ", listening, raw, likely)
	})
}
