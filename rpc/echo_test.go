package rpc_test

import (
	"regexp"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// asks writes input with a wait that its own echo would end if it counted.
func (s *session) asks(h int64, input, pattern, line string) schema.Outcome {
	s.t.Helper()
	return s.sends(h, []obj{{"text": input}}, pattern, line)
}

// sends is the same for keys and pastes.
func (s *session) sends(h int64, send []obj, pattern, line string) schema.Outcome {
	s.t.Helper()
	r := do[schema.JobWriteResult](s, "job/write", obj{"handle": h, "send": send,
		"wait": obj{"until": []obj{{"pattern": pattern, "flags": "m"}}, "stripEcho": true, "timeoutMs": 10_000}})
	if o := r.Outcome; o.Reason != schema.OutcomeReasonPattern || str(o.Match.Line) != line {
		s.t.Errorf("typed %v: %s; want the line %q, got %q in %q", send, o.Reason, line, str(matchLine(*o)), texts(*o)["pty"])
	}
	return deref(s.t, r.Outcome)
}

// then waits for output after the match of an outcome.
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
		// The echo is there, and was left out; the line end may not have arrived yet.
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
	o = s.asks(h, "word\r", `word`, "<word>")
	s.then(h, o, "READY> $")
	s.asks(h, "read -n1 -p 'go? ' x; echo \"<$x>\"\r", `go. $`, "go? ")
	s.asks(h, "y", `y`, "<y>")
}

// TestAnswersToAPaste: readline shows a paste in reverse video, and draws it again at Enter.
func TestAnswersToAPaste(t *testing.T) {
	t.Parallel()
	s := start(t)
	long := strings.Repeat("word ", 50)
	for _, prompt := range []string{"READY> ", "> ", "a longer prompt> ", `\[\e[32m\]READY\[\e[m\]> `, `\w\nREADY> `} {
		needs(t, "bash")
		h := do[schema.JobStartResult](s, "job/start", obj{"argv": []string{"bash", "--norc", "-i"}, "env": obj{"PS1": prompt, "HISTFILE": "/dev/null"}}).Job.Handle
		s.see(h, "> $")
		for _, c := range []struct{ paste, more, pattern, line, output string }{
			{"sleep 0.2; echo BUILD_OK", "", "BUILD_OK", "BUILD_OK", "BUILD_OK"},
			{"echo l1\necho l2", "", "l2", "l2", "l1\nl2"},
			{"echo l1\necho l2\n", "", "l2", "l2", "l1\nl2"},
			{"echo l1\necho l1\necho l3", "", "l3|echo", "l3", "l1\nl1\nl3"},
			{"echo 'l1\n l2\n\nl3'", "", "l3|echo", "l3", "l1\n l2\n\nl3"},
			{"echo a b", "", "a b|echo", "a b", "a b\n"},
			{"echo y z y", "", "y", "y z y", "y"},
			{"echo ", "a b", "a b", "a b", "a b"},
			{"echo ü€ ", "", "ü€", "ü€", "ü€"},
			{"echo " + long, "", `word$|echo`, strings.TrimSpace(long), strings.TrimSpace(long)},
			{"echo " + long + "\necho " + long + "two\n", "", "two|echo", long + "two", long[:len(long)-1] + "\n" + long},
		} {
			o := s.sends(h, []obj{{"paste": c.paste}, {"text": c.more}, {"key": "Enter"}}, c.pattern, c.line)
			if got := texts(o)["pty"]; !strings.HasPrefix(strings.TrimSpace(got)+"\n", c.output) {
				t.Errorf("prompt %q, paste %q: output %q", prompt, c.paste, got)
			}
			s.then(h, o, "> $")
		}
	}
}

// TestAnswersToAKey: a program that reads a single key without echo may print it.
func TestAnswersToAKey(t *testing.T) {
	s := start(t)
	needs(t, "bash")
	for _, c := range []struct{ prompt, key, answer, pattern string }{
		{"Delete? ", "y", "Deleted file y for you", "Deleted"},
		{"(1) one (2) two: ", "2", "You chose 2", "chose"},
		{"a or b? ", "b", "\nb it is", "b"},
		{"", "y", "Deleted file y for you", "Deleted"},
	} {
		command := `read -rsn1 -p "` + c.prompt + `" k; printf '` + c.answer + `\n'; exec sleep 60`
		h := do[schema.JobStartResult](s, "job/start", obj{"argv": []string{"bash", "-c", "stty -echo -icanon; printf '!'; " + command}}).Job.Handle
		s.see(h, `!`+regexp.QuoteMeta(c.prompt)+"$")
		answer := strings.TrimPrefix(c.answer, "\n")
		o := s.asks(h, c.key, c.pattern, answer)
		if got := strings.TrimSpace(texts(o)["pty"]); !strings.HasPrefix(answer, got) || got == "" {
			t.Errorf("key %q: output %q", c.key, got)
		}
	}
}

