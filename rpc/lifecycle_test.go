package rpc_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

type none struct{}

func TestBeforeInitialize(t *testing.T) {
	s := open(t)
	s.sendBad(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	s.sendBad(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
	for _, method := range []string{"job/list", "shutdown", "no/such"} {
		refused[none](s.beginBad(method, nil), schema.KindNotInitialized)
	}
	// The life cycle is checked before the params.
	refused[none](s.beginBad("job/get", []int{1}), schema.KindNotInitialized)

	refused[none](s.beginBad("initialize", obj{"processId": "me"}), schema.KindInvalidParams)
	refused[none](s.beginBad("job/list", nil), schema.KindNotInitialized)
	v := refused[schema.UnsupportedVersionData](s.beginBad("initialize", obj{"protocolVersion": "0.9"}), schema.KindUnsupportedVersion)
	if !slices.Equal(v.Supported, []string{"1"}) {
		t.Errorf("supported versions: %v", v.Supported)
	}
	s.initialize("protocolVersion", "1")
	refused[none](s.beginBad("initialize", obj{}), schema.KindInvalidRequest)
	do[schema.JobListResult](s, "job/list", nil)
}

func TestInitializeIgnoresWhatItDoesNotKnow(t *testing.T) {
	s := open(t)
	r := s.initialize(
		"colour", "blue",
		"clientInfo", obj{"name": "test", "version": "1", "mood": "good"},
		"processId", nil,
		"capabilities", obj{"confirm": false, "telepathy": true},
		"_meta", obj{"any": []int{1}},
		"options", obj{"events": []string{"started", "output", "patternMatched", "watchRemoved", "stateChanged", "exited", "closed", "newInVersion9"},
			"limits": obj{"maxJobs": 7, "inputQueueBytes": 8192, "shutdownGraceMs": 1234, "maxDreams": 3}, "weather": 1},
	)
	equal(t, "version", r.ProtocolVersion, "1")
	equal(t, "name", r.ServerInfo.Name, "shelld")
	equal(t, "maxJobs", r.Limits.MaxJobs, 7)
	equal(t, "inputQueueBytes", r.Limits.InputQueueBytes, 8192)
	equal(t, "shutdownGraceMs", r.Limits.ShutdownGraceMs, 1234)
	equal(t, "maxMessageBytes", r.Limits.MaxMessageBytes, 16<<20)
	for _, m := range schema.Methods() {
		if m.From == "client" && m.Kind == "request" && slices.Contains(r.Capabilities.Methods, m.Name) != (m.Level != "sessions") {
			t.Errorf("capabilities.methods and %s of level %s", m.Name, m.Level)
		}
	}
	var told []string
	for _, w := range r.Warnings {
		told = append(told, w.Pointer)
	}
	equal(t, "warnings", strings.Join(told, " "), "/capabilities/telepathy /clientInfo/mood /colour /options/limits/maxDreams /options/weather")
	if other := open(t).initialize(); other.SessionID == r.SessionID {
		t.Errorf("two runs have the session id %s", r.SessionID)
	}
}

// TestWithoutSessions: a server without sessions does not have their methods, and ignores what initialize says about them,
// even if a session could not take it.
func TestWithoutSessions(t *testing.T) {
	s := open(t)
	r := result[schema.InitializeResult](s.beginBad("initialize", obj{
		"session": "work", "capabilities": obj{"ping": 1}, "options": obj{"limits": obj{"pingMs": 5, "lostMs": nil, "maxJobs": 7}},
	}))
	s.setUp = true
	equal(t, "maxJobs", r.Limits.MaxJobs, 7)
	var told []string
	for _, w := range r.Warnings {
		told = append(told, w.Pointer)
	}
	equal(t, "warnings", strings.Join(told, " "), "/capabilities/ping /options/limits/lostMs /options/limits/pingMs /session")
	for _, method := range ofSessions {
		d := refused[schema.MethodNotFoundData](s.beginBad(method, nil), schema.KindMethodNotFound)
		equal(t, "method", d.Method, method)
	}
}

// TestPolicyInEffect: initialize answers with the restrictions that it has understood, and refuses members that may
// have been meant as restrictions.
func TestPolicyInEffect(t *testing.T) {
	s := open(t)
	for _, misspelt := range []obj{
		{"options": obj{"allowComands": []string{"ls"}}}, {"alowedDirectories": []string{"/"}}, {"denyCommands": []string{"ls"}},
		{"allowedDirectories": []string{}},
	} {
		refused[schema.InvalidParamsData](s.beginBad("initialize", misspelt), schema.KindInvalidParams)
	}
	root := t.TempDir()
	p := s.initialize("rootDirectory", root, "allowedDirectories", []string{root},
		"options", obj{"allowCommands": []string{}, "denyCommands": []string{"rm", "dd"}, "secretInput": "clientOnly", "confirm": obj{"start": "ask", "kill": "deny"}}).Policy
	equal(t, "root", str(p.RootDirectory), root)
	equal(t, "directories", *p.AllowedDirectories, 1)
	equal(t, "allowed", *p.AllowCommands, 0)
	equal(t, "denied", *p.DenyCommands, 2)
	equal(t, "secretInput", p.SecretInput, schema.SecretInputClientOnly)
	equal(t, "confirm of one who cannot be asked", p.Confirm,
		schema.ConfirmInEffect{Start: schema.ConfirmVerdictDeny, Write: schema.ConfirmVerdictAllow, Kill: schema.ConfirmVerdictDeny})

	p = open(t).initialize("capabilities", obj{"confirm": true}, "options", obj{"confirm": obj{"start": "ask"}, "denyCommands": []string{}}).Policy
	equal(t, "confirm", p.Confirm.Start, schema.ConfirmVerdictAsk)
	if p.AllowedDirectories != nil || p.AllowCommands != nil || p.DenyCommands != nil || p.SecretInput != schema.SecretInputAny {
		t.Errorf("without restrictions: %+v", p)
	}
}

func TestShutdown(t *testing.T) {
	s := start(t)
	h := s.pipe("sleep 60")
	do[schema.ShutdownResult](s, "shutdown", nil)
	equal(t, "exit", s.exit(h), "shutdown SIGTERM")
	s.event(h, "job/closed")
	for _, method := range []string{"job/list", "shutdown", "initialize", "no/such"} {
		refused[none](s.beginBad(method, nil), schema.KindInvalidRequest)
	}
	s.send(`{"jsonrpc":"2.0","method":"exit"}`)
	clean, err := s.end()
	equal(t, "clean", clean, true)
	equal(t, "error", err, nil)
}

// TestDuringShutdown: a job that ignores TERM delays the shutdown for its grace.
func TestDuringShutdown(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"shutdownGraceMs": 700}})
	h := s.pipe(`trap "" TERM; echo ready; sleep 60; sleep 60`)
	s.see(h, "ready")
	down := s.begin("shutdown", nil)
	for _, method := range []string{"job/list", "job/start", "shutdown"} {
		refused[none](s.begin(method, nil), schema.KindShuttingDown)
	}
	if down.answered() {
		t.Error("shutdown is answered while its job has not been killed")
	}
	result[schema.ShutdownResult](down)
	equal(t, "exit", s.exit(h), "shutdown SIGKILL")
	s.send(`{"jsonrpc":"2.0","method":"exit"}`)
	clean, _ := s.end()
	equal(t, "clean", clean, true)
}

