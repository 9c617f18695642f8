package conformance

import (
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/conformance/internal/wire"
)

// TestChosenAgain checks the invariants of jobs with a changed subscription, and of other jobs. A line with "-->"
// is a request of the client, any other a message of the server.
func TestChosenAgain(t *testing.T) {
	const (
		run       = `--> 7 job/run {"argv":["x"],"name":"n"}`
		start     = `--> 7 job/start {"argv":["x"],"events":["output"]}`
		all       = `--> 7 job/start {"argv":["x"]}`
		subscribe = `--> 8 job/subscribe {"handle":"n"}`
		again     = `--> 8 job/subscribe {"handle":1,"from":"start"}`
		started   = `{"jsonrpc":"2.0","method":"job/started","params":{"handle":1,"seq":1,"requestId":7,"job":{"handle":1,"name":"n","status":"running"}}}`
		chosen    = `{"jsonrpc":"2.0","id":8,"result":{}}`
		unheard   = `--> 8 job/unsubscribe {"handle":1}`
		exited    = `{"jsonrpc":"2.0","method":"job/exited","params":{"handle":1,"seq":3}}`
		answer    = `{"jsonrpc":"2.0","id":7,"result":{"exit":{},"job":{"handle":1,"name":"n","status":"closed","exit":{},"streams":{}}}}`
		canceled  = `{"jsonrpc":"2.0","id":7,"error":{"code":-32800,"message":"canceled","data":{"kind":"canceled","handle":1}}}`
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
		{"unless it is asked for by its name", "", []string{run, subscribe, chosen, started, answer}},
		{"from the answer on", "job/started of job 1 was not asked for", []string{run, subscribe, started, chosen}},
		{"also where its answer comes first", "", []string{run, subscribe, answer, chosen, started}},
		{"another's name", "job/started of job 1 was not asked for", []string{run, strings.Replace(subscribe, `"n"`, `"m"`, 1), chosen, started}},
		{"an older job's name", "", []string{all, started, answered, strings.Replace(run, "7", "6", 1), subscribe, chosen, output("2", `"offset":0`)}},
		{"before the answer to its start", "job/exited of job 1 was not asked for", []string{start, strings.Replace(exited, "3", "1", 1), answered}},
		{"a cancelled run is silent", "no start that is in flight", []string{run, canceled, started}},
		{"unless it goes on", "", []string{strings.Replace(run, `"name"`, `"onTimeout":"background","name"`, 1), canceled, started, output("2", `"offset":5`), output("3", `"offset":6`)}},
		{"and then every byte comes", "goes on at 6, and this chunk begins at 7", []string{strings.Replace(run, `"name"`, `"onTimeout":"background","name"`, 1), canceled, started, output("2", `"offset":5`), output("3", `"offset":7`)}},
		{"late without an exit", "", []string{start, answered, output("1", `"offset":0,"late":true`)}},
		{"late before the exit", "before its job/exited is not late", []string{all, started, output("2", `"offset":0,"late":true`)}},
		{"not late after the exit", "after its job/exited is late", []string{all, started, output("2", `"offset":0`), exited, output("4", `"offset":1`)}},
		{"once more after the exit", "", []string{all, started, output("2", `"offset":0`), exited, again, chosen, output("4", `"offset":0,"restart":true`)}},
		{"once more before the answer", "restart is true in the output of job 1", []string{all, started, output("2", `"offset":0`), again, output("3", `"offset":0,"restart":true`)}},
		{"once more without a mark", "restart is false in the output of job 1", []string{all, started, output("2", `"offset":0`), exited, again, chosen, output("4", `"offset":0`)}},
		{"a mark without a reason", "restart is true in the output of job 1", []string{all, started, output("2", `"offset":0,"restart":true`)}},
		{"nothing any more", "job/output of job 1 was not asked for", []string{all, started, output("2", `"offset":0`), unheard, chosen, output("3", `"offset":1`)}},
		{"not yet", "", []string{all, started, output("2", `"offset":0`), unheard, output("3", `"offset":1`), chosen}},
		{"others than were chosen", "job/exited of job 1 was not asked for", []string{all, started, `--> 8 job/subscribe {"handle":1,"events":["output"]}`, chosen, strings.Replace(exited, "3", "2", 1)}},
		{"in the order of the requests", "job/output of job 1 was not asked for", []string{all, started, again, strings.Replace(unheard, "8", "9", 1), strings.Replace(chosen, "8", "9", 1), chosen, output("2", `"offset":0,"restart":true`)}},
		{"not in that of the answers", "", []string{all, started, unheard, strings.Replace(again, "8", "9", 1), strings.Replace(chosen, "8", "9", 1), chosen, output("2", `"offset":0,"restart":true`)}},
		{"refused", "", []string{all, started, unheard, `{"jsonrpc":"2.0","id":8,"error":{"code":-32034,"message":"x","data":{"kind":"shuttingDown"}}}`, output("2", `"offset":0`)}},
		{"text for base64", "where base64 was asked for", []string{all, started, `--> 8 job/subscribe {"handle":1,"encoding":"base64"}`, chosen, output("2", `"offset":0`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := checked(t, test.log); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("expected %q, got %q", test.want, got)
			}
		})
	}
}

