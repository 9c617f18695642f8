package rpc_test

import (
	"encoding/base64"
	"testing"

	"shelld.dev/shelld/schema"
)

// checkOutcome checks how a wait ended: its reason and index ("-" for null).
func checkOutcome(t *testing.T, what string, o schema.Outcome, reason schema.OutcomeReason, index int64) {
	t.Helper()
	if o.Reason != reason || num(o.Index) != index {
		t.Errorf("%s: ended with %s, index %d; want %s, %d", what, o.Reason, num(o.Index), reason, index)
	}
}

// noIndex stands for the index null.
const noIndex = -1

// echoing is a job that prints each line of its input as "<line>".
const echoing = `stty -echo 2>/dev/null; echo ready; while read -r l; do echo "<$l>"; done; echo end`

func TestWaitInStart(t *testing.T) {
	s := start(t)
	for _, mode := range []string{"pty", "pipe"} {
		r := do[schema.JobStartResult](s, "job/start", obj{"command": "echo a; echo b $((1+2)); sleep 60", "shell": "sh", "mode": mode,
			"wait": obj{"until": []obj{{"exit": true}, {"pattern": `b (?<n>\d)\r?\n`}}}})
		o := r.Outcome
		checkOutcome(t, mode, *o, schema.OutcomeReasonPattern, 1)
		equal(t, mode+": named", str(o.Match.Named["n"]), "3")
		equal(t, mode+": group", str(o.Match.Groups[0]), "3")
		equal(t, mode+": line", str(o.Match.Line), "b 3")
		stream := string(deref(t, o.Match.Stream))
		equal(t, mode+": output", texts(*o)[stream], "a\nb 3\n")
		equal(t, mode+": end of the match", num(o.Match.EndOffset), o.Output[stream].NextOffset)
		equal(t, mode+": status", o.Job.Status, schema.StatusRunning)
	}
}

func TestWaitInWrite(t *testing.T) {
	s := start(t)
	for _, mode := range []string{"pty", "pipe"} {
		p := []any{"mode", mode}
		if mode == "pipe" {
			p = append(p, "stdin", "open")
		}
		h := s.pty(echoing, p...)
		s.see(h, "ready")
		stream := map[string]string{"pipe": "stdout", "pty": "pty"}[mode]
		r := s.write(h, "<one>", "appendNewline", true, "wait", obj{"until": until(obj{"pattern": "<<.*>>"})})
		checkOutcome(t, mode, deref(t, r.Outcome), schema.OutcomeReasonPattern, 0)
		equal(t, mode+": written", r.BytesWritten, 6)
		equal(t, mode+": output since the write", texts(deref(t, r.Outcome))[stream], "<<one>>\n")
		// From the start, existing output counts.
		r = s.write(h, "two\n", "wait", obj{"until": until(obj{"pattern": "<<one>>"}), "from": "start"})
		checkOutcome(t, mode+", from the start", deref(t, r.Outcome), schema.OutcomeReasonPattern, 0)
		r = s.write(h, "", "eof", true, "wait", obj{"until": until(obj{"exit": true})})
		checkOutcome(t, mode+", eof", deref(t, r.Outcome), schema.OutcomeReasonExit, 0)
		equal(t, mode+": exit", exitText(r.Outcome.Job.Exit), "exited 0")
	}
}

func TestWaitFrom(t *testing.T) {
	s := start(t)
	h := s.pty(echoing)
	s.write(h, "a\n")
	o := s.see(h, "<a>\r\n")
	end := o.Output["pty"].NextOffset
	// Unread output is the output that no wait has returned: nothing yet.
	o = s.await(h, obj{"pattern": "<a>"}, "timeoutMs", 0)
	checkOutcome(t, "unread", o, schema.OutcomeReasonTimeout, noIndex)
	equal(t, "its output", texts(o)["pty"], "")
	equal(t, "its offset", o.Output["pty"].Offset, end)
	o = s.await(h, obj{"pattern": "<a>"}, "timeoutMs", 0, "from", "start")
	checkOutcome(t, "start", o, schema.OutcomeReasonPattern, 0)
	o = s.await(h, obj{"pattern": "<a>"}, "timeoutMs", 0, "from", num(o.Match.Offset))
	checkOutcome(t, "the match's own offset", o, schema.OutcomeReasonPattern, 0)
	o = s.await(h, obj{"pattern": "<a>"}, "timeoutMs", 0, "from", num(o.Match.Offset)+1)
	checkOutcome(t, "one byte behind it", o, schema.OutcomeReasonTimeout, noIndex)
	now := s.begin("job/wait", obj{"handle": h, "until": until(obj{"pattern": "<.>"}), "from": "now"})
	s.write(h, "b\n")
	equal(t, "now", str(result[schema.JobWaitResult](now).Outcome.Match.Text), "<b>")
	o = s.await(h, obj{"bytes": 1}, "from", "start")
	equal(t, "from start to here", o.Output["pty"].Offset, 0)
	// Beyond the end: output that does not exist yet.
	o = s.await(h, obj{"bytes": 1}, "from", 1_000_000, "timeoutMs", 0)
	checkOutcome(t, "beyond the end", o, schema.OutcomeReasonTimeout, noIndex)
}

