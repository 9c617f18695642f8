package rpc_test

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

// sent writes to a job and returns the answer.
func (s *session) sent(handle int64, params ...any) schema.JobWriteResult {
	s.t.Helper()
	return do[schema.JobWriteResult](s, "job/write", merged(obj{"handle": handle}, params))
}

// hexed returns the input that a job of hexOf has shown.
func (s *session) hexed(handle int64) string {
	s.t.Helper()
	return strings.Join(strings.Fields(strings.TrimPrefix(s.output(handle, "pty"), "ready")), " ")
}

func b64(b string) string { return base64.StdEncoding.EncodeToString([]byte(b)) }

// TestSend sends every kind of item, in order, with the line end and end of file after them.
func TestSend(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		name string
		more []any
		n    string
		want string
	}{
		{"all kinds", []any{"send", []obj{{"text": "aö"}, {"key": "Enter"}, {"base64": b64("\xff\x00\x1b")}, {"text": ""}, {"key": "Up", "count": 2}, {"paste": "x"}}},
			"14", "61 c3 b6 0d ff 00 1b 1b 5b 41 1b 5b 41 78"},
		{"a line end and an end of file", []any{"send", []obj{{"text": "a"}}, "appendNewline", true, "eof", true}, "3", "61 0d 04"},
		{"line ends of a paste", []any{"send", []obj{{"paste": "a\nb\r\nc\td"}}}, "7", "61 0d 62 0d 63 09 64"},
		{"a paste that breaks out", []any{"send", []obj{{"paste": "a\u001b[201~\u0003b"}}}, "2", "61 62"},
		{"nothing, and an end of file", []any{"send", []obj{}, "eof", true}, "1", "04"},
	} {
		h := s.pty(hexOf(c.n))
		s.see(h, "ready")
		s.sent(h, c.more...)
		equal(t, c.name, s.hexed(h), c.want)
	}
}

func TestSendToAPipe(t *testing.T) {
	s := start(t)
	h := s.pipe("od -An -tx1", "stdin", "open")
	r := s.sent(h, "send", []obj{{"text": "a"}, {"base64": b64("\xff")}, {"paste": "b\nc\u001b[201~"}}, "appendNewline", true, "eof", true)
	equal(t, "written", r.BytesWritten, 12)
	equal(t, "bytes", strings.Join(strings.Fields(s.output(h, "stdout")), " "), "61 ff 62 0a 63 1b 5b 32 30 31 7e 0a")
}

// TestSendRefusals: if one item is bad, nothing at all is sent.
func TestSendRefusals(t *testing.T) {
	s := start(t)
	tty := s.pty("stty -echo; echo ready; exec cat")
	pipe := s.pipe("exec cat", "stdin", "open")
	s.see(tty, "ready")
	lost := func(item obj) []obj { return []obj{{"text": "lost\n"}, item} }
	at := obj{"action": "press", "row": 1, "col": 1}
	for _, r := range []refusal{
		{"input beside", "", obj{"handle": tty, "input": "lost\n", "send": []obj{}}, schema.KindInvalidParams, nil, "send"},
		{"keys beside", "", obj{"handle": tty, "keys": []string{"Enter"}, "send": []obj{}}, schema.KindInvalidParams, nil, "send"},
		{"two kinds in one", "", obj{"handle": tty, "send": lost(obj{"text": "a", "key": "Enter"})}, schema.KindInvalidParams, obj{"pointer": "/send/1"}, ""},
		{"no kind in one", "", obj{"handle": tty, "send": lost(obj{})}, schema.KindInvalidParams, obj{"pointer": "/send/1"}, ""},
		{"unknown kind", "", obj{"handle": tty, "send": lost(obj{"keys": "Enter"})}, schema.KindInvalidParams, obj{"pointer": "/send/1/keys", "didYouMean": "key"}, ""},
		{"count of a text", "", obj{"handle": tty, "send": lost(obj{"text": "a", "count": 2})}, schema.KindInvalidParams, nil, "key"},
		{"no press at all", "", obj{"handle": tty, "send": lost(obj{"key": "Up", "count": 0})}, schema.KindInvalidParams, obj{"pointer": "/send/1/count"}, ""},
		{"too many presses", "", obj{"handle": tty, "send": lost(obj{"key": "Up", "count": 1001})}, schema.KindInvalidParams, obj{"pointer": "/send/1/count"}, ""},
		{"unknown key", "", obj{"handle": tty, "send": lost(obj{"key": "Entr"})}, schema.KindInvalidKey, obj{"key": "Entr"}, "Entr"},
		{"no base64", "", obj{"handle": tty, "send": lost(obj{"base64": "a-b="})}, schema.KindInvalidParams, obj{"pointer": "/send/1/base64"}, "base64"},
		{"base64 without its padding", "", obj{"handle": tty, "send": lost(obj{"base64": "YQ"})}, schema.KindInvalidParams, obj{"pointer": "/send/1/base64"}, "padding"},
		{"a mouse event that was not enabled", "", obj{"handle": tty, "send": lost(obj{"mouse": at})}, schema.KindInvalidParams, obj{"pointer": "/send/1/mouse"}, "not enabled mouse"},
		{"a mouse outside", "", obj{"handle": tty, "send": lost(obj{"mouse": obj{"action": "press", "row": 24, "col": 0}})}, schema.KindInvalidParams, obj{"pointer": "/send/1/mouse"}, "24 rows"},
		{"a mouse without a place", "", obj{"handle": tty, "send": lost(obj{"mouse": obj{"action": "press"}})}, schema.KindInvalidParams, obj{"pointer": "/send/1/mouse"}, "row"},
		{"a wheel with a button", "", obj{"handle": tty, "send": lost(obj{"mouse": obj{"action": "wheelUp", "row": 0, "col": 0, "button": "left"}})}, schema.KindInvalidParams, obj{"pointer": "/send/1/mouse/button"}, "wheel"},
		{"a key to a pipe", "", obj{"handle": pipe, "send": lost(obj{"key": "Enter"})}, schema.KindNotInteractive, obj{"handle": pipe}, "pty"},
		{"a mouse to a pipe", "", obj{"handle": pipe, "send": lost(obj{"mouse": at})}, schema.KindNotInteractive, obj{"handle": pipe}, "pty"},
		{"too much", "", obj{"handle": pipe, "send": []obj{{"text": strings.Repeat("x", 600_000)}, {"text": strings.Repeat("x", 600_000)}}}, schema.KindInputQueueFull, obj{"handle": pipe}, ""},
		{"a long line", "", obj{"handle": tty, "send": lost(obj{"text": long4096})}, schema.KindLineTooLong, obj{"handle": tty}, ""},
		{"a wait for input that there is not", "", obj{"handle": tty, "input": "lost\n", "ifWaiting": "w1"}, schema.KindInputNotExpected, obj{"handle": tty}, "ifWaiting"},
	} {
		t.Run(r.name, func(t *testing.T) {
			a := s.beginBad("job/write", r.params).answer()
			if a.Error == nil {
				t.Fatalf("accepted: %s", a.Result)
			}
			a.Error.is(t, r.kind)
			checkFacts(t, a.Error, r, "")
		})
	}
	s.write(pipe, "found\n", "eof", true)
	equal(t, "what the pipe has got", s.output(pipe, "stdout"), "found\n")
	s.write(tty, "found\n", "eof", true)
	equal(t, "what the terminal has got", s.output(tty, "pty"), "ready\r\nfound\r\n")
}