// TestOwedAtTheEnd: after each kind of end, every request that was read before it is answered.
func TestOwedAtTheEnd(t *testing.T) {
	for _, end := range []struct {
		name  string
		do    func(*session)
		clean bool
	}{
		{"shutdown", func(s *session) {
			do[schema.ShutdownResult](s, "shutdown", nil)
			s.send(`{"jsonrpc":"2.0","method":"exit"}`)
		}, true},
		{"shutdown, then the end of stdin", func(s *session) { do[schema.ShutdownResult](s, "shutdown", nil); s.hangUp() }, true},
		{"exit", func(s *session) { s.send(`{"jsonrpc":"2.0","method":"exit"}`) }, false},
		{"the end of stdin", (*session).hangUp, false},
		{"a header that cannot be parsed", func(s *session) { s.sendBytes("Content-Length: x\r\n\r\n") }, false},
		{"a signal", func(s *session) { s.cancel() }, false},
	} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			checkOwed(t, s, func() { end.do(s) }, end.clean)
		})
	}
}

func checkOwed(t *testing.T, s *session, end func(), clean bool) {
	h := s.pipe("printf seen; sleep 60", "stdin", "open")
	s.see(h, "seen")
	wait := s.begin("job/wait", obj{"handle": h, "until": []obj{{"pattern": "never"}}, "from": "start"})
	closed := s.begin("job/wait", obj{"handle": h, "until": []obj{{"closed": true}}})
	started := s.begin("job/start", obj{"argv": []string{"sleep", "60"}, "wait": obj{"until": []obj{}}})
	write := s.begin("job/write", obj{"handle": h, "input": strings.Repeat("x", 500_000)})
	written := s.begin("job/write", obj{"handle": h, "input": "y", "wait": obj{"until": []obj{{"bytes": 1}}}})
	read := s.begin("job/read", obj{"handle": h, "stream": "stdout", "offset": 4, "waitMs": 60_000})
	run := s.begin("job/run", obj{"command": "printf out; sleep 60", "shell": "sh"})
	background := s.begin("job/run", obj{"argv": []string{"sleep", "60"}, "onTimeout": "background", "events": []string{}})
	s.event(2, "job/started")
	do[schema.JobListResult](s, "job/list", nil) // all earlier requests have begun
	end()
	gotClean, err := s.end()
	equal(t, "clean", gotClean, clean)
	equal(t, "error", err, nil)

	d := refused[schema.ShuttingDownData](wait, schema.KindShuttingDown)
	checkShutOutcome(t, "wait", d.Outcome)
	if d.Outcome != nil {
		equal(t, "output of the wait", texts(*d.Outcome)["stdout"], "seen")
	}
	checkShutOutcome(t, "wait for closed", refused[schema.ShuttingDownData](closed, schema.KindShuttingDown).Outcome)
	checkShutOutcome(t, "start", refused[schema.ShuttingDownData](started, schema.KindShuttingDown).Outcome)
	refused[schema.ShuttingDownData](write, schema.KindShuttingDown)
	refused[schema.ShuttingDownData](written, schema.KindShuttingDown)
	read.answer() // the answer may also say that there was no output
	for _, c := range []*call{run, background} {
		r := result[schema.JobRunResult](c)
		equal(t, "run", exitText(r.Exit), "shutdown SIGTERM")
	}
	equal(t, "exit", s.exit(h), "shutdown SIGTERM")
}