// TestWaitUnreadMoves: each wait starts where the last one, or a cursor read, has ended.
func TestWaitUnreadMoves(t *testing.T) {
	s := start(t)
	h := s.pipe(echoing, "stdin", "open")
	for _, line := range []string{"a", "b", "c"} {
		s.write(h, line+"\n")
		// It ends with the line: the match of <.> does not depend on later output.
		o := s.await(h, obj{"pattern": `<.>\n`})
		equal(t, "match", str(o.Match.Text), "<"+line+">\n")
	}
	s.write(h, "d\n", "wait", obj{"until": until(obj{"pattern": `<d>\n`})})
	o := s.await(h, obj{"pattern": "<d>"}, "timeoutMs", 0)
	checkOutcome(t, "what a write's wait has returned", o, schema.OutcomeReasonTimeout, noIndex)
	s.write(h, "e\n")
	s.event(h, "job/output")
	s.await(h, obj{"pattern": "never"}, "timeoutMs", 0, "from", "now")
	r := do[schema.JobReadResult](s, "job/read", obj{"handle": h, "stream": "stdout"})
	equal(t, "the read cursor is its own", r.Offset, 0)
}

func TestWaitByStream(t *testing.T) {
	s := start(t)
	h := s.pipe("echo out; echo err >&2; sleep 60")
	s.await(h, obj{"bytes": 8}, "from", "start")
	o := s.await(h, obj{"pattern": "err"}, "from", "start")
	equal(t, "each stream is looked at", deref(t, o.Match.Stream), schema.StreamStderr)
	o = s.await(h, obj{"pattern": "err", "stream": "stdout"}, "from", "start", "timeoutMs", 0)
	checkOutcome(t, "one stream alone", o, schema.OutcomeReasonTimeout, noIndex)
	o = s.await(h, obj{"pattern": "."}, "from", obj{"stdout": 4, "stderr": 1}, "timeoutMs", 0)
	equal(t, "from an offset for each", str(o.Match.Text)+string(deref(t, o.Match.Stream)), "rstderr")
	equal(t, "its output", texts(o)["stderr"], "rr\n")
	// A stream that is left out counts from now.
	o = s.await(h, obj{"pattern": "."}, "from", obj{"stdout": 4}, "timeoutMs", 0)
	checkOutcome(t, "stderr left out", o, schema.OutcomeReasonTimeout, noIndex)
}

// TestWaitLowestIndex: if several conditions hold already, the first one counts.
func TestWaitLowestIndex(t *testing.T) {
	s := start(t)
	h := s.pipe("echo abc; sleep 60")
	s.see(h, "abc")
	all := []obj{{"pattern": "b"}, {"bytes": 2}, {"quietMs": 0}}
	for i := range all {
		var rotated []obj
		rotated = append(append(rotated, obj{"pattern": "never"}), append(all[i:len(all):len(all)], all[:i]...)...)
		o := do[schema.JobWaitResult](s, "job/wait", obj{"handle": h, "until": rotated, "from": "start"}).Outcome
		for member := range all[i] {
			checkOutcome(t, member+" first", o, schema.OutcomeReason(member), 1)
		}
	}
	s.kill(h)
	o := do[schema.JobWaitResult](s, "job/wait", obj{"handle": h, "until": []obj{{"closed": true}, {"exit": true}, {"pattern": "b"}}, "from": "start"}).Outcome
	checkOutcome(t, "closed first", o, schema.OutcomeReasonClosed, 0)
	o = do[schema.JobWaitResult](s, "job/wait", obj{"handle": h, "until": []obj{{"pattern": "b"}, {"exit": true}}, "from": "start"}).Outcome
	checkOutcome(t, "pattern before the end", o, schema.OutcomeReasonPattern, 0)
}

func TestWaitEnds(t *testing.T) {
	s := start(t)
	h := s.pipe("read x; exit 4", "stdin", "open")
	pattern := s.begin("job/wait", obj{"handle": h, "until": until(obj{"pattern": "never"})})
	empty := s.begin("job/wait", obj{"handle": h, "until": []obj{}})
	exit := s.begin("job/wait", obj{"handle": h, "until": []obj{{"pattern": "never"}, {"exit": true}}, "timeoutMs": nil})
	closed := s.begin("job/wait", obj{"handle": h, "until": []obj{{"pattern": "never"}, {"closed": true}}})
	s.write(h, "go\n")
	checkOutcome(t, "pattern", result[schema.JobWaitResult](pattern).Outcome, schema.OutcomeReasonExit, noIndex)
	checkOutcome(t, "empty", result[schema.JobWaitResult](empty).Outcome, schema.OutcomeReasonExit, noIndex)
	o := result[schema.JobWaitResult](exit).Outcome
	checkOutcome(t, "exit", o, schema.OutcomeReasonExit, 1)
	equal(t, "exit", exitText(o.Job.Exit), "exited 4")
	checkOutcome(t, "closed", result[schema.JobWaitResult](closed).Outcome, schema.OutcomeReasonClosed, 1)
	// Afterwards, all hold at once.
	o = s.await(h, obj{"pattern": "never"})
	checkOutcome(t, "afterwards", o, schema.OutcomeReasonExit, noIndex)
	equal(t, "status", o.Job.Status, schema.StatusClosed)
}

