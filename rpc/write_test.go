package rpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// hexOf is a job on a raw terminal that shows the first n bytes of its input in hex.
func hexOf(n string) string {
	return "stty raw -echo; printf ready; head -c " + n + " | od -An -tx1"
}

func TestKeys(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		keys []string
		n    string
		want string
	}{
		{[]string{"Up", "Down", "Right", "Left"}, "12", "1b 5b 41 1b 5b 42 1b 5b 43 1b 5b 44"},
		{[]string{"Enter", "Tab", "Escape", "Space", "Backspace"}, "5", "0d 09 1b 20 7f"},
		{[]string{"Ctrl-A", "Ctrl-c", "Ctrl-Z"}, "3", "01 03 1a"},
		{[]string{"Shift-Tab", "Alt-x", "Ctrl-Right", "F1"}, "14", "1b 5b 5a 1b 78 1b 5b 31 3b 35 43 1b 4f 50"},
	} {
		h := s.pty(hexOf(c.n))
		s.see(h, "ready")
		s.write(h, "", "keys", c.keys)
		s.event(h, "job/exited")
		got := strings.Join(strings.Fields(strings.TrimPrefix(s.output(h, "pty"), "ready")), " ")
		equal(t, strings.Join(c.keys, " "), got, c.want)
	}
}

// TestWriteOrder: the text comes first, then the keys, then the line end.
func TestWriteOrder(t *testing.T) {
	s := start(t)
	h := s.pty(hexOf("5"))
	s.see(h, "ready")
	r := s.write(h, "ab", "keys", []string{"Tab"}, "appendNewline", true)
	equal(t, "written", r.BytesWritten, 4)
	s.write(h, "!")
	got := strings.Join(strings.Fields(strings.TrimPrefix(s.output(h, "pty"), "ready")), " ")
	equal(t, "bytes", got, "61 62 09 0d 21")
}

func TestInterruptKey(t *testing.T) {
	s := start(t)
	h := do[schema.JobStartResult](s, "job/start", obj{"argv": []string{"sleep", "60"}}).Job.Handle
	s.write(h, "", "keys", []string{"Ctrl-C"})
	equal(t, "exit", s.exit(h), "signaled SIGINT")
}

// TestInterruptUnderAShell: the foreground program ends, the shell goes on.
func TestInterruptUnderAShell(t *testing.T) {
	needs(t, "bash")
	s := start(t)
	h := do[schema.JobStartResult](s, "job/start", obj{"argv": []string{"bash", "--norc", "-i"}}).Job.Handle
	s.write(h, "sh -c 'echo up''on; exec sleep 60'\r")
	s.see(h, "upon")
	s.write(h, "", "keys", []string{"Ctrl-C"})
	o := s.write(h, "echo status $?\r", "wait", obj{"until": until(obj{"pattern": `status \d+`})}).Outcome
	equal(t, "status", str(o.Match.Text), "status 130")
	s.write(h, "exit 3\r")
	equal(t, "exit", s.exit(h), "exited 3")
}

func TestEndOfFile(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		name string
		more []any
		want string
	}{
		{"the key", []any{"keys", []string{"Ctrl-D"}}, ""},
		{"eof", []any{"eof", true}, ""},
		{"eof after a line", []any{"input", "abc\r", "eof", true}, "abc\r\n"},
		{"eof after a partial line", []any{"input", "abc", "eof", true}, "abc"},
		{"eof after keys of a partial line", []any{"input", "abc", "keys", []string{"Enter", "Space"}, "eof", true}, "abc\r\n "},
	} {
		h := s.pty("stty -echo; echo ready; cat; echo end")
		s.see(h, "ready")
		do[schema.JobWriteResult](s, "job/write", merged(obj{"handle": h}, c.more))
		equal(t, c.name, s.output(h, "pty"), "ready\r\n"+c.want+"end\r\n")
	}
	// A partial line that an earlier request has typed counts.
	h := s.pty("stty -echo; echo ready; cat; echo end")
	s.see(h, "ready")
	s.write(h, "abc")
	s.write(h, "", "eof", true)
	equal(t, "eof after an earlier partial line", s.output(h, "pty"), "ready\r\nabcend\r\n")
}