func checkShutOutcome(t *testing.T, what string, o *schema.Outcome) {
	t.Helper()
	if o == nil || o.Reason != schema.OutcomeReasonShuttingDown || o.Index != nil {
		t.Errorf("%s: outcome %+v, want the reason shuttingDown and no index", what, o)
	}
}

// TestHangUpAtOnce: requests that were sent right before the end of stdin are answered.
func TestHangUpAtOnce(t *testing.T) {
	s := start(t)
	list := s.begin("job/list", nil)
	job := s.begin("job/start", obj{"argv": []string{"sleep", "60"}, "name": "j", "mode": "pipe"})
	wait := s.begin("job/wait", obj{"handle": "j", "until": []obj{{"exit": true}}})
	run := s.begin("job/run", obj{"argv": []string{"sleep", "60"}})
	kill := s.begin("job/kill", obj{"handle": "j"})
	s.hangUp()
	clean, err := s.end()
	equal(t, "clean", clean, false)
	equal(t, "error", err, nil)
	for _, c := range []*call{list, job, wait, run, kill} {
		c.answer() // the checker ensures that there is exactly one
	}
}

func TestHangUpBeforeAnything(t *testing.T) {
	s := open(t)
	s.hangUp()
	clean, err := s.end()
	equal(t, "clean", clean, false)
	equal(t, "error", err, nil)
}

func TestExitBeforeInitialize(t *testing.T) {
	s := open(t)
	s.send(`{"jsonrpc":"2.0","method":"exit"}`)
	clean, err := s.end()
	equal(t, "clean", clean, false)
	equal(t, "error", err, nil)
}

// brokenWriter is the output to a client that is gone.
type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// TestBrokenOutput: a client to which nothing can be written counts as gone, even if its end of the input is still
// open.
func TestBrokenOutput(t *testing.T) {
	m, err := jobs.NewManager(jobs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in, client := io.Pipe()
	type end struct {
		clean bool
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		clean, err := rpc.Serve(context.Background(), in, brokenWriter{}, m, rpc.Options{})
		ended <- end{clean, err}
	}()
	if _, err := io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	e := <-ended
	equal(t, "clean", e.clean, false)
	if !errors.Is(e.err, errBroken) {
		t.Errorf("error %v, want what the writer said", e.err)
	}
	_ = client.Close() // Ends the reading goroutine.
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
