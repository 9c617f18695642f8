package rpc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

const smallLimit = 1 << 20 // the smallest maxMessageBytes

func smallOutbox() *outbox {
	o := &outbox{}
	o.limit.Store(smallLimit)
	return o
}

// worst returns a text of n bytes, each of which takes six in JSON.
func worst(n int) string { return strings.Repeat("\x01", n) }

func longJob() schema.JobInfo {
	command, text := worst(40<<10), worst(50<<10)
	j := schema.JobInfo{
		Handle: 1, Command: &command, Argv: []string{"sh", "-c", command, text}, Description: &text, Group: &text, Shell: &text, Cwd: text,
		Mode: schema.ModePipe, Status: schema.StatusRunning, PID: 1, StartedAt: "2026-01-01T00:00:00Z",
	}
	j.Title, j.CurrentDirectory, j.Foreground = &text, &text, &schema.Process{PID: 1, Command: text}
	for range 32 {
		j.Watches = append(j.Watches, schema.WatchInfo{WatchID: 1, Pattern: worst(4096), On: schema.WatchTargetPlain})
	}
	j.Background = background()
	return j
}

// background returns as many processes as a keeper reports at most, each with the longest command line.
func background() (ps []schema.Process) {
	for range 1024 {
		ps = append(ps, schema.Process{PID: 1, Command: worst(256)})
	}
	return ps
}

func params[T any](t *testing.T, body []byte) (p T) {
	t.Helper()
	if len(body) > smallLimit {
		t.Errorf("the message has %d bytes, and may have %d", len(body), smallLimit)
	}
	var m struct{ Params json.RawMessage }
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatal(err)
	}
	if err := schema.ValidateMessage("server", body, nil); err != nil {
		t.Error(err)
	}
	return p
}

// TestStartedFits checks that job/started fits for any job, and lists the cut members.
func TestStartedFits(t *testing.T) {
	for name, id := range map[string]string{"1": "1", "long id": `"` + strings.Repeat("x", smallLimit/2) + `"`} {
		t.Run(name, func(t *testing.T) {
			whole := longJob()
			sent := schema.JobStartedParams{Handle: 1, Seq: 1, RequestID: json.RawMessage(id), Job: whole}
			j := params[schema.JobStartedParams](t, smallOutbox().bounded("job/started", sent)).Job
			want := []schema.JobInfoMember{"command", "argv", "description", "group", "shell", "cwd", "title", "currentDirectory", "foreground", "watches"}
			if !slices.Equal(j.Truncated, want) {
				t.Errorf("truncated %v, want %v", j.Truncated, want)
			}
			for what, pair := range map[string][2]string{
				"command": {deref(t, j.Command), deref(t, whole.Command)}, "cwd": {j.Cwd, whole.Cwd}, "the argument": {j.Argv[2], whole.Argv[2]}, "group": {deref(t, j.Group), deref(t, whole.Group)},
			} {
				if pair[0] == "" || !strings.HasPrefix(pair[1], pair[0]) {
					t.Errorf("%s: %d bytes, not the beginning of it", what, len(pair[0]))
				}
			}
			if len(j.Argv) != 3 || len(j.Background) != 1024 || len(whole.Argv) != 4 || len(whole.Watches) != 32 || len(deref(t, whole.Command)) != 40<<10 {
				t.Errorf("argv %d, background %d; what the engine has must stay whole", len(j.Argv), len(j.Background))
			}
		})
	}
}

// TestWhatFitsIsWhole checks that a message that fits is unchanged.
func TestWhatFitsIsWhole(t *testing.T) {
	text := strings.Repeat("x", 100<<10)
	j := schema.JobInfo{Handle: 1, Argv: []string{text, text}, Command: &text, Cwd: "/", Mode: schema.ModePipe, Status: schema.StatusRunning, PID: 1, StartedAt: "2026-01-01T00:00:00Z"}
	p := params[schema.JobStartedParams](t, smallOutbox().bounded("job/started", schema.JobStartedParams{Handle: 1, Seq: 1, RequestID: json.RawMessage("1"), Job: j}))
	if p.Job.Truncated != nil || deref(t, p.Job.Command) != text || !slices.Equal(p.Job.Argv, j.Argv) {
		t.Errorf("truncated %v", p.Job.Truncated)
	}
}

func TestMatchFits(t *testing.T) {
	for _, size := range []int{64 << 10, 100} { // for the latter, only encoding shows that it is too long
		testMatchFits(t, size)
	}
}

