package rpc_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// ask waits for the n-th request of the server, counted from 1, which must be a client/secret.
func (s *session) ask(n int) (id string, p schema.ClientSecretParams) {
	s.t.Helper()
	id = s.question(n, "client/secret", &p)
	return id, p
}

// question waits for the n-th request of the server, which must have that method, and reads its params.
func (s *session) question(n int, method string, params any) (id string) {
	s.t.Helper()
	var m received
	s.wait(fmt.Sprintf("request %d of the server", n), func() bool {
		if len(s.questions) < n {
			return false
		}
		m = s.questions[n-1]
		return true
	})
	equal(s.t, "method", m.Method, method)
	if err := json.Unmarshal(m.Params, params); err != nil {
		s.t.Fatal(err)
	}
	return string(m.ID)
}

// tell answers a request of the server.
func (s *session) tell(id string, result any) {
	s.t.Helper()
	s.send(`{"jsonrpc":"2.0","id":` + id + `,"result":` + encode(result) + `}`)
}

// takenBack waits until the server has withdrawn a request.
func (s *session) takenBack(id string) {
	s.t.Helper()
	s.wait("$/cancelRequest of "+id, func() bool { return slices.Contains(s.taken, id) })
}

// asksSoFar returns the number of the server's requests so far.
func (s *session) asksSoFar() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.questions)
}

// cameBefore reports whether one message came before the other. It finds them by texts that they contain.
func (s *session) cameBefore(one, other string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.log {
		switch {
		case !l.sent && strings.Contains(string(l.body), one):
			return true
		case !l.sent && strings.Contains(string(l.body), other):
			return false
		}
	}
	return false
}

var answersSecrets = []any{"capabilities", obj{"secret": true}}

// login asks for a password until it is hunter2, and then for a name.
const login = `while :; do printf 'Password: '; stty -echo; read p; stty echo; echo; test "$p" = hunter""2 && break; echo Sorry; done; echo welcome; printf 'Name: '; read n`