// TestWindow checks that a client that acknowledges receives no more output than its window.
func TestWindow(t *testing.T) {
	text := func(seq, offset, n int, more string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":%d,"stream":"stdout","offset":%d,"bytes":%d,"text":%q%s}}`, seq, offset, n, strings.Repeat("x", n), more)
	}
	begin := func(asks, takes bool) []string {
		return []string{
			fmt.Sprintf(`--> 1 initialize {"capabilities":{"ack":%v}}`, asks),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"ack":%v},"limits":{"windowBytes":10}}}`, takes),
			`--> 7 job/start {"argv":["x"]}`,
			`{"jsonrpc":"2.0","method":"job/started","params":{"handle":1,"seq":1,"requestId":7,"job":{"handle":1,"pid":5}}}`,
		}
	}
	const ack = `--> - job/ack {"handle":1,"stream":"stdout","offset":4}`
	const gap, restart = `,"gap":{"from":10,"to":100}`, `,"restart":true`
	const again, answer = `--> 8 job/subscribe {"handle":1,"from":"start"}`, `{"jsonrpc":"2.0","id":8,"result":{}}`
	for _, test := range []struct {
		name, want string
		log        []string
	}{
		{"full", "", append(begin(true, true), text(2, 0, 10, ""))},
		{"a byte too many", "are not acknowledged", append(begin(true, true), text(2, 0, 10, ""), text(3, 10, 1, ""))},
		{"as many as were acknowledged", "", append(begin(true, true), text(2, 0, 10, ""), ack, text(3, 10, 4, ""))},
		{"one more than that", "are not acknowledged", append(begin(true, true), text(2, 0, 10, ""), ack, text(3, 10, 5, ""))},
		{"a gap needs none", "", append(begin(true, true), text(2, 0, 10, ""), ack, text(3, 100, 4, gap))},
		{"what comes behind it does", "are not acknowledged", append(begin(true, true), text(2, 0, 10, ""), ack, text(3, 100, 5, gap))},
		{"a new beginning", "", append(begin(true, true), text(2, 0, 10, ""), ack, again, answer, text(3, 0, 10, restart))},
		{"which has a window of its own", "are not acknowledged", append(begin(true, true), text(2, 0, 10, ""), ack, again, answer, text(3, 0, 10, restart), text(4, 10, 1, ""))},
		{"a client that does not acknowledge", "", append(begin(false, true), text(2, 0, 20, ""))},
		{"a server that does not take it", "", append(begin(true, false), text(2, 0, 20, ""))},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := checked(t, test.log); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("expected %q, got %q", test.want, got)
			}
		})
	}
}

// checked returns the first violation that a checker finds in a log, or at its end.
func checked(t *testing.T, log []string) string {
	c := newChecker(nil)
	for i, line := range log {
		if ours, ok := strings.CutPrefix(line, "--> "); ok {
			id, rest, _ := strings.Cut(ours, " ")
			method, params, _ := strings.Cut(rest, " ")
			v, err := wire.Decode([]byte(params))
			if err != nil {
				t.Fatal(err)
			}
			if id == "-" {
				c.notified(method, v)
				continue
			}
			c.sent(&request{name: id, id: id, method: method, params: v.(map[string]any)})
			continue
		}
		m, err := wire.Classify([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if why := c.received(&m, i); why != "" {
			return why
		}
	}
	return c.asRead()
}
