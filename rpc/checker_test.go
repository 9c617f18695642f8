package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

// The messages of a correct job, in which TestCheckerNotices introduces errors.
const (
	asked   = `{"jsonrpc":"2.0","id":1,"method":"job/start","params":{"command":"x","mode":"pty"}}`
	started = `{"jsonrpc":"2.0","method":"job/started","params":{"handle":1,"seq":1,"requestId":1,"job":` + jobText + `}}`
	told    = `{"jsonrpc":"2.0","id":1,"result":{"job":` + jobText + `}}`
	output1 = `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":2,"stream":"pty","offset":0,"bytes":2,"text":"ab"}}`
	matched = `{"jsonrpc":"2.0","method":"job/patternMatched","params":{"handle":1,"seq":3,"watchId":1,"match":"b","groups":[],"named":{},"line":"ab","stream":"pty","offset":1,"endOffset":2}}`
	output2 = `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":4,"stream":"pty","offset":2,"bytes":1,"text":"c"}}`
	exited  = `{"jsonrpc":"2.0","method":"job/exited","params":{"handle":1,"seq":5,"durationMs":1,"background":[],"exit":{"code":0,"signal":null,"coreDumped":false,"reason":"exited"}}}`
	closed  = `{"jsonrpc":"2.0","method":"job/closed","params":{"handle":1,"seq":6}}`
	jobText = `{"handle":1,"status":"running","streams":{"pty":{"nextOffset":0,"kept":[]}},"argv":["x"],"cwd":"/","mode":"pty","pid":5,"startedAt":"2026-01-01T00:00:00Z","durationMs":0,"cols":80,"rows":24,"background":[],"watches":[]}`
)

// TestCheckerNotices: the checker accepts a correct session, and reports each error.
func TestCheckerNotices(t *testing.T) {
	good := []string{started, told, output1, matched, output2, exited, closed}
	without := func(i int) []string { return append(append([]string{}, good[:i]...), good[i+1:]...) }
	swapped := func(i int) []string {
		s := append([]string{}, good...)
		s[i], s[i+1] = renumbered(s[i+1], i), renumbered(s[i], i+1)
		return s
	}
	instead := func(i int, old, new string) []string {
		s := append([]string{}, good...)
		s[i] = strings.Replace(s[i], old, new, 1)
		return s
	}
	cases := []struct {
		name     string
		messages []string
		want     string // "" = no complaint
	}{
		{"good", good, ""},
		{"no started", without(0), "before started"},
		{"no answer", without(1), "never answered"},
		{"no first output", without(2), "seq 3, want 2"},
		{"no exited", without(5), "before exited"},
		{"no closed", without(6), "closed false"},
		{"started after the answer", swapped(0), "before its job/started"},
		{"a match before its output", swapped(2), "speaks of bytes"},
		{"output after exited", swapped(4), "late is false"},
		{"output after closed", append(good[:len(good):len(good)], strings.Replace(output2, `"seq":4`, `"seq":7`, 1)), "after closed"},
		{"answered twice", append(good[:len(good):len(good)], told), "answered, or never asked"},
		{"a byte too few", instead(2, `"bytes":2`, `"bytes":3`), "said to be 3"},
		{"an offset that jumps", instead(4, `"offset":2`, `"offset":3`), "offset 3, want 2"},
		{"a gap that does not fit", instead(4, `"offset":2`, `"gap":{"from":1,"to":2},"offset":2`), "gap"},
		{"base64 for text", instead(2, `"text":"ab"`, `"base64":"YWI="`), "base64"},
		{"late before exited", instead(4, `"seq":4`, `"seq":4,"late":true`), "late is true"},
		{"an unknown member", instead(6, `"seq":6`, `"seq":6,"mood":1`), "schema"},
		{"an unrequested restart", instead(4, `"seq":4`, `"seq":4,"restart":true`), "nobody has subscribed"},
		{"an unknown request id", instead(0, `"requestId":1`, `"requestId":"1"`), "none of a start"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			said := strings.Join(complaints(t, c.messages), "; ")
			if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
				t.Errorf("the checker says %q, want %q", said, c.want)
			}
		})
	}
}

// renumbered sets the seq of the event at index i to the correct value.
func renumbered(message string, i int) string {
	for seq := range 9 {
		message = strings.Replace(message, fmt.Sprintf(`"seq":%d,`, seq), fmt.Sprintf(`"seq":%d,`, max(i, 1)), 1)
	}
	return message
}

func complaints(t *testing.T, messages []string) (all []string) {
	c := newChecker()
	if err := c.sent([]byte(asked), true); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if ask, ok := strings.CutPrefix(m, ">"); ok {
			if err := c.sent([]byte(ask), true); err != nil {
				t.Fatal(err)
			}
			continue
		}
		_, bad := c.received([]byte(m))
		all = append(all, bad...)
	}
	return append(all, c.ended()...)
}

// TestCheckerNoticesSubscriptions: the same after the client has subscribed.
func TestCheckerNoticesSubscriptions(t *testing.T) {
	const (
		subscribe   = `>{"jsonrpc":"2.0","id":2,"method":"job/subscribe","params":{"handle":1,"from":"start","encoding":"base64","events":["output","exited","closed"]}}`
		subscribed  = `{"jsonrpc":"2.0","id":2,"result":{}}`
		unsubscribe = `>{"jsonrpc":"2.0","id":3,"method":"job/unsubscribe","params":{"handle":1}}`
		silent      = `{"jsonrpc":"2.0","id":3,"result":{}}`
		replay      = `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":5,"stream":"pty","offset":0,"bytes":2,"restart":true,"base64":"YWI="}}`
		more        = `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":6,"stream":"pty","offset":2,"bytes":1,"base64":"Yw=="}}`
		end         = `{"jsonrpc":"2.0","method":"job/closed","params":{"handle":1,"seq":7}}`
	)
	begun := []string{started, told, output1, matched, output2}
	cases := []struct {
		name     string
		messages []string
		want     string // "" = no complaint
	}{
		{"good", []string{subscribe, subscribed, replay, more, end}, ""},
		{"output as it was asked for, too early", []string{subscribe, replay, subscribed, more, end}, "base64"},
		{"an event that was not asked for", []string{subscribe, subscribed, strings.Replace(matched, `"seq":3`, `"seq":5`, 1)}, "not asked for"},
		{"the old encoding", []string{subscribe, subscribed, strings.Replace(replay, `"base64":"YWI="`, `"text":"ab"`, 1)}, "text, where base64"},
		{"a jump after it", []string{subscribe, subscribed, replay, strings.Replace(more, `"offset":2`, `"offset":1`, 1)}, "offset 1, want 2"},
		{"late, and then not", []string{subscribe, subscribed, strings.Replace(replay, `"bytes":2`, `"bytes":2,"late":true`, 1), more}, "were late"},
		{"anything after job/unsubscribe", []string{subscribe, subscribed, replay, unsubscribe, silent, more}, "not asked for"},
		{"between two answers", []string{subscribe, unsubscribe, silent, replay, subscribed}, "between the answers"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			said := strings.Join(complaints(t, append(begun[:len(begun):len(begun)], c.messages...)), "; ")
			if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
				t.Errorf("the checker says %q, want %q", said, c.want)
			}
		})
	}
}
