package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
)

// TestDemo runs the demo at several widths.
func TestDemo(t *testing.T) {
	needJobs(t)
	for _, width := range []int{40, 80, 100} {
		t.Run(strconv.Itoa(width), func(t *testing.T) {
			var out, log bytes.Buffer
			p := newDemoPrinter(&out, width, false, false)
			if err := runDemo(watchdog, p, testServer(&log), demoSteps()); err != nil {
				t.Fatalf("%v\n%s%s", err, out.String(), log.String())
			}
			if log.Len() > 0 {
				t.Errorf("the server logged %s", log.String())
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("a line of %d columns: %q", n, line)
				}
				if base.Visible(line, "") != line {
					t.Errorf("a line with control characters: %q", line)
				}
			}
			demoLeftNothing(t, out.String())
		})
	}
}

// demoLeftNothing checks the processes that the demo reported as gone.
func demoLeftNothing(t *testing.T, out string) {
	t.Helper()
	gone := regexp.MustCompile(`process (\d+) \(`).FindAllStringSubmatch(out, -1)
	if len(gone) < 3 {
		t.Errorf("the demo speaks of %d processes, not of the shell, the worker and the server", len(gone))
	}
	for _, g := range gone {
		pid, err := strconv.ParseInt(g[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if alive(pid) {
			t.Errorf("process %d is alive after the demo", pid)
		}
	}
}

// TestDemoOnTerminal runs the demo in a job of a server: it has colour on a terminal of any width, unless the user
// disables colour.
func TestDemoOnTerminal(t *testing.T) {
	for _, test := range []struct {
		name   string
		env    map[string]*string
		colour bool
	}{
		{"colour", map[string]*string{"NO_COLOR": nil, "TERM": new("xterm")}, true},
		{"empty NO_COLOR", map[string]*string{"NO_COLOR": new(""), "TERM": new("xterm")}, true},
		{"NO_COLOR", map[string]*string{"NO_COLOR": new("1"), "TERM": new("xterm")}, false},
		{"dumb", map[string]*string{"NO_COLOR": nil, "TERM": new("dumb")}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			needJobs(t)
			s := startServed(t)
			s.call(t, "initialize", schema.InitializeParams{}, nil)
			var r schema.JobRunResult
			s.call(t, "job/run", schema.JobRunParams{
				Argv: []string{"shelld", "demo"}, Env: test.env, Mode: new(schema.ModePty), Cols: new(int64(60)),
				Format: new(schema.RunFormatText),
			}, &r)
			if r.Exit == nil || r.Exit.Code == nil || *r.Exit.Code != 0 || r.Output == nil {
				t.Fatalf("the demo did not succeed: %+v", r)
			}
			if got := strings.Contains(*r.Output, "\x1b[1;36m→ job/start\x1b[0m"); got != test.colour {
				t.Errorf("colour is %v, not %v: %q", got, test.colour, *r.Output)
			}
			if got := strings.Contains(*r.Output, "\x1b"); got != test.colour {
				t.Errorf("escape sequences are %v, not %v: %q", got, test.colour, *r.Output)
			}
			for line := range strings.SplitSeq(sgr.ReplaceAllString(*r.Output, ""), "\r\n") {
				if n := utf8.RuneCountInString(line); n > 60 {
					t.Errorf("a line of %d columns: %q", n, line)
				}
			}
			s.call(t, "shutdown", schema.ShutdownParams{}, nil)
			if err := s.leave("exit"); err != nil {
				t.Fatal(err)
			}
			s.ended(t, 0)
		})
	}
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// TestDemoFails checks that a demo that cannot go on reports the step, and ends.
func TestDemoFails(t *testing.T) {
	command := func(name string, args ...string) func(context.Context) (*exec.Cmd, error) {
		return func(ctx context.Context) (*exec.Cmd, error) { return exec.CommandContext(ctx, name, args...), nil }
	}
	never := []demoStep{{"patience", "Wait for what never comes.", func(ctx context.Context, s *demoSession) error {
		return s.await(ctx, "the end of days", func(*demoRecord) bool { return false })
	}}}
	broken := []demoStep{{"order", "See an event that is out of order.", func(ctx context.Context, s *demoSession) error {
		s.notice(client.Event{Method: "job/closed", Params: []byte(`{"handle":1,"seq":1}`)})
		return s.await(ctx, "anything", func(*demoRecord) bool { return true })
	}}}
	for _, test := range []struct {
		name    string
		timeout time.Duration
		server  func(context.Context) (*exec.Cmd, error)
		steps   []demoStep
		want    string
	}{
		{"watchdog", 100 * time.Millisecond, testServer(os.Stderr), never, `^step 1, patience: given up after 100ms: (the end of days was not seen|the server ended before the end of days)$`},
		{"fault", watchdog, testServer(os.Stderr), broken, `^step 1, order: job/closed as event number 1: job/started must come once, and first$`},
		{"no such server", watchdog, command("no-such-shelld"), demoSteps(), `^start the server: .*no-such-shelld`},
		{"server that ends", watchdog, command("shelld", "version"), demoSteps(), `^step 1, handshake: initialize: `},
		{"server that wants nothing", watchdog, command("shelld", "serve", "-framing", "header"), demoSteps(), `^step 1, handshake: initialize: `},
		{"server that ends early", watchdog, command("shelld", "version"), never, `^step 1, patience: the server ended before the end of days$`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := runDemo(test.timeout, newDemoPrinter(&out, 80, false, false), test.server, test.steps)
			if err == nil || !regexp.MustCompile(test.want).MatchString(err.Error()) {
				t.Errorf("the error is %v, not like %s", err, test.want)
			}
			if strings.Contains(out.String(), "Every step") {
				t.Errorf("the demo claims that all went well: %s", out.String())
			}
		})
	}
}

// TestDemoRecord checks that every violation of a guarantee of the protocol is detected.
func TestDemoRecord(t *testing.T) {
	const (
		started = `job/started {"handle":1,"seq":1}`
		exited  = `job/exited {"handle":1,"seq":2}`
	)
	for _, test := range []struct {
		name, want string
		events     []string
	}{
		{"all well", "", []string{started, `job/output {"handle":1,"seq":2,"offset":0,"bytes":2,"text":"ab"}`,
			`job/output {"handle":1,"seq":3,"offset":2,"bytes":2,"base64":"/w0="}`,
			`job/patternMatched {"handle":1,"seq":4,"offset":1,"endOffset":4}`,
			`job/exited {"handle":1,"seq":5}`, `job/closed {"handle":1,"seq":6}`}},
		{"not of a job", "", []string{started, `log/message {"text":"x"}`, exited}},
		{"event missing", "seq 3 after 1", []string{started, `job/closed {"handle":1,"seq":3}`}},
		{"event repeated", "seq 1 after 1", []string{started, started}},
		{"not started", "job/started must come once, and first", []string{`job/exited {"handle":1,"seq":1}`}},
		{"started twice", "job/started must come once, and first", []string{started, `job/started {"handle":1,"seq":2}`}},
		{"output missing", "offset 1, and the output so far ends at 0", []string{started, `job/output {"handle":1,"seq":2,"offset":1,"bytes":1,"text":"a"}`}},
		{"output cut", "announces 3 bytes and carries 2", []string{started, `job/output {"handle":1,"seq":2,"offset":0,"bytes":3,"text":"ab"}`}},
		{"output empty", "neither text nor base64", []string{started, `job/output {"handle":1,"seq":2,"offset":0,"bytes":0}`}},
		{"match before output", "before that was sent", []string{started, `job/patternMatched {"handle":1,"seq":2,"offset":0,"endOffset":1}`}},
		{"watch removed", "harmless pattern", []string{started, `job/watchRemoved {"handle":1,"seq":2}`}},
		{"exited twice", "came twice", []string{started, exited, `job/exited {"handle":1,"seq":3}`}},
		{"closed before exited", "before job/exited", []string{started, `job/closed {"handle":1,"seq":2}`}},
		{"closed not last", "after job/closed", []string{started, exited, `job/closed {"handle":1,"seq":3}`, `job/output {"handle":1,"seq":4}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r demoRecord
			var err error
			for _, event := range test.events {
				if err != nil {
					t.Fatalf("too early: %v", err)
				}
				method, params, _ := strings.Cut(event, " ")
				err = r.add(client.Event{Method: method, Params: []byte(params)})
			}
			if got := fmt.Sprint(err); err == nil != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%v, not %q", err, test.want)
			}
		})
	}
}

func TestDemoCheckReport(t *testing.T) {
	good := func() *schema.JobKillResult {
		return &schema.JobKillResult{
			Signals:       []schema.SentSignal{{Signal: "SIGTERM"}},
			Killed:        []schema.KilledProcess{{PID: 7, Command: "sh"}, {PID: 8, Command: "sleep 300"}},
			AlreadyClosed: new(false), Job: &schema.JobState{Status: schema.StatusClosed},
		}
	}
	if err := demoCheckReport(good(), 7, 8); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*schema.JobKillResult){
		"nothing left to kill":       func(r *schema.JobKillResult) { r.AlreadyClosed = new(true) },
		"survivors":                  func(r *schema.JobKillResult) { r.Survivors = []schema.Survivor{{PID: 8}} },
		"does not mention SIGTERM":   func(r *schema.JobKillResult) { r.Signals[0].Signal = "SIGKILL" },
		"does not name the shell":    func(r *schema.JobKillResult) { r.Killed = r.Killed[1:] },
		"does not name the worker":   func(r *schema.JobKillResult) { r.Killed[1].PID = 9 },
		"not closed after the kill":  func(r *schema.JobKillResult) { r.Job.Status = schema.StatusExited },
		"does not name the worker's": func(r *schema.JobKillResult) { r.Killed[1].Command = "sh" },
	} {
		r := good()
		spoil(r)
		if err := demoCheckReport(r, 7, 8); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

func TestDemoMatch(t *testing.T) {
	for want, o := range map[string]*schema.Outcome{
		"does not say how": nil,
		"ended with timeout, not with its pattern; the output was \"x\"": {Reason: schema.OutcomeReasonTimeout, Output: schema.Map[schema.OutcomeOutput]{"pty": {Text: new("x")}}},
		"does not say what matched":                                      {Reason: schema.OutcomeReasonPattern},
	} {
		if _, err := demoMatch(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

func TestDemoMessage(t *testing.T) {
	type message struct {
		sent bool
		body string
	}
	for _, test := range []struct {
		name     string
		all      bool
		messages []message
		want     string
	}{
		{"request whole, its answer in short", false, []message{
			{true, `{"id":1,"method":"job/start","params":{"argv":["sh"],"env":{"A":null},"x":"<&>"}}`},
			{false, `{"id":1,"result":{"job":{"handle":1,"pid":5,"cwd":"/"},"other":1}}`},
		}, `→ job/start #1  argv: ["sh"], env: {A: null}, x: "<&>"
← job/start #1  job: {handle: 1, pid: 5, …}, …
`},
		{"all of it", true, []message{{true, `{"id":1,"method":"job/start"}`}, {false, `{"id":1,"result":{"job":{"cwd":"/"}}}`}},
			"→ job/start #1\n← job/start #1  job: {cwd: \"/\"}\n"},
		{"error whole", false, []message{{true, `{"id":1,"method":"job/get","params":{"handle":9}}`}, {false, `{"id":1,"error":{"code":-32010,"message":"no","data":{"kind":"jobNotFound"}}}`}},
			"→ job/get #1  handle: 9\n← job/get failed #1\n            code: -32010, message: \"no\", data: {kind: \"jobNotFound\"}\n"},
		{"unknown event whole", false, []message{{false, `{"method":"job/new","params":{"a":[1,{}]}}`}}, "← job/new  a: [1, {}]\n"},
		{"output in a box, nothing obeyed", false, []message{{false, `{"method":"job/output","params":{"seq":2,"text":"a\r\n\u001b[1mb\u0007\r\u0085\r\n"}}`}},
			"← job/output  seq: 2\n            │ a\n            │ ␛[1mb␇␍<U+0085>\n"},
		{"escapes in names and values", false, []message{{false, `{"method":"job/\u001bx","params":{"\u001b":"\u007f\u009b"}}`}}, "← job/␛x  ␛: \"␡<U+009B>\"\n"},
		{"no message", false, []message{{false, "\x1b nonsense"}}, "← ␛ nonsense\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			p := newDemoPrinter(&out, 80, false, test.all)
			for _, m := range test.messages {
				p.message(m.sent, []byte(m.body))
			}
			if got := clockColumn.ReplaceAllString(out.String(), ""); got != test.want {
				t.Errorf("it prints\n%snot\n%s", got, test.want)
			}
		})
	}
}

var clockColumn = regexp.MustCompile(`(?m)^ *\d+ ms `)

func TestDemoWrap(t *testing.T) {
	for _, test := range []struct {
		text string
		want string
	}{
		{"", ""},
		{"short", "short"},
		{"exactly 20 chars, yes", "exactly 20 chars,|yes"},
		{"one two three four five six", "one two three four|five six"},
		{"a: 1, bcdefgh: 12, c: 3456", "a: 1, bcdefgh: 12,|c: 3456"},
		{"a: 1, name: \"the value\"", "a: 1, name: \"the|value\""},
		{"alpha beta name: 123456", "alpha beta|name: 123456"},
		{"01234567890123456789abc", "01234567890123456789|abc"},
		{"ééééééééééééééééééééé", "éééééééééééééééééééé|é"},
	} {
		if got := strings.Join(wrap(test.text, 20), "|"); got != test.want {
			t.Errorf("%q becomes %q, not %q", test.text, got, test.want)
		}
	}
	if got := strings.Join(fold("a  b, c  d, e  f", 10), "|"); got != "a  b, c  d|, e  f" {
		t.Errorf("fold moved something: %q", got)
	}
}
