package rpc_test

import (
	"strings"
	"testing"

	"shelld/schema"
)

// asks is a write whose wait would be over with its own echo, if that counted.
func (s *session) asks(h int64, input, pattern, line string) schema.Outcome {
	s.t.Helper()
	r := s.write(h, input, "wait", obj{"until": []obj{{"pattern": pattern, "flags": "m"}}, "stripEcho": true, "timeoutMs": 10_000})
	if o := r.Outcome; o.Reason != schema.OutcomeReasonPattern || str(o.Match.Line) != line {
		s.t.Errorf("typed %q: %s; want the line %q, got %q in %q", input, o.Reason, line, str(matchLine(*o)), texts(*o)["pty"])
	}
	return *r.Outcome
}

// then waits for what comes behind the match of an outcome.
func (s *session) then(h int64, o schema.Outcome, pattern string) {
	s.t.Helper()
	next := s.await(h, obj{"pattern": pattern}, "from", num(o.Match.EndOffset))
	checkOutcome(s.t, pattern, next, schema.OutcomeReasonPattern, 0)
}

func matchLine(o schema.Outcome) *string {
	if o.Match == nil {
		return nil
	}
	return o.Match.Line
}

func (s *session) program(argv ...string) int64 {
	s.t.Helper()
	needs(s.t, argv[0])
	return do[schema.JobStartResult](s, "job/start", obj{"argv": argv, "env": obj{"PS1": "READY> ", "HISTFILE": "/dev/null", "PYTHONSTARTUP": nil}}).Job.Handle
}

func TestAnswersOfACat(t *testing.T) {
	s := start(t)
	h := s.program("cat")
	for _, c := range []struct{ input, text string }{
		{"hello\r", "hello\n"},
		{"hello\n", "hello\n"},
		{"hel\x7flo\r", "helo\n"},
		{"h\x16\x03llo\r", "h\x03llo\n"},
	} {
		o := s.asks(h, c.input, "h.*$", strings.TrimSuffix(strings.ReplaceAll(c.text, "\x03", ""), "\n"))
		// The echo is there, and was left out; the line end may not have come yet.
		got := strings.TrimSuffix(texts(o)["pty"], "\n") + "\n"
		equal(t, "output of "+c.input, got, strings.ReplaceAll(c.text, "\x03", ""))
		if o.Output["pty"].NextOffset-o.Output["pty"].Offset < int64(len(c.input)+len(c.text)) {
			t.Errorf("offsets leave the echo out: %+v", o.Output["pty"])
		}
		s.await(h, obj{"quietMs": 30})
	}
}

func TestAnswersOfAPythonPrompt(t *testing.T) {
	s := start(t)
	h := s.program("python3", "-q")
	s.see(h, ">>> $")
	for _, c := range []struct{ input, pattern, line string }{
		{"print('a'+'b', 42)\r", `\b42\b`, "ab 42"},
		{"6*7\r", `\d+`, "42"},
		{"'" + strings.Repeat("wide ", 40) + "'.split().count('wide')\r", `\d+|wide`, "40"},
		{"def f(x):\r  return x\r\rf(1234)\r", `\b1234\b`, "1234"},
		{"print('ü€😀')\r", `ü.*`, "ü€😀"},
	} {
		s.then(h, s.asks(h, c.input, c.pattern, c.line), ">>> $")
	}
}

func TestAnswersOfABash(t *testing.T) {
	s := start(t)
	h := s.program("bash", "--norc", "-i")
	s.see(h, `READY> $`)
	for _, c := range []struct{ input, pattern, line string }{
		{"echo done $((1+1))\r", `done.*`, "done 2"},
		{"echo " + strings.Repeat("word ", 50) + "| wc -w\r", `\d+|word`, "50"},
		{"echo wrong\x15echo right\r", `right|wrong`, "right"},
		{"typ\t -t echo\r", `builtin|echo|typ`, "builtin"},
		{"ech\x01X\x7f\x05o  hi  \r", `echo|h.*`, "hi"},
	} {
		s.then(h, s.asks(h, c.input, c.pattern, c.line), "READY> $")
	}
	o := s.asks(h, "read -p 'Name? '\r", `Name.*$`, "Name? ")
	equal(t, "output without the echo", texts(o)["pty"], "Name? ")
	s.asks(h, "echo\r", `READY|echo`, "READY> ")
	s.asks(h, "read -s -p 'Password: ' p; echo; echo \"<$p>\"\r", `Password: $`, "Password: ")
	s.asks(h, "word\r", `word`, "<word>")
}

func TestAnswersOfAnEd(t *testing.T) {
	s := start(t)
	h := s.program("ed", "-p", "* ")
	s.see(h, `\* $`)
	s.asks(h, "a\rone\rtwo\r.\r", `\* $`, "* ")
	s.asks(h, "1p\r", `one|1p`, "one")
	s.asks(h, ",n\r", `\d.*two`, "2\ttwo")
}

// TestAnswersOfSilentPrograms: nobody echoes what is typed, and nothing is held up
// for good.
func TestAnswersOfSilentPrograms(t *testing.T) {
	s := start(t)
	h := s.pty(`stty -echo; echo ready; read -r p; echo "is $p"`)
	s.see(h, "ready")
	s.asks(h, "secret\r", "secret", "is secret")
	for _, answer := range []string{"Deleted.", "yes, Deleted.", "Truly Deleted."} {
		h = s.pty(`stty raw -echo; printf ready; head -c 1 >/dev/null; printf '` + answer + `'; exec sleep 60`)
		s.see(h, "ready")
		s.asks(h, "y", "^.*D.*", answer)
	}
	h = s.pty(`stty raw -echo; printf ready; head -c 3 >/dev/null; printf 'up '; exec sleep 60`)
	s.see(h, "ready")
	o := s.write(h, "", "keys", []string{"Up"}, "wait", obj{"until": until(obj{"pattern": "up"})}).Outcome
	equal(t, "a key", str(o.Match.Text), "up")
}