func TestPipeStdin(t *testing.T) {
	s := start(t)
	h := s.pipe("cat; echo end", "stdin", "open")
	big := strings.Repeat("0123456789abcdef\n", 60_000) // 1,020,000 bytes: many pipes full
	r := s.write(h, big, "appendNewline", true)
	equal(t, "written", r.BytesWritten, int64(len(big)+1))
	r = s.write(h, "ö€😀", "eof", true)
	equal(t, "written", r.BytesWritten, 9)
	if got := s.output(h, "stdout"); got != big+"\nö€😀end\n" {
		t.Errorf("%d bytes came back, want %d", len(got), len(big)+14)
	}
}

// TestWritesKeepTheirOrder sends many writes at once, without waiting for an answer.
func TestWritesKeepTheirOrder(t *testing.T) {
	s := start(t)
	h := s.pipe("exec cat", "stdin", "open")
	var want strings.Builder
	var calls []*call
	for i := range 300 {
		text := strings.Repeat(string(rune('a'+i%26)), i) + "\n"
		want.WriteString(text)
		calls = append(calls, s.begin("job/write", obj{"handle": h, "input": text, "eof": i == 299}))
	}
	for _, c := range calls {
		result[schema.JobWriteResult](c)
	}
	if got := s.output(h, "stdout"); got != want.String() {
		t.Errorf("%d bytes came back, want %d in their order", len(got), want.Len())
	}
}

// TestLongLines: on a terminal without line editing, a line of any length arrives.
func TestLongLines(t *testing.T) {
	s := start(t)
	h := s.pty("stty raw -echo; printf ready; head -c 20001 | wc -c")
	s.see(h, "ready")
	r := s.write(h, strings.Repeat("x", 20_000)+"\n")
	equal(t, "written", r.BytesWritten, 20_001)
	equal(t, "counted", strings.TrimSpace(strings.TrimPrefix(s.output(h, "pty"), "ready")), "20001")
	// The longest line that a terminal passes on whole.
	limit := canonicalLimit(s)
	h = s.pty("stty -echo; echo ready; read -r l; echo ${#l}")
	s.see(h, "ready")
	s.write(h, strings.Repeat("y", int(limit)), "appendNewline", true)
	equal(t, "counted", s.output(h, "pty"), "ready\r\n4095\r\n")
}

// canonicalLimit returns the limit that another session is told in initialize, since s is initialized already.
func canonicalLimit(s *session) int64 {
	return num(open(s.t).initialize().Platform.CanonicalLineLimit)
}

// TestWriteToADyingJob: the error reports how much the job has read. Whether the server first notices the broken pipe
// or the exit is the kernel's choice.
func TestWriteToADyingJob(t *testing.T) {
	s, f := start(t), newFifo(t)
	h := s.pipe("echo ready; cat "+f.path+"; exit 2", "stdin", "open")
	s.see(h, "ready")
	const all = 900_000
	first := s.write(h, strings.Repeat("x", all), "wait", obj{"until": []obj{}, "timeoutMs": 0})
	if n := first.BytesWritten; n < 1 || n >= all {
		t.Errorf("the kernel has taken %d bytes of %d", n, all)
	}
	stuck := s.begin("job/write", obj{"handle": h, "input": strings.Repeat("x", all)})
	behind := s.begin("job/write", obj{"handle": h, "input": "y", "wait": obj{"until": until(obj{"pattern": "never"})}})
	s.get(h) // answered in its turn: both are queued
	f.release()
	equal(t, "bytesWritten of what was stuck", writtenToTheDead(t, stuck), 0)
	equal(t, "bytesWritten of what was behind it", writtenToTheDead(t, behind), 0)
	equal(t, "exit", s.exit(h), "exited 2")
	refused[schema.JobExitedData](s.begin("job/write", obj{"handle": h, "input": "x"}), schema.KindJobExited)
}

// writtenToTheDead returns the bytesWritten of a write that the job's end has stopped.
func writtenToTheDead(t *testing.T, c *call) int64 {
	t.Helper()
	a := c.answer()
	var data struct {
		Kind         schema.Kind
		BytesWritten *int64
	}
	if a.Error == nil || json.Unmarshal(a.Error.Data, &data) != nil {
		t.Fatalf("answer %+v, want an error", a)
	}
	if data.Kind != schema.KindJobExited && data.Kind != schema.KindNotInteractive {
		t.Errorf("error %s: %s", data.Kind, a.Error.Message)
	}
	return num(data.BytesWritten)
}
