package rpc_test

import (
	"strings"
	"testing"
)

const (
	query      = "\x1b[c"
	serverSays = "\x1b[?62;22c"
)

// asker starts a program that queries its terminal's type for each line that it reads, and prints that line, with any
// input before it.
func (s *session) asker(more ...any) (handle int64) {
	s.t.Helper()
	return s.pty(`stty raw -echo; printf ready; while read -r x; do printf '\033[c(%s)' "$x"; done`,
		append(more, "wait", obj{"until": []obj{{"pattern": "ready"}}})...)
}

// types types a line to the asker; before is the input that others have typed before it.
func (s *session) types(handle int64, line, before string) {
	s.t.Helper()
	want := query + "(" + before + line + ")"
	w := s.write(handle, line+"\n", "wait", obj{"until": []obj{{"bytes": len(want)}}, "format": "text", "timeoutMs": 10000})
	if got := w.Outcome.Output["pty"].Text; got == nil || *got != want {
		s.t.Errorf("for %q it says %s, want %q", line, str(got), want)
	}
}

// sinceRestart returns the output of a terminal since its last restart.
func (s *session) sinceRestart(handle int64) string {
	s.t.Helper()
	s.sentUpTo(handle, int64(len(s.stored(handle, "pty"))))
	var got strings.Builder
	for _, e := range s.all(handle, "job/output") {
		if e.Restart {
			got.Reset()
		}
		got.Write(e.data())
	}
	return got.String()
}

// TestClientAnswers: a client that answers queries itself gets all of them, and the server answers none: the program
// reads only what the client types.
func TestClientAnswers(t *testing.T) {
	s := start(t)
	h := s.asker("queries", "client")
	s.types(h, "1", "")
	s.write(h, "\x1b[?1;2c")
	s.types(h, "2", "\x1b[?1;2c")
	s.types(h, "3", "")
	if got, want := s.sinceRestart(h), "ready"+query+"(1)"+query+"(\x1b[?1;2c2)"+query+"(3)"; got != want {
		t.Errorf("%q was sent, want %q", got, want)
	}
	if got := s.screen(h, "trim", true).Lines; len(got) == 0 || got[0] != "ready(1)(2)(3)" {
		t.Errorf("its screen shows %q", got)
	}
}

// TestClientAnswersLater: the side that answers changes in a turn of the job, for later queries. A client without a
// subscription answers none.
func TestClientAnswersLater(t *testing.T) {
	s := start(t)
	h := s.asker()
	s.types(h, "1", "")
	s.subscribe(h, "queries", "client")
	s.types(h, "2", serverSays)
	s.types(h, "3", "")
	s.subscribe(h, "encoding", "base64") // nothing else changes
	s.types(h, "4", "")
	s.subscribe(h, "queries", "strip")
	s.types(h, "5", "")
	s.types(h, "6", serverSays)
	s.subscribe(h, "queries", "client")
	s.types(h, "7", serverSays)
	s.unsubscribe(h)
	s.types(h, "8", "")
	s.types(h, "9", serverSays)
	s.subscribe(h, "queries", "client", "events", []string{"closed"}) // the client reads with job/read
	s.types(h, "a", serverSays)
	s.types(h, "b", "")
	s.subscribe(h, "events", []string{})
	s.types(h, "c", "")
	s.types(h, "d", serverSays)
}

// TestClientAnswersUnheard: with "events": [], the client cannot answer.
func TestClientAnswersUnheard(t *testing.T) {
	s := start(t)
	h := s.asker("queries", "client", "events", []string{})
	s.types(h, "1", "")
	s.types(h, "2", serverSays)
	s.subscribe(h, "queries", "client", "from", "start")
	s.types(h, "3", serverSays)
	if got, want := s.sinceRestart(h), "ready(1)("+serverSays+"2)"+query+"("+serverSays+"3)"; got != want {
		t.Errorf("%q was sent, want %q: %s", got, want, s.chunks(h))
	}
}

// TestClientAnswersOnce: no query is answered twice. A client that answers from now on does not get the queries that
// the server has answered, nor those that were sent to it before.
func TestClientAnswersOnce(t *testing.T) {
	s := start(t)
	h := s.asker()
	s.types(h, "1", "")
	s.subscribe(h, "queries", "client", "from", "start")
	s.types(h, "2", serverSays)
	second := "(" + serverSays + "2)"
	if got, want := s.sinceRestart(h), "ready(1)"+query+second; got != want {
		t.Errorf("%q was sent, want %q: %s", got, want, s.chunks(h))
	}
	s.subscribe(h, "from", "start")
	s.types(h, "3", "")
	if got, want := s.sinceRestart(h), "ready(1)"+second+query+"(3)"; got != want {
		t.Errorf("once more %q was sent, want %q: %s", got, want, s.chunks(h))
	}
}

// TestClientAnswersPipe: the output of pipes has no queries.
func TestClientAnswersPipe(t *testing.T) {
	s := start(t)
	h := s.pipe(`printf 'a\033[cb'`, "queries", "client")
	if got := s.output(h, "stdout"); got != "a\x1b[cb" {
		t.Errorf("%q was sent", got)
	}
	h = s.pipe(`read -r x; printf '\033[c'`, "stdin", "open")
	s.subscribe(h, "queries", "client")
	s.write(h, "\n")
	if got := s.output(h, "stdout"); got != "\x1b[c" {
		t.Errorf("after a subscription %q was sent", got)
	}
}