// TestSecretIsAskedFor: the client is asked after the prompt, and its answer is typed. If it was wrong, the server asks
// again, with attempt 2. No message contains the password.
func TestSecretIsAskedFor(t *testing.T) {
	var log strings.Builder
	s := open(t, func(set *settings) {
		set.server.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	r := s.initialize(answersSecrets...)
	if r.Capabilities.Secret == nil || !*r.Capabilities.Secret {
		t.Fatalf("capabilities.secret: %v", r.Capabilities.Secret)
	}
	h := s.pty(login)
	id, p := s.ask(1)
	equal(t, "id", id, `"s1"`)
	equal(t, "handle", p.Handle, h)
	equal(t, "prompt", p.Prompt, "Password:")
	equal(t, "attempt", p.Attempt, 1)
	if !strings.Contains(p.Command, "stty -echo") || len(p.Command) > 1024 {
		t.Errorf("command %q", p.Command)
	}
	if !s.cameBefore(`"text":"Password: "`, `"client/secret"`) {
		t.Error("it asks before it has sent the prompt")
	}
	s.tell(id, obj{"value": "hunter3"})
	id, p = s.ask(2)
	equal(t, "attempt", p.Attempt, 2)
	s.tell(id, obj{"value": `hunter2`})
	s.see(h, "welcome\r\nName: ")
	equal(t, "times asked", s.asksSoFar(), 2)
	s.mu.Lock()
	for _, l := range s.log {
		if !l.sent && (strings.Contains(string(l.body), "hunter2") || strings.Contains(string(l.body), "hunter3")) {
			t.Errorf("sent: %.300s", l.body)
		}
	}
	s.mu.Unlock()
	s.kill(h)
	s.quit()
	if strings.Contains(log.String(), "hunter") {
		t.Errorf("logged: %s", log.String())
	}
}

// TestSecretOfUnheardJobs: a job without a subscription asks, too, and so does one that runs in job/run.
func TestSecretOfUnheardJobs(t *testing.T) {
	s := start(t, answersSecrets...)
	started := s.begin("job/start", obj{"command": login, "shell": "sh", "events": []string{}, "wait": obj{"until": until(obj{"pattern": "welcome"})}})
	ran := s.begin("job/run", obj{"command": strings.TrimSuffix(login, "; printf 'Name: '; read n"), "shell": "sh", "mode": "pty"})
	one, p := s.ask(1)
	two, q := s.ask(2)
	if p.Handle+q.Handle != 3 {
		t.Errorf("jobs %d and %d ask", p.Handle, q.Handle)
	}
	s.tell(one, obj{"value": "hunter2"})
	s.tell(two, obj{"value": "hunter2"})
	equal(t, "the wait ended with", result[schema.JobStartResult](started).Outcome.Reason, schema.OutcomeReasonPattern)
	equal(t, "the run ended with", exitText(result[schema.JobRunResult](ran).Exit), "exited 0")
	s.kill(1)
}

// TestSecretDeclined: after an answer that declines, refuses or is invalid, there is no second question, and the job
// goes on waiting.
func TestSecretDeclined(t *testing.T) {
	answers := []string{
		`"result":{"declined":true}`, `"error":{"code":-32601,"message":"no","data":{"kind":"methodNotFound","method":"client/secret"}}`,
		`"result":{}`, `"result":{"value":5}`, `"result":{"value":"a\nb"}`, `"result":{"value":"a","declined":true}`, `"result":{"value":"\ud800"}`, `"result":[]`,
		`"result":{"declined":false}`, `"result":null`, `"error":5`, `"result":{"value":"a","more":1}`,
	}
	s := start(t, answersSecrets...)
	for i, a := range answers {
		h := s.pty(login)
		id, p := s.ask(i + 1)
		equal(t, "handle", p.Handle, h)
		body := `{"jsonrpc":"2.0","id":` + id + `,` + a + `}`
		if i < 2 {
			s.send(body)
		} else {
			s.sendBad(body)
		}
		s.sendBad(`{"jsonrpc":"2.0","id":` + id + `,"result":{"value":"hunter2"}}`) // a second time
		w := s.get(h).WaitingForInput
		if w == nil || !w.Waiting || deref(t, w.WaitID) != p.WaitID {
			t.Errorf("%s: it waits no more: %+v", a, w)
		}
		equal(t, "asked", s.asksSoFar(), i+1)
		s.write(h, "hunter2", "appendNewline", true, "ifWaiting", p.WaitID, "wait", obj{"until": until(obj{"pattern": "welcome"})})
		s.kill(h)
	}
}

// TestSecretTakenBack: a question is withdrawn when another client types, when the program ends, and when it has waited
// long enough. A later answer is not typed. The same holds at shutdown.
func TestSecretTakenBack(t *testing.T) {
	t.Parallel()
	needs(t, "bash")
	s := start(t, answersSecrets...)
	h := s.pty(login)
	id, _ := s.ask(1)
	s.write(h, "hunter2\r")
	s.takenBack(id)
	s.tell(id, obj{"value": "late"})
	s.see(h, "welcome\r\nName: ")
	equal(t, "output", strings.Contains(s.output1(h), "late"), false)
	s.kill(h)

	h = s.pty(login)
	id, _ = s.ask(2)
	s.kill(h)
	s.takenBack(id)

	h = s.pty(`read -t 2 -s -p 'Password: ' p; sleep 60`, "shell", "bash")
	id, _ = s.ask(3)
	s.takenBack(id)
	s.tell(id, obj{"value": "late"})
	s.kill(h)

	s.pty(login)
	id, _ = s.ask(4)
	do[schema.ShutdownResult](s, "shutdown", nil)
	s.takenBack(id)
	s.send(`{"jsonrpc":"2.0","method":"exit"}`)
	if clean, err := s.end(); !clean || err != nil {
		t.Errorf("the server ended: clean %v, error %v", clean, err)
	}
}

// output1 returns the output of a terminal that was sent so far.
func (s *session) output1(h int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.check.jobs[h].data["pty"])
}

// TestSecretAtTheEndOfInput: the withdrawal is also sent to a client that has closed its end.
func TestSecretAtTheEndOfInput(t *testing.T) {
	s := start(t, answersSecrets...)
	s.pty(login)
	id, _ := s.ask(1)
	s.hangUp()
	s.takenBack(id)
	if clean, err := s.end(); clean || err != nil {
		t.Errorf("the server ended: clean %v, error %v", clean, err)
	}
}

// TestSecretBehindOutput: a question that waits behind output is asked even if the client unsubscribes from it. One
// that is over before it is sent is not asked.
func TestSecretBehindOutput(t *testing.T) {
	s := start(t, "capabilities", obj{"secret": true, "ack": true}, "options", obj{"limits": obj{"windowBytes": 65536}})
	flood := func() int64 { return s.pty(`head -c 200000 /dev/zero | tr '\0' x; ` + login) }
	h := flood()
	s.await(h, obj{"input": true}, "from", "start")
	equal(t, "asked before the prompt is sent", s.asksSoFar(), 0)
	do[schema.JobUnsubscribeResult](s, "job/unsubscribe", obj{"handle": h})
	id, p := s.ask(1)
	equal(t, "handle", p.Handle, h)
	s.kill(h)
	s.takenBack(id)

	h = flood()
	s.await(h, obj{"input": true}, "from", "start")
	s.write(h, "hunter2\r", "wait", obj{"until": until(obj{"pattern": "welcome"})})
	do[schema.JobUnsubscribeResult](s, "job/unsubscribe", obj{"handle": h})
	s.get(h)
	equal(t, "asked", s.asksSoFar(), 1)
	s.kill(h)
}

// TestSecretInputClientOnly: with clientOnly, a write is refused while the program asks for a password, except for a
// signal key.
func TestSecretInputClientOnly(t *testing.T) {
	for _, asks := range []bool{true, false} {
		s := start(t, "capabilities", obj{"secret": asks}, "options", obj{"secretInput": "clientOnly"})
		h := s.pty("trap 'stty echo; echo; echo caught; exit 3' INT; " + login)
		s.await(h, obj{"input": obj{"kinds": []string{"password"}}}, "from", "start")
		d := refused[schema.PolicyDeniedData](s.begin("job/write", obj{"handle": h, "input": "hunter2", "appendNewline": true}), schema.KindPolicyDenied)
		equal(t, "action", str(d.Action), "write")
		equal(t, "reason", str(d.Reason), "secretInput")
		equal(t, "handle", num(d.Handle), h)
		if asks {
			id, _ := s.ask(1)
			s.tell(id, obj{"value": "no"})
			id, p := s.ask(2)
			equal(t, "attempt", p.Attempt, 2)
			s.write(h, "", "keys", []string{"Ctrl-C"})
			s.takenBack(id)
		} else {
			s.write(h, "", "keys", []string{"Ctrl-C"})
		}
		s.see(h, "caught")
		equal(t, "exit", s.exit(h), "exited 3")
		s.quit()
	}
}
