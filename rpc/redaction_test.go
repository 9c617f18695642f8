package rpc_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// TestSecretsAreNotSent: no message to the client, and no log record, contains a secret value: neither output, events
// and job infos, nor error messages, which quote data from the client.
func TestSecretsAreNotSent(t *testing.T) {
	const secret = "hunter2hunter2"
	var log strings.Builder
	s := open(t, func(set *settings) {
		set.server.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		set.prepare = func(m *jobs.Manager) {
			if err := m.SetSecret("HUNTER", secret); err != nil {
				t.Fatal(err)
			}
		}
	})
	s.initialize("clientInfo", obj{"name": secret, "version": "1"})

	res := s.run("echo "+secret+"; echo $0 "+secret+" >&2", "events", []string{"started", "output", "exited", "closed"}, "description", secret)
	equal(t, "stdout", str(res.Stdout), "***\n")
	s.event(1, "job/closed")
	info := s.get(1)
	equal(t, "command", deref(t, info.Command), "echo ***; echo $0 *** >&2")
	equal(t, "description", deref(t, info.Description), "***")

	h := s.pty("printf '\\033]2;" + secret + "\\007'; read x; echo \"$x\"; " + secret)
	s.write(h, secret, "appendNewline", true, "wait", obj{"until": []obj{{"exit": true}}})
	if e := s.event(h, "job/exited"); e.Hint == nil || str(e.Hint.Command) != "***" {
		t.Errorf("hint %+v", e.Hint)
	}
	do[schema.JobListResult](s, "job/list", obj{})

	for _, r := range []refusal{
		{"a command", "job/start", obj{"argv": []string{secret}}, schema.KindCommandNotFound, nil, "***"},
		{"a directory", "job/start", obj{"argv": []string{"true"}, "cwd": "/" + secret}, schema.KindBadWorkingDirectory, nil, "***"},
		{"a pattern", "job/watch", obj{"handle": h, "pattern": "(" + secret}, schema.KindInvalidPattern, nil, ""},
		{"an unknown member", "job/start", obj{secret: 1}, schema.KindInvalidParams, nil, "***"},
		{"a wrong value", "job/start", obj{"mode": secret}, schema.KindInvalidParams, nil, ""},
		{"an unknown method", secret, obj{}, schema.KindMethodNotFound, nil, "***"},
		{"a wrong key", "job/write", obj{"handle": h, "keys": []string{secret}}, "", nil, ""},
	} {
		a := s.beginBad(r.method, r.params).answer()
		switch {
		case a.Error == nil:
			t.Fatalf("%s was accepted: %s", r.name, a.Result)
		case r.kind != "":
			a.Error.is(t, r.kind)
		}
		if !strings.Contains(a.Error.Message, r.says) {
			t.Errorf("%s: %s", r.name, a.Error.Message)
		}
	}
	s.finish()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.log {
		if !l.sent && bytes.Contains(l.body, []byte(secret)) {
			t.Errorf("sent %s", l.body)
		}
	}
	if strings.Contains(log.String(), secret) {
		t.Errorf("logged %s", log.String())
	}
}
