package rpc_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestRunNotUTF8: bytes that are not UTF-8 never replace the text of a stream; they are beside it.
func TestRunNotUTF8(t *testing.T) {
	s := start(t)
	bytesOf := func(p *string) string {
		b, err := base64.StdEncoding.DecodeString(str(p))
		if p == nil || err != nil {
			return "(none)"
		}
		return string(b)
	}
	const latin1 = `printf 'caf\351 \033[1mok\033[0m\n'; printf 'e\351\n' >&2`
	r := s.run(latin1)
	equal(t, "stdout", str(r.Stdout), "caf\uFFFD ok\n")
	equal(t, "its bytes", bytesOf(r.StdoutBase64), "caf\xe9 \x1b[1mok\x1b[0m\n")
	equal(t, "stderr", str(r.Stderr), "e\uFFFD\n")
	equal(t, "its bytes", bytesOf(r.StderrBase64), "e\xe9\n")
	r = s.run(latin1, "format", "text")
	equal(t, "text", str(r.Stdout), "caf\uFFFD \x1b[1mok\x1b[0m\n")
	equal(t, "its bytes", bytesOf(r.StdoutBase64), "caf\xe9 \x1b[1mok\x1b[0m\n")
	r = s.run(latin1, "format", "base64")
	equal(t, "text with format base64", str(r.Stdout), "(absent)")
	equal(t, "its bytes", bytesOf(r.StdoutBase64), "caf\xe9 \x1b[1mok\x1b[0m\n")
	r = s.run(`stty -opost; printf 'caf\351\n'`, "mode", "pty")
	equal(t, "output", str(r.Output), "caf\uFFFD\n")
	equal(t, "its bytes", bytesOf(r.OutputBase64), "caf\xe9\n")
	r = s.run("echo café", "format", "text")
	equal(t, "bytes beside UTF-8", bytesOf(r.StdoutBase64), "(none)")

	// Of cut output: the bytes of the text's head and tail. With plain there are none, since they would differ from the
	// text.
	const long = `printf 'a\351\n'; seq 1000; printf '\351z\n'`
	r = s.run(long, "format", "text", "maxBytes", 10)
	head, tail, _ := unmarked(t, str(r.Stdout), r.Truncated["stdout"])
	equal(t, "head and tail", head+"|"+tail, "a\uFFFD\n1\n|\uFFFDz\n")
	equal(t, "their bytes", bytesOf(r.StdoutBase64), "a\xe9\n1\n\xe9z\n")
	r = s.run(long, "maxBytes", 16)
	head, tail, _ = unmarked(t, str(r.Stdout), r.Truncated["stdout"])
	equal(t, "plain head and tail", head+"|"+tail, "a\uFFFD\n1\n|\uFFFDz\n")
	equal(t, "their bytes", bytesOf(r.StdoutBase64), "(none)")
}

// unmarked returns the text before and after the mark of a cut text, and the mark.
func unmarked(t *testing.T, text string, cut schema.Truncated) (head, tail, mark string) {
	t.Helper()
	m := cut.Mark
	if m == nil {
		t.Errorf("%q has no mark", text)
		return text, "", ""
	}
	if m.Bytes != int64(len(m.Text)) || m.Offset+m.Bytes > int64(len(text)) || text[m.Offset:m.Offset+m.Bytes] != m.Text {
		t.Fatalf("the mark %+v does not stand in %q", *m, text)
	}
	return text[:m.Offset], text[m.Offset+m.Bytes:], m.Text
}

