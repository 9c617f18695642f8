package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

// chunks returns a job's output, each piece as its offset, bytes and text.
func (s *session) chunks(handle int64) string {
	s.t.Helper()
	var all []string
	for _, e := range s.all(handle, "job/output") {
		all = append(all, fmt.Sprintf("%d+%d %q", e.Offset, e.Bytes, e.data()))
	}
	return strings.Join(all, ", ")
}

// sentUpTo waits until output was sent up to an offset.
func (s *session) sentUpTo(handle, end int64) {
	s.t.Helper()
	s.wait(fmt.Sprintf("output up to %d", end), func() bool {
		t := s.check.jobs[handle]
		return t != nil && t.next["pty"] >= end
	})
}

// TestStripInPieces: bytes that may become a query wait for the next ones, and a character waits with them.
func TestStripInPieces(t *testing.T) {
	steps := []struct{ prints, shown string }{
		{`a\033[cb`, "ab"},
		{`\033[`, ""}, {`0`, ""}, {`c`, ""},
		{`\033[`, ""}, {`31mred`, "\x1b[31mred"},
		{`\033]11;?`, ""}, {`\033\134x`, "x"},
		{`\033]0;title`, "\x1b]0;title"}, {`\033`, ""}, {`\134`, "\x1b\\"},
		{`é\033[6`, "é"}, {`né`, "é"},
		{`\033[1`, ""}, {`\033[c`, "\x1b[1\x18"},
	}
	command := "stty raw -echo; printf ready"
	for _, step := range steps {
		// Answers come before the line's end.
		command += "; read -r x; printf '" + step.prints + "'"
	}
	s := start(t)
	h := s.pty(command+"; read -r x", "queries", "strip", "wait", obj{"until": []obj{{"pattern": "ready"}}})
	end := int64(len("ready"))
	for _, step := range steps {
		before := len(s.all(h, "job/output"))
		bytes := strings.NewReplacer(`\033`, "x", `\134`, "x").Replace(step.prints)
		s.write(h, "\n", "wait", obj{"until": []obj{{"bytes": len(bytes)}}})
		if end += int64(len(bytes)); step.shown != "" {
			s.sentUpTo(h, end-int64(heldBytes(step.prints)))
		}
		var got strings.Builder
		for _, e := range s.all(h, "job/output")[before:] {
			got.Write(e.data())
		}
		if got.String() != step.shown {
			t.Errorf("%s: %q was sent, want %q", step.prints, got.String(), step.shown)
		}
	}
	s.write(h, "\n")
	want := "readyab\x1b[31mredx\x1b]0;title\x1b\\éé\x1b[1\x18"
	if got := s.output(h, "pty"); got != want {
		t.Errorf("%q was sent, want %q", got, want)
	}
}

// heldBytes returns the number of bytes at the end of the printed text that may start a query.
func heldBytes(prints string) int {
	if i := strings.LastIndex(prints, `\033[`); i >= 0 && strings.HasSuffix(prints, "6") {
		return len(prints[i:]) - len(`033`)
	}
	return 0
}

// TestStripAtTheEnd: bytes that are held when the job ends are sent before that is reported.
func TestStripAtTheEnd(t *testing.T) {
	s := start(t)
	h := s.pty(`stty raw -echo; printf 'a\033[cb\033]11;'`, "queries", "strip", "events", []string{"output", "exited", "closed"})
	if got, want := s.output(h, "pty"), "ab\x1b]11;"; got != want {
		t.Errorf("%q was sent, want %q: %s", got, want, s.chunks(h))
	}
	if got := s.soFar(h); !strings.HasSuffix(got, "exited, closed") {
		t.Error(got)
	}
}

// TestStripFlood sends a flood of queries, most of which cross the edges of pieces.
func TestStripFlood(t *testing.T) {
	s := start(t)
	h := s.pty(`stty raw -echo; i=0; while [ $i -lt 3000 ]; do printf 'x\033[c\033[31m\033P$qz\033\\y\033]4;1;?\007'; i=$((i+1)); done`, "queries", "strip")
	if got, want := s.output(h, "pty"), strings.Repeat("x\x1b[31my", 3000); got != want {
		t.Errorf("%d bytes were sent, not %d", len(got), len(want))
	}
}

// TestStripElsewhere checks base64, and a job with pipes, which has no terminal.
func TestStripElsewhere(t *testing.T) {
	s := start(t, "options", obj{"encoding": "base64"})
	h := s.pty(`stty raw -echo; printf 'a\033[cb'`, "queries", "strip")
	if got := s.output(h, "pty"); got != "ab" {
		t.Errorf("%q was sent", got)
	}
	h = s.pipe(`printf 'a\033[cb'`, "queries", "strip")
	if got := s.output(h, "stdout"); got != "a\x1b[cb" {
		t.Errorf("from a pipe %q was sent", got)
	}
}

// TestStripUnheardEvents: an event that the client does not want does not split a query.
func TestStripUnheardEvents(t *testing.T) {
	s := start(t)
	h := s.pty(`stty raw -echo; printf '\033]2;t1\aa\033['; sleep 0.1; printf 'cb'`, "queries", "strip", "events", []string{"output", "closed"})
	if got, want := s.output(h, "pty"), "\x1b]2;t1\aab"; got != want {
		t.Errorf("%q was sent, want %q: %s", got, want, s.chunks(h))
	}
}

// TestStripAborts: a query aborts an open sequence, even if that was sent before.
func TestStripAborts(t *testing.T) {
	s := start(t)
	h := s.pty(`stty raw -echo; printf '\033]0;tit'; sleep 0.1; printf '\033[cHELLO\033[3'; sleep 0.1; printf '\033[c1mX'; sleep 0.1; printf '\033[cY'`, "queries", "strip")
	if got, want := s.output(h, "pty"), "\x1b]0;tit\x18HELLO\x1b[3\x181mXY"; got != want {
		t.Errorf("%q was sent, want %q: %s", got, want, s.chunks(h))
	}
}
