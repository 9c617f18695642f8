package jobs

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A query for a colour is not answered in canonical mode. The answer looks like a command with a path, and such a
// terminal belongs to a shell, or soon will: the next Enter would run a program in the current directory.
func TestColoursAreNotTypedIntoLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1000)
		const asks = "\x1b]4;1;?;2;?\a\x1b[c\x1b]10;?\x1b\\\x1b]11;#000;?\a"
		f.out.data <- []byte(asks)
		synctest.Wait()
		if got := tp.text(); got != whoAmI {
			t.Errorf("typed %q", got)
		}
		f.inTurn(func() { tp.attrs = proc.Attrs{} })
		f.out.data <- []byte("\x1b]4;1;?\x1b\\")
		synctest.Wait()
		if got, want := tp.text(), whoAmI+"\x1b]4;1;rgb:cdcd/0000/0000\x1b\\"; got != want {
			t.Errorf("typed %q, want %q", got, want)
		}
		f.end()
	})
}

// An answer counts as a part of the typed line, whose length the kernel limits.
func TestAnswersAreAPartOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		first := f.typeIn(Input{Text: "first"})
		synctest.Wait()
		for range 3 {
			f.out.data <- []byte("\x1b[c\x1b[c") // They all become one item of the queue.
			synctest.Wait()
		}
		if want := len("first") + 6*len(whoAmI); f.input.queue.partial != want {
			t.Errorf("a line of %d bytes is begun, want %d", f.input.queue.partial, want)
		}
		room := proc.CanonicalLineLimit - f.input.queue.partial
		r := <-f.typeIn(Input{Text: strings.Repeat("x", room+1)}).C
		if e, ok := errors.AsType[*Error](r.Err); !ok || e.Code != CodeLineTooLong {
			t.Errorf("a line over the limit: %v", r.Err)
		}
		// Answers that are typed before queued input become a part of its first line.
		const left = 2*len(whoAmI) + 3
		second := f.typeIn(Input{Text: strings.Repeat("x", room-left) + "\rab"})
		f.out.data <- []byte("\x1b[c\x1b[c\x1b[c")
		synctest.Wait()
		if f.input.queue.partial != len("ab") {
			t.Errorf("a line of %d bytes is begun, want 2", f.input.queue.partial)
		}
		tp.allow(1 << 20)
		must(t, first)
		must(t, second)
		line, _, _ := strings.Cut(tp.text(), "\r")
		if len(line) != proc.CanonicalLineLimit-3 {
			t.Errorf("the line has %d bytes", len(line))
		}
		f.end()
	})
}

// Queries in the output cannot use up the length of the client's line.
func TestAnswersLeaveRoomForALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tp := startTape(t, &recorder{})
		tp.allow(1 << 20)
		for range 10 {
			f.out.data <- []byte(strings.Repeat("\x1b[c", 50))
			synctest.Wait()
		}
		must(t, f.typeIn(Input{Text: strings.Repeat("x", 3000) + "\r"}))
		if got := len(tp.text()) - 3001; got > 1<<10 || got < 1<<10-len(whoAmI) {
			t.Errorf("%d bytes of answers were typed", got)
		}
		f.out.data <- []byte("\x1b[c") // This answer is in the next line.
		synctest.Wait()
		if got := tp.text(); !strings.HasSuffix(got, "\r"+whoAmI) {
			t.Errorf("typed at last %q", got[len(got)-20:])
		}
		f.end()
	})
}