// TestWaitClosed: if closed is among the conditions, the leader's end does not end the wait.
func TestWaitClosed(t *testing.T) {
	s, f := start(t), newFifo(t)
	h := s.pipe("(cat " + f.path + "; echo last) & exit 0")
	closed := s.begin("job/wait", obj{"handle": h, "until": []obj{{"pattern": "last"}, {"closed": true}}, "from": "start"})
	e := s.event(h, "job/exited")
	if len(e.Background) == 0 {
		t.Error("exited tells no background")
	}
	o := s.await(h, obj{"exit": true})
	checkOutcome(t, "exit", o, schema.OutcomeReasonExit, 0)
	equal(t, "status", o.Job.Status, schema.StatusExited)
	if closed.answered() {
		t.Error("the leader's end has ended a wait for closed")
	}
	f.release()
	checkOutcome(t, "pattern after the leader's end", result[schema.JobWaitResult](closed).Outcome, schema.OutcomeReasonPattern, 0)
	equal(t, "output", s.output(h, "stdout"), "go\nlast\n")
}

func TestWaitTimeouts(t *testing.T) {
	s := start(t)
	h := s.pipe("echo a; sleep 60")
	s.see(h, "a")
	for _, ms := range []int{0, 1, 60} {
		o := s.await(h, obj{"pattern": "never"}, "timeoutMs", ms, "from", "start")
		checkOutcome(t, "timeout", o, schema.OutcomeReasonTimeout, noIndex)
		equal(t, "output", texts(o)["stdout"], "a\n")
	}
	none := s.begin("job/wait", obj{"handle": h, "until": until(obj{"pattern": "never"}), "timeoutMs": nil})
	s.kill(h)
	checkOutcome(t, "no timeout", result[schema.JobWaitResult](none).Outcome, schema.OutcomeReasonExit, noIndex)
	// A condition that holds already holds even with a timeout of zero.
	r := do[schema.JobStartResult](s, "job/start", obj{"command": "sleep 60", "wait": obj{"until": []obj{}, "timeoutMs": 0}})
	checkOutcome(t, "start", deref(t, r.Outcome), schema.OutcomeReasonTimeout, noIndex)
}

func TestWaitQuietAndBytes(t *testing.T) {
	s := start(t)
	h := s.pipe("for i in 1 2 3; do echo $i; echo $i >&2; done; sleep 60")
	o := s.await(h, obj{"bytes": 12}, "from", "start")
	checkOutcome(t, "bytes of both streams", o, schema.OutcomeReasonBytes, 0)
	o = s.await(h, obj{"quietMs": 80})
	checkOutcome(t, "quiet", o, schema.OutcomeReasonQuietMs, 0)
	o = s.await(h, obj{"bytes": 0}, "from", "now", "timeoutMs", 0)
	checkOutcome(t, "no bytes", o, schema.OutcomeReasonBytes, 0)
	// A job that writes all the time is not quiet.
	noisy := s.pipe("while :; do echo x; done")
	o = s.await(noisy, obj{"quietMs": 2000}, "timeoutMs", 300)
	checkOutcome(t, "noisy", o, schema.OutcomeReasonTimeout, noIndex)
	s.kill(noisy)
}

func TestWaitFormats(t *testing.T) {
	s := start(t)
	h := s.pipe(`printf '\033[1mbold\033[0m\n10%%\r20%%\n'; printf 'a\377' >&2; sleep 60`)
	o := s.await(h, obj{"bytes": 23}, "from", "start", "format", "text")
	equal(t, "text", texts(o)["stdout"], "\x1b[1mbold\x1b[0m\n10%\r20%\n")
	b, _ := base64.StdEncoding.DecodeString(str(o.Output["stderr"].Base64))
	equal(t, "no UTF-8", string(b), "a\xff")
	o = s.await(h, obj{"bytes": 0}, "from", "start")
	equal(t, "plain", texts(o)["stdout"], "bold\n20%\n")
	equal(t, "plain, no UTF-8", texts(o)["stderr"], "a\uFFFD")
	o = s.await(h, obj{"pattern": "^bold$", "flags": "m"}, "from", "start")
	checkOutcome(t, "plain pattern", o, schema.OutcomeReasonPattern, 0)
	o = s.await(h, obj{"pattern": `\x1b\[1mBOLD\x1b`, "on": "raw", "flags": "i"}, "from", "start")
	checkOutcome(t, "raw pattern", o, schema.OutcomeReasonPattern, 0)
	o = s.await(h, obj{"bytes": 0}, "from", "start", "maxBytes", 6)
	if tr := o.Output["stdout"].Truncated; tr == nil || tr.OmittedBytes+tr.HeadBytes+tr.TailBytes != 9 {
		t.Errorf("truncated %+v", o.Output["stdout"])
	}
}
