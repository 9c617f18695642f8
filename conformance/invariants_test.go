package conformance

import (
	"strings"
	"testing"
)

// TestChosenAgain: what holds of a job whose events are chosen again, and what of others.
// A line of "-->" is a request of ours, any other is the server's.
func TestChosenAgain(t *testing.T) {
	const (
		run       = `--> 7 job/run {"argv":["x"],"name":"n"}`
		start     = `--> 7 job/start {"argv":["x"],"events":["output"]}`
		all       = `--> 7 job/start {"argv":["x"]}`
		subscribe = `--> 8 job/subscribe {"handle":"n"}`
		again     = `--> 8 job/subscribe {"handle":1,"from":"start"}`
		started   = `{"jsonrpc":"2.0","method":"job/started","params":{"handle":1,"seq":1,"requestId":7,"job":{"handle":1,"name":"n"}}}`
		exited    = `{"jsonrpc":"2.0","method":"job/exited","params":{"handle":1,"seq":3}}`
		answer    = `{"jsonrpc":"2.0","id":7,"result":{"exit":{},"job":{"handle":1,"name":"n","streams":{}}}}`
		answered  = `{"jsonrpc":"2.0","id":7,"result":{"job":{"handle":1,"streams":{}}}}`
	)
	output := func(seq, more string) string {
		return `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":` + seq + `,"stream":"stdout","bytes":1,"text":"x",` + more + `}}`
	}
	for _, test := range []struct {
		name, want string
		log        []string
	}{
		{"a run is silent", "job/started of job 1 was not asked for", []string{run, started}},
		{"unless it is asked for by its name", "", []string{run, subscribe, started, answer}},
		{"also where its answer comes first", "", []string{run, subscribe, answer, started}},
		{"another's name", "job/started of job 1 was not asked for", []string{run, strings.Replace(subscribe, `"n"`, `"m"`, 1), started}},
		{"late without an exit", "", []string{start, answered, output("1", `"offset":0,"late":true`)}},
		{"late before the exit", "before its job/exited is not late", []string{all, started, output("2", `"offset":0,"late":true`)}},
		{"not late after the exit", "after its job/exited is late", []string{all, started, output("2", `"offset":0`), exited, output("4", `"offset":1`)}},
		{"once more after the exit", "", []string{all, started, output("2", `"offset":0`), exited, again, output("4", `"offset":0,"restart":true`)}},
		{"once more without a mark", "goes on at 1, and this chunk begins at 0", []string{all, started, output("2", `"offset":0`), exited, again, output("4", `"offset":0`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := checked(t, test.log); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("expected %q, got %q", test.want, got)
			}
		})
	}
}

// checked is the first thing that a checker finds in a log.
func checked(t *testing.T, log []string) string {
	c := newChecker()
	for i, line := range log {
		if ours, ok := strings.CutPrefix(line, "--> "); ok {
			id, rest, _ := strings.Cut(ours, " ")
			method, params, _ := strings.Cut(rest, " ")
			v, err := decode([]byte(params))
			if err != nil {
				t.Fatal(err)
			}
			c.sent(&request{name: id, id: id, method: method, params: v.(map[string]any)})
			continue
		}
		m, err := classify([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if why := c.received(&m, i); why != "" {
			return why
		}
	}
	return ""
}