// TestTruncationMark: a cut text has a line that says so, in all answers that quote output.
func TestTruncationMark(t *testing.T) {
	s := start(t)
	check := func(what, text string, cut schema.Truncated, head, mark, tail string) {
		t.Helper()
		h, b, m := unmarked(t, text, cut)
		equal(t, what+": head", h, head)
		equal(t, what+": mark", m, mark)
		equal(t, what+": tail", b, tail)
		equal(t, what+": headBytes and tailBytes", fmt.Sprint(cut.HeadBytes, cut.TailBytes), fmt.Sprint(len(head), len(tail)))
	}
	r := s.run("seq 1000", "maxBytes", 10)
	check("lines", str(r.Stdout), r.Truncated["stdout"], "1\n2\n", "[... 3884 bytes, 997 lines left out ...]\n", "1000\n")
	r = s.run("printf %01000d 0", "maxBytes", 10)
	check("one line", str(r.Stdout), r.Truncated["stdout"], "00000", "\n[... 990 bytes, 0 lines left out ...]\n", "00000")
	r = s.run("printf ä%01000d 0", "maxBytes", 10, "format", "text")
	check("a character", str(r.Stdout), r.Truncated["stdout"], "ä000", "\n[... 992 bytes, 0 lines left out ...]\n", "00000")
	r = s.run("seq 1000", "maxBytes", 12, "mode", "pty", "format", "text")
	check("a terminal", str(r.Output), r.Truncated["pty"], "1\r\n2\r\n", "[... 4881 bytes, 997 lines left out ...]\n", "1000\r\n")

	h := s.pipe("seq 1000; exec sleep 60")
	o := s.await(h, obj{"bytes": 3893}, "from", "start", "maxBytes", 10)
	check("a wait", texts(o)["stdout"], *o.Output["stdout"].Truncated, "1\n2\n", "[... 3884 bytes, 997 lines left out ...]\n", "1000\n")
	o = s.await(h, obj{"bytes": 3893}, "from", "start", "maxBytes", 10, "mark", false)
	equal(t, "a wait without mark", texts(o)["stdout"], "1\n2\n1000\n")
	equal(t, "its mark", o.Output["stdout"].Truncated.Mark, nil)
	s.killNow(h)
	st := do[schema.JobStartResult](s, "job/start", obj{"argv": []string{"seq", "1000"}, "mode": "pipe", "wait": obj{"until": []obj{{"closed": true}}, "maxBytes": 10, "mark": false}})
	equal(t, "a start's wait without mark", texts(*st.Outcome)["stdout"], "1\n2\n1000\n")

	// There is none if it is not wanted, if nothing is shown, in bytes, and if nothing was cut.
	r = s.run("seq 1000", "maxBytes", 10, "mark", false)
	equal(t, "without mark", str(r.Stdout), "1\n2\n1000\n")
	equal(t, "its mark", r.Truncated["stdout"].Mark, nil)
	r = s.run("seq 1000", "maxBytes", 0)
	equal(t, "nothing shown", str(r.Stdout), "")
	equal(t, "its mark", r.Truncated["stdout"].Mark, nil)
	r = s.run("seq 1000", "maxBytes", 10, "format", "base64")
	b, _ := base64.StdEncoding.DecodeString(str(r.StdoutBase64))
	equal(t, "bytes", string(b), "1\n2\n1000\n")
	equal(t, "their mark", r.Truncated["stdout"].Mark, nil)
	r = s.run("seq 1000")
	equal(t, "all of it", len(str(r.Stdout)), 3893)
	if strings.Contains(str(r.Stdout), "left out") || r.Truncated != nil {
		t.Errorf("nothing was cut, and truncated is %+v", r.Truncated)
	}
}

// TestRunDefaultFormat: the default format of a run and of a wait is plain: it shows the last state of a progress bar.
func TestRunDefaultFormat(t *testing.T) {
	s := start(t)
	const bar = `for i in 1 2 3 4 5 6 7 8 9; do printf '\r\033[32m%d0%%\033[0m' $i; done; printf '\r100%%\n'`
	equal(t, "job/run", str(s.run(bar).Stdout), "100%\n")
	st := do[schema.JobStartResult](s, "job/start", obj{"command": bar, "shell": "sh", "mode": "pipe", "wait": obj{"until": []obj{{"closed": true}}}})
	equal(t, "a wait", texts(*st.Outcome)["stdout"], "100%\n")
}

// TestRunNothing: job/run needs a command. A client whose command is undefined sends none.
func TestRunNothing(t *testing.T) {
	s := start(t)
	for _, p := range []obj{{}, {"mode": "pty"}, {"cwd": ".", "timeoutMs": 100}, {"_meta": obj{"a": 1}}} {
		call := s.beginBad("job/run", p)
		d := refused[schema.InvalidParamsData](call, schema.KindInvalidParams)
		if len(d.Errors) != 1 || d.Errors[0].Message != "needs exactly one of command and argv, has none" {
			t.Errorf("%v: %+v", p, d.Errors)
		}
	}
	equal(t, "jobs", len(do[schema.JobListResult](s, "job/list", obj{}).Jobs), 0)
	refused[schema.InvalidParamsData](s.beginBad("job/run", obj{"command": nil}), schema.KindInvalidParams)
	equal(t, "an interactive shell", do[schema.JobStartResult](s, "job/start", obj{"shell": "sh"}).Job.Status, schema.StatusRunning)
}