// crowd fills a job's terminal, and queues input beyond the kernel's buffer.
func (s *session) crowd(handle int64) (stuck *call) {
	s.t.Helper()
	lines := strings.Repeat("0123456789abcde\n", 4<<10)
	r := s.write(handle, lines, "wait", obj{"until": []obj{}, "timeoutMs": 0})
	if r.BytesWritten < 4096 || r.BytesWritten >= 64<<10 || r.Outcome.Reason != schema.OutcomeReasonTimeout {
		s.t.Errorf("%d bytes, %+v; want some of them, and a timeout", r.BytesWritten, r.Outcome)
	}
	return s.begin("job/write", obj{"handle": handle, "input": lines})
}

// TestInterruptKeyOvertakes: input that the job has not read is dropped, and reported.
func TestInterruptKeyOvertakes(t *testing.T) {
	s := start(t)
	h := s.pty("stty -echo; echo ready; exec sleep 60")
	s.see(h, "ready")
	stuck := s.crowd(h)
	waits := s.begin("job/write", obj{"handle": h, "input": "behind\n", "wait": obj{"until": until(obj{"pattern": "never"})}})
	r := s.sent(h, "send", []obj{{"key": "Ctrl-C"}}, "wait", obj{"until": until(obj{"exit": true})})
	equal(t, "written", r.BytesWritten, 1)
	equal(t, "exit", exitText(r.Outcome.Job.Exit), "signaled SIGINT")
	for _, c := range []*call{stuck, waits} {
		d := refused[schema.CanceledData](c, schema.KindCanceled)
		equal(t, "handle", num(d.Handle), h)
		if n := num(d.BytesWritten); n < 0 || n >= 64<<10 {
			t.Errorf("bytesWritten %d", n)
		}
	}
}

// TestTimeoutOfAWrite: the timeout of the wait limits a write that the job does not read.
func TestTimeoutOfAWrite(t *testing.T) {
	s := start(t)
	h := s.pipe("echo ready; exec sleep 60", "stdin", "open")
	s.see(h, "ready")
	const all = 600_000 // more than any kernel accepts unread
	began := time.Now()
	stuck := s.begin("job/write", obj{"handle": h, "input": strings.Repeat("x", all), "wait": obj{"until": until(obj{"pattern": "never"}), "timeoutMs": 300}})
	behind := s.begin("job/write", obj{"handle": h, "input": "y", "wait": obj{"until": []obj{}, "timeoutMs": 100}})
	first := result[schema.JobWriteResult](behind)
	equal(t, "bytesWritten of what was not begun", first.BytesWritten, 0)
	equal(t, "reason", first.Outcome.Reason, schema.OutcomeReasonTimeout)
	r := result[schema.JobWriteResult](stuck)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	equal(t, "reason", r.Outcome.Reason, schema.OutcomeReasonTimeout)
	if r.Outcome.Index != nil || r.BytesWritten < 1 || r.BytesWritten >= all {
		t.Errorf("%d bytes of %d, %+v", r.BytesWritten, all, r.Outcome)
	}
}

// TestSecret: the input arrives, and is not in the log.
func TestSecret(t *testing.T) {
	var log lockedBuffer
	s := open(t, func(set *settings) {
		set.server.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	s.initialize()
	h := s.pty("stty -echo; echo ready; read x; [ \"$x\" = hunter222 ] && echo right")
	s.see(h, "ready")
	refused[schema.LineTooLongData](s.begin("job/write", obj{"handle": h, "input": "hunter222" + long4096, "secret": true}), schema.KindLineTooLong)
	r := s.sent(h, "input", "hunter222", "appendNewline", true, "secret", true, "wait", obj{"until": until(obj{"pattern": "right"})})
	equal(t, "written", r.BytesWritten, 10)
	equal(t, "output", s.output(h, "pty"), "ready\r\nright\r\n")
	s.quit()
	if text := log.String(); strings.Contains(text, "hunter") {
		t.Errorf("the log has it: %s", text)
	}
}

// A lockedBuffer is a buffer that a log may write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
