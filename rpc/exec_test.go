package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

func ended(id int64, text string) jobs.Event {
	now := time.Now()
	return jobs.Event{Command: &jobs.CommandFinished{ShellCommand: jobs.ShellCommand{ID: id, Text: text, Finished: true, StartedAt: now, EndedAt: now}}}
}

// TestCommandsThatWaitAreBounded: the number of unread ends of commands is limited, however many and long they are.
// Each is sent or counted, in order, before the job's end.
func TestCommandsThatWaitAreBounded(t *testing.T) {
	for name, text := range map[string]string{"many": "x", "long": strings.Repeat("ü", 1<<19)} {
		t.Run(name, func(t *testing.T) {
			g := &gate{open: make(chan struct{})}
			o := newOutbox(g, lineFraming)
			l := newLane(o, nil, []schema.EventName{schema.EventNameCommandFinished, schema.EventNameExited}, schema.EncodingText)
			o.mu.Lock()
			l.openAlone()
			o.mu.Unlock()
			const all = 5000
			for id := range int64(all) {
				l.Event(ended(id+1, text))
			}
			o.mu.Lock()
			if l.bytes > thinnedBytes+finishedText+utf8.UTFMax || len(l.queue) > shellEnds {
				t.Errorf("%d events of %d bytes wait", len(l.queue), l.bytes)
			}
			o.mu.Unlock()
			l.Event(jobs.Event{Exited: &jobs.Exited{Exit: jobs.Exit{Reason: jobs.ReasonExited}}})
			close(g.open)
			if err := o.flush(); err != nil {
				t.Fatal(err)
			}
			lines := bytes.Split(bytes.TrimSpace(g.got.Bytes()), []byte("\n"))
			told := int64(0)
			for i, line := range lines[:len(lines)-1] {
				told += checkEnd(t, line, int64(i+1), told, len(text))
			}
			if told != all || !bytes.Contains(lines[len(lines)-1], []byte("job/exited")) {
				t.Errorf("told of %d commands, and last %.60s", told, lines[len(lines)-1])
			}
		})
	}
}

// checkEnd checks one job/commandFinished, and returns how many commands it stands for.
func checkEnd(t *testing.T, line []byte, seq, before int64, bytes int) int64 {
	t.Helper()
	var m struct {
		Params schema.JobCommandFinishedParams
	}
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	if err := schema.ValidateMessage("server", line, nil); err != nil {
		t.Fatal(err)
	}
	p, n := m.Params, 1+or(m.Params.Suppressed, 0)
	if p.Seq != seq || p.CommandID != before+n {
		t.Errorf("message %d has seq %d and tells of command %d, %d of which %d were told before", seq, p.Seq, p.CommandID, n, before)
	}
	if text := or(p.Command, ""); len(text) > finishedText || or(p.Truncated, false) != (bytes > finishedText) || len(text) < min(bytes, finishedText-1) {
		t.Errorf("a text of %d bytes, truncated %v", len(text), p.Truncated)
	}
	return n
}

// history returns n commands with texts of size bytes.
func history(n, size int) (all []jobs.ShellCommand) {
	for i := range n {
		all = append(all, jobs.ShellCommand{ID: int64(i + 1), Text: strings.Repeat("\x01", size), Finished: true, StartedAt: time.Now(), EndedAt: time.Now()})
	}
	return all
}

func TestHistoryPage(t *testing.T) {
	since := func(n int64) *int64 { return &n }
	const room = 1 << 20
	typed := slices.Concat(history(2, 1), []jobs.ShellCommand{{ID: 5}}, []jobs.ShellCommand{{ID: 4}}) // typed before 4 ran
	for _, test := range []struct {
		name  string
		all   []jobs.ShellCommand
		since *int64
		limit int
		want  string
		more  bool
	}{
		{"none", nil, nil, 100, "[]", false},
		{"none behind", nil, since(3), 100, "[]", false},
		{"all", history(4, 1), nil, 100, "[1 2 3 4]", false},
		{"the last", history(4, 1), nil, 2, "[3 4]", true},
		{"from the first", history(4, 1), since(0), 2, "[1 2]", true},
		{"behind one", history(4, 1), since(2), 2, "[3 4]", false},
		{"behind the last", history(4, 1), since(4), 2, "[]", false},
		{"behind what is not there yet", history(4, 1), since(9), 2, "[]", false},
		{"behind what is forgotten", history(4, 1)[2:], since(1), 2, "[3 4]", false},
		{"in the order in which they ran", typed, since(5), 9, "[4]", false},
		{"as many as have room, the last", history(4, room/3), nil, 9, "[3 4]", true},
		{"as many as have room, the first", history(4, room/3), since(0), 9, "[1 2]", true},
		{"one in any case", history(4, 2*room), nil, 9, "[4]", true},
		{"one in any case, behind another", history(4, 2*room), since(1), 9, "[2]", true},
	} {
		some, more := historyPage(test.all, test.since, test.limit, room)
		ids := []int64{}
		for _, c := range some {
			ids = append(ids, c.ID)
		}
		if got := fmt.Sprint(ids); got != test.want || more != test.more {
			t.Errorf("%s: %s, more %t; want %s, %t", test.name, got, more, test.want, test.more)
		}
	}
}