// TestAnswersBehindAnotherTerminal: as over ssh, the local terminal is raw, and the echo comes from another one.
func TestAnswersBehindAnotherTerminal(t *testing.T) {
	s := start(t)
	h := s.program("python3", "-c", "import pty; pty.spawn(['sh'])")
	// The prompt is the requested one, or the shell's own if python3 is a script of a shell, which does not pass it on.
	s.see(h, "[$#>] $")
	s.then(h, s.asks(h, "echo a$((5*5))b\r", `a.*b`, "a25b"), "[$#>] $")
	h = s.program("python3", "-c", "import getpass; print('is', getpass.getpass())")
	s.see(h, ": $")
	s.asks(h, "secret\r", "secret", "is secret")
}

func TestAnswersOfAnEd(t *testing.T) {
	s := start(t)
	h := s.program("ed", "-p", "* ")
	s.see(h, `\* $`)
	s.asks(h, "a\rone\rtwo\r.\r", `\* $`, "* ")
	s.asks(h, "1p\r", `one|1p`, "one")
	s.asks(h, ",n\r", `\d.*two`, "2\ttwo")
}

// TestAnswersOfSilentPrograms: there is no echo of the input, and no output is held back for good.
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

func TestAfterInputIsAChoice(t *testing.T) {
	s := start(t)
	h := s.program("cat")
	r := s.write(h, "hello\r", "wait", obj{"until": until(obj{"pattern": "hello", "afterInput": false})})
	equal(t, "the echo", num(r.Outcome.Match.Offset), r.Outcome.Output["pty"].Offset)
	o := s.await(h, obj{"pattern": "hello", "afterInput": true}, "from", "start", "stripEcho", true)
	equal(t, "the answer", num(o.Match.Offset), 7)
	equal(t, "the answer's offset", o.Output["pty"].Offset, 0)
	if got := texts(o)["pty"]; got != "hello" && got != "hello\n" {
		t.Errorf("output %q", got)
	}
	o = s.await(h, obj{"pattern": "hello"}, "from", "start")
	equal(t, "of another wait", num(o.Match.Offset), 0)
	// A start has no input yet, a pipe no echo.
	out := do[schema.JobStartResult](s, "job/start", obj{"command": "echo up; exec cat", "mode": "pipe", "stdin": "open",
		"wait": obj{"until": until(obj{"pattern": "up", "afterInput": true}), "stripEcho": true}}).Outcome
	equal(t, "of a start", texts(*out)["stdout"], "up\n")
	job := out.Job.Handle
	o = deref(t, s.write(job, "hello\n", "wait", obj{"until": until(obj{"pattern": "hello\n"}), "stripEcho": true}).Outcome)
	equal(t, "of a pipe", texts(o)["stdout"], "hello\n")
}

func TestStripEcho(t *testing.T) {
	s := start(t)
	strip := func(h int64, input string, more ...any) schema.Outcome {
		t.Helper()
		wait := merged(obj{"until": until(obj{"exit": true}), "stripEcho": true}, more)
		return deref(t, s.write(h, input, "wait", wait).Outcome)
	}
	ask := func() int64 {
		h := s.pty("printf 'Name? '; read -r n; printf 'Again? '; read -r m; echo $n$m")
		s.see(h, `Name\? $`)
		return h
	}
	o := strip(ask(), "Ada\rBob\r")
	equal(t, "plain", texts(o)["pty"], "Again? AdaBob\n")
	equal(t, "raw bytes", o.Output["pty"].NextOffset-o.Output["pty"].Offset, int64(len("Ada\r\nBob\r\nAgain? AdaBob\r\n")))
	o = strip(ask(), "Ada\rBob\r", "format", "text")
	equal(t, "text", texts(o)["pty"], "Again? AdaBob\r\n")
	o = strip(ask(), "Ada\rBob\r", "from", "start")
	equal(t, "from the start", texts(o)["pty"], "Name? Again? AdaBob\n")
	o = strip(ask(), "Ada\rBob\r", "maxBytes", 4)
	if tr := o.Output["pty"].Truncated; tr == nil || tr.HeadBytes+tr.OmittedBytes+tr.TailBytes != int64(len("Again? AdaBob\n")) {
		t.Errorf("truncated: %+v", tr)
	}
	o = strip(ask(), "Ada\rBob\r", "stripEcho", false)
	if got := texts(o)["pty"]; !strings.HasPrefix(got, "Ada\n") || !strings.Contains(got, "Bob\n") {
		t.Errorf("with the echo: %q", got)
	}
}