func testMatchFits(t *testing.T, size int) {
	text, line := worst(size), worst(4096)
	m := jobs.Match{Start: 7, End: 7 + int64(size), Text: text, Line: line, Named: map[string]*string{}}
	for i := range 2000 {
		m.Groups = append(m.Groups, nil)
		if i%3 > 0 {
			m.Groups[i] = &text
		}
	}
	for i := range 600 {
		m.Named[strings.Repeat("n", 1+i%5)+string(rune('a'+i%26))+string(rune('a'+i/26))] = &text
	}
	short := "short"
	m.Groups[0] = &short
	name, method, sent := eventParams(&laneEvent{Event: jobs.Event{Matched: &jobs.Matched{WatchID: 1, Stream: jobs.PTY, Match: m}}, suppressed: 3}, 1, 1)
	p := params[schema.JobPatternMatchedParams](t, smallOutbox().bounded(method, sent))
	if name != schema.EventNamePatternMatched || !or(p.Truncated, false) || p.Offset != 7 || p.EndOffset != 7+int64(size) || or(p.Suppressed, 0) != 3 {
		t.Errorf("truncated %v, [%d, %d)", p.Truncated, p.Offset, p.EndOffset)
	}
	if len(p.Groups) != 2000 || deref(t, p.Groups[0]) != short || p.Groups[3] != nil || deref(t, p.Groups[1]) == "" || len(p.Named) != len(m.Named) || len(m.Text) != size || len(deref(t, m.Groups[1])) != size {
		t.Error("a group is missing, or what the engine has was cut")
	}
}

func TestExitedFits(t *testing.T) {
	p := schema.JobExitedParams{Handle: 1, Seq: 1, Background: background(), Exit: schema.Exit{Reason: schema.ExitReasonExited}}
	if got := params[schema.JobExitedParams](t, smallOutbox().bounded("job/exited", p)); len(got.Background) != 1024 || got.Background[0].Command == "" {
		t.Errorf("%d processes in the background, want 1024", len(got.Background))
	}
}

// TestLongJobsAreAnswered checks that the answer has the job's handle, however long the command line is.
func TestLongJobsAreAnswered(t *testing.T) {
	j := longJob()
	all := make([]schema.JobInfo, 600)
	for i := range all {
		all[i] = j
		all[i].Background = nil
	}
	for name, result := range map[string]any{
		"start": schema.JobStartResult{Job: j}, "get": schema.JobGetResult{Job: j}, "list": schema.JobListResult{Jobs: all},
	} {
		short, ok := shortened(result, smallLimit)
		if body := resultBody(json.RawMessage("1"), short); !ok || len(body) > smallLimit {
			t.Errorf("%s: %d bytes, and may be %d", name, len(body), smallLimit)
		}
	}
	if _, ok := shortened(schema.JobReadResult{}, smallLimit); ok {
		t.Error("job/read has no job to be cut")
	}
}

func TestHead(t *testing.T) {
	for _, s := range []string{"", "abc", "aé€😀", "\xff\xfe\x80"} {
		for n := range len(s) + 2 {
			h := head(s, n)
			if len(h) > n || !strings.HasPrefix(s, h) || utf8.ValidString(s) && (!utf8.ValidString(h) || n-len(h) > 3) || n >= len(s) && h != s {
				t.Errorf("head(%q, %d) = %q", s, n, h)
			}
		}
	}
}

// TestWithoutScreen checks that a screen that is too long is left out of an outcome, in answers and in errors.
func TestWithoutScreen(t *testing.T) {
	long := &schema.Outcome{Reason: schema.OutcomeReasonExit, Screen: &schema.OutcomeScreen{Lines: []string{strings.Repeat("x", 100)}}}
	for _, v := range []any{
		schema.JobStartResult{Outcome: long}, schema.JobWaitResult{Outcome: *long}, schema.JobWriteResult{Outcome: long}, schema.CanceledData{Outcome: long},
		schema.ShuttingDownData{Outcome: long}, schema.JobExitedData{Outcome: long}, schema.NotInteractiveData{Outcome: long},
	} {
		if _, ok := withoutScreen(v, 1000); ok {
			t.Errorf("%T: a screen was left out that is not long", v)
		}
		less, ok := withoutScreen(v, 100)
		if text := string(marshal(less)); !ok || strings.Contains(text, `"screen":`) || !strings.Contains(text, `"screenOmitted":true`) || !strings.Contains(text, `"reason":"exit"`) {
			t.Errorf("%T: %s", v, text)
		}
	}
	if long.Screen == nil {
		t.Error("the outcome itself was changed")
	}
	for _, v := range []any{schema.JobWriteResult{}, schema.JobReadResult{}, nil} {
		if _, ok := withoutScreen(v, 0); ok {
			t.Errorf("%T has no screen", v)
		}
	}
}

// deref returns *p. If p is nil, it ends the test, but not the run of the whole package.
func deref[T any](t testing.TB, p *T) T {
	t.Helper()
	if p == nil {
		t.Fatal("a value is missing")
	}
	return *p
}
