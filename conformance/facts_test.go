package conformance

import (
	"strings"
	"testing"

	"shelld.dev/shelld/conformance/internal/wire"
)

// TestFacts checks the invariants over several connections. A line begins with the connection; behind "-->" it is a
// request of the client, otherwise a message of the server.
func TestFacts(t *testing.T) {
	const (
		initA   = `A --> 1 initialize {"session":{"clientId":"a"}}`
		inA     = `A {"jsonrpc":"2.0","id":1,"result":{"session":{}}}`
		initB   = `B --> 1 initialize {"session":{"resume":[{"handle":1,"after":1}]}}`
		inB     = `B {"jsonrpc":"2.0","id":1,"result":{"session":{"resumed":[{"handle":1,"job":{"handle":1},"n":3}]}}}`
		start   = `A --> 7 job/start {"argv":["x"]}`
		started = `A {"jsonrpc":"2.0","method":"job/started","params":{"handle":1,"seq":1,"n":1,"requestId":7,"job":{"handle":1,"status":"running"}}}`
		exited  = `{"jsonrpc":"2.0","method":"job/exited","params":{"handle":1,"seq":SEQ,"n":2,"exit":{"code":0}}}`
		closed  = `{"jsonrpc":"2.0","method":"job/closed","params":{"handle":1,"seq":SEQ,"n":3}}`
	)
	as := func(by, message, seq string) string { return by + " " + strings.ReplaceAll(message, "SEQ", seq) }
	run := []string{initA, inA, start, started, as("A", exited, "2"), as("A", closed, "3")}
	with := func(more ...string) []string { return append(append([]string{}, run...), more...) }
	without := func(message string) string { return strings.Replace(message, `"n":2,`, "", 1) }
	for _, test := range []struct {
		name, want string
		log        []string
	}{
		{"told again", "", with(initB, inB, as("B", exited, "1"), as("B", closed, "2"))},
		{"left out", "the event 2 of job 1 (exited exit {\"code\":0}) was left out before the event 3", with(initB, inB, as("B", closed, "1"))},
		{"left out, and not wanted", "", with(strings.Replace(initB, `"after":1`, `"after":1,"events":["closed"]`, 1), inB, as("B", closed, "1"))},
		{"left out, and told before", "", with(strings.Replace(initB, `"after":1`, `"after":2`, 1), inB, as("B", closed, "1"))},
		{"sent and not missed", "n of job 1 is 2 after 2", with(strings.Replace(initB, `"after":1`, `"after":2`, 1), inB, as("B", exited, "1"))},
		{"without a number", "job/exited of job 1 has no n", append(run[:4:4], without(as("A", exited, "2")))},
		{"another number", `the event exited exit {"code":0} of job 1 has n 4, and had 2`, with(initB, inB, as("B", strings.Replace(exited, `"n":2`, `"n":4`, 1), "1"))},
		{"another event", `the event 2 of job 1 is told as exited exit {"code":1}, and was as exited exit {"code":0}`, with(initB, inB, as("B", strings.Replace(exited, `"code":0`, `"code":1`, 1), "1"))},
		{"twice", "n of job 1 is 2 after 2", append(run[:5:5], as("A", exited, "3"))},
		{"nobody has asked", "job/exited of job 1 was not asked for", with(strings.Replace(initB, `{"resume":[{"handle":1,"after":1}]}`, `{}`, 1), `B {"jsonrpc":"2.0","id":1,"result":{"session":{}}}`, as("B", exited, "1"))},
		{"too early", "before the answer to initialize nothing else comes", with(initB, as("B", exited, "1"))},
		{"another job", "resumed tells of job 2 in the place of job 1", with(initB, strings.Replace(inB, `[{"handle":1`, `[{"handle":2`, 1))},
		{"fewer jobs", "resume has 1 jobs, and resumed 0", with(initB, `B {"jsonrpc":"2.0","id":1,"result":{"session":{}}}`)},
		{"a job that nobody has started", "handles count up from 1, and 1 starts were sent", with(initB, inB, as("B", strings.Replace(exited, `"handle":1`, `"handle":2`, 1), "1"))},
		{"after the replacement", "session/replaced is the last message", with(`A {"jsonrpc":"2.0","method":"session/replaced","params":{}}`, `A {"jsonrpc":"2.0","method":"session/clientJoined","params":{}}`)},
		{"an answer without a number", "has no n, the number of the last event of job 1", with(initB, strings.Replace(inB, `,"n":3`, "", 1))},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, got := newFacts(), ""
			checkers := map[string]*checker{"A": newChecker(all), "B": newChecker(all)}
			for i, line := range test.log {
				by, message, _ := strings.Cut(line, " ")
				if got != "" {
					t.Fatalf("line %d already: %s", i, got)
				}
				got = checkLine(t, checkers[by], message, i)
			}
			if got != test.want && (test.want == "" || !strings.Contains(got, test.want)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// checkLine passes a line of a log to a checker, and returns which invariant it violates.
func checkLine(t *testing.T, c *checker, line string, at int) string {
	t.Helper()
	if ours, ok := strings.CutPrefix(line, "--> "); ok {
		words := strings.SplitN(ours, " ", 3)
		params, err := wire.Decode([]byte(words[2]))
		if err != nil {
			t.Fatal(err)
		}
		c.sent(&request{name: words[1], id: words[0], method: words[1], params: params.(map[string]any)})
		return ""
	}
	m, err := wire.Classify([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return c.received(&m, at)
}

// TestSameBytes checks that the output of two connections is compared where it overlaps.
func TestSameBytes(t *testing.T) {
	with := func(runs ...run) *line {
		c := newChecker(newFacts())
		c.job("1").stream("stdout").runs = runs
		return &line{check: c}
	}
	for _, test := range []struct {
		a, b *line
		want string
	}{
		{with(run{data: []byte("abc")}), with(run{offset: 1, data: []byte("bcd")}), ""},
		{with(run{data: []byte("abc")}), with(run{offset: 1, data: []byte("bXd")}), "two connections were sent different bytes of job 1 (stdout) between 1 and 3"},
		{with(run{data: []byte("abc")}), with(run{offset: 3, data: []byte("X")}), ""},
		{with(run{data: []byte("abc")}), with(run{data: []byte("X"), cut: 2}), ""},
	} {
		if got := sameBytes([]*line{test.a, test.b}); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