// TestHistoryFits: the texts in a history fit, however they are escaped.
func TestHistoryFits(t *testing.T) {
	const room = smallLimit / escapedBytes / 2
	for _, all := range [][]jobs.ShellCommand{history(1, 1<<20), history(1000, 100), history(1000, 1000), history(1000, 0)} {
		some, more := historyPage(all, nil, 1000, room)
		res := schema.JobHistoryResult{HasMore: more}
		for i := range some {
			res.Commands = append(res.Commands, shellCommand(&some[i], room))
		}
		body := resultBody(json.RawMessage("1"), res)
		if len(body) > smallLimit || len(some) == 0 {
			t.Errorf("%d commands in %d bytes", len(some), len(body))
		}
		if cut := or(res.Commands[0].Truncated, false); cut != (len(all) == 1) {
			t.Errorf("of %d commands: truncated %t", len(all), cut)
		}
		if err := schema.ValidateMessage("server", body, func(string) string { return "job/history" }); err != nil {
			t.Error(err)
		}
	}
}

// TestCommandText: a command line that a shell reports need not be UTF-8.
func TestCommandText(t *testing.T) {
	for _, test := range []struct {
		text, want string
		cut        bool
	}{{"ls", "ls", false}, {"", "(absent)", false}, {"a\xffb", "a\uFFFDb", false}, {"äöü", "äö", true}, {"\xff\xff\xff\xff\xff\xff", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD", true}} {
		got, cut := commandText(test.text, 5)
		if or(got, "(absent)") != test.want || or(cut, false) != test.cut {
			t.Errorf("%q: %q, %t; want %q, %t", test.text, or(got, "(absent)"), or(cut, false), test.want, test.cut)
		}
	}
}

func TestOneDeadline(t *testing.T) {
	var p schema.JobExecParams
	err := oneDeadline(schema.DecodeParams("job/exec", []byte(`{"handle":1,"command":"x","wait":{"timeoutMs":5,"more":1}}`), &p))
	var invalid *schema.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Fields) != 2 {
		t.Fatal(err)
	}
	for _, f := range invalid.Fields {
		if says := strings.Contains(f.Message, "next to wait"); says != (f.Pointer == "/wait/timeoutMs") {
			t.Errorf("%s: %s", f.Pointer, f.Message)
		}
	}
}

// TestExecResult: the result of a queued command says that it has not begun, and that of a removed one that it is over.
func TestExecResult(t *testing.T) {
	outcome := jobs.Outcome{Reason: "timeout", Index: -1, Spec: &jobs.WaitSpec{}, State: jobs.State{Handle: 1, Status: jobs.StatusRunning}}
	for name, test := range map[string]struct {
		res  jobs.ExecResult
		want string
	}{
		"in line": {jobs.ExecResult{Outcome: outcome, Command: jobs.ShellCommand{ID: 3}},
			`{"outcome":O,"output":"","exitCode":null,"durationMs":0,"commandId":3,"finished":false,"queued":true}`},
		"taken out of line": {jobs.ExecResult{Outcome: outcome, Command: jobs.ShellCommand{ID: 3, Finished: true}, Interrupt: true},
			`{"outcome":O,"output":"","exitCode":null,"durationMs":0,"commandId":3,"finished":true,"interrupted":true}`},
	} {
		body := resultBody(json.RawMessage("1"), execResult(nil, test.res, &jobs.WaitSpec{MaxBytes: 100}, false))
		if err := schema.ValidateMessage("server", body, func(string) string { return "job/exec" }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		o := `{"reason":"timeout","index":null,"output":{},"job":{"handle":1,"status":"running","streams":{}}}`
		want := `{"jsonrpc":"2.0","id":1,"result":` + strings.Replace(test.want, "O", o, 1) + `}`
		if string(body) != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, body, want)
		}
	}
}
