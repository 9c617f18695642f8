package conformance

import (
	"strings"
	"testing"
)

// TestWaits checks the invariants of waits for input. A line with "-->" is a request of the client.
func TestWaits(t *testing.T) {
	const (
		start   = `--> 7 job/start {"argv":["x"],"events":["waitingForInput","exited"]}`
		exited  = `{"jsonrpc":"2.0","method":"job/exited","params":{"handle":1,"seq":SEQ,"exit":{"code":0}}}`
		closed  = `{"jsonrpc":"2.0","method":"job/closed","params":{"handle":1,"seq":SEQ}}`
		more    = `"kind":"line","since":"2026-01-02T03:04:05Z","prompt":"","why":"x"`
		reading = `"state":"reading","confidence":"exact",` + more
		listens = `"state":"listening","confidence":"likely",` + more
		chosen  = `{"jsonrpc":"2.0","id":8,"result":{}}`
		answer  = `{"jsonrpc":"2.0","id":7,"result":{"job":{"handle":1,"status":"running","streams":{}}}}`
		unheard = `--> 8 job/unsubscribe {"handle":1}`
		again   = `--> 8 job/subscribe {"handle":1,"events":["waitingForInput"]}`
		renewed = `--> 8 job/subscribe {"handle":1,"events":["waitingForInput","exited"]}`
	)
	tells := func(members string) string {
		return `{"jsonrpc":"2.0","method":"job/waitingForInput","params":{"handle":1,"seq":SEQ,` + members + `}}`
	}
	begins := func(id, members string) string { return tells(`"waiting":true,"waitId":"` + id + `",` + members) }
	ends := func(id string) string { return tells(`"waiting":false,"waitId":"` + id + `"`) }
	get := func(method, members string) []string {
		result := `{"job":{"handle":1,"status":"running","streams":{},` + members + `}}`
		if method == "job/list" {
			result = `{"jobs":[{"handle":1,"status":"running","streams":{},` + members + `}]}`
		}
		return []string{`--> 9 ` + method + ` {"handle":1}`, `{"jsonrpc":"2.0","id":9,"result":` + result + `}`}
	}
	waited := func(condition, members string) []string {
		return []string{
			`--> 9 job/wait {"handle":1,"until":[{"exit":true},{"input":` + condition + `}]}`,
			`{"jsonrpc":"2.0","id":9,"result":{"outcome":{"reason":"input","index":1,"job":{"handle":1,"status":"running","streams":{}` + members + `}}}}`,
		}
	}
	of := func(members string) string {
		return `,"waitingForInput":{"waiting":true,"waitId":"a",` + members + `}`
	}
	for _, test := range []struct {
		name, want string
		log        []string
	}{
		{"two waits", "", []string{begins("a", reading), ends("a"), begins("b", reading), ends("b"), exited}},
		{"known better", "", []string{begins("a", listens), begins("a", reading), ends("a")}},
		{"told again", "is told again, and is as it was told", []string{begins("a", reading), begins("a", reading)}},
		{"another kind", "has the kind and since", []string{begins("a", listens), begins("a", strings.Replace(reading, `"line"`, `"raw"`, 1))}},
		{"two at a time", `"b" of job 1 is told, and "a" was not told to be over`, []string{begins("a", reading), begins("b", reading)}},
		{"the end of another one", `"b" of job 1 is told to be over, and the one that was told is "a"`, []string{begins("a", reading), ends("b")}},
		{"the end of none", `is told to be over, and the one that was told is ""`, []string{ends("a")}},
		{"an end twice", "which was told to be over", []string{begins("a", reading), ends("a"), ends("a")}},
		{"a name once more", "which was told to be over", []string{begins("a", reading), ends("a"), begins("a", reading)}},
		{"no end before the exit", `its wait for input "a" was not told to be over`, []string{begins("a", reading), exited}},
		{"no end before the job is closed", `its wait for input "a" was not told to be over`, []string{`--> 8 job/subscribe {"handle":1,"events":["waitingForInput","closed"]}`, chosen, begins("a", reading), closed}},
		{"an end with more", "the member why is there", []string{begins("a", reading), tells(`"waiting":false,"waitId":"a","why":"x"`)}},
		{"a wait with less", "is told without its prompt", []string{begins("a", strings.Replace(reading, `"prompt":"",`, "", 1))}},

		{"told once more to who asks again", "", []string{begins("a", reading), unheard, chosen, again, chosen, begins("a", reading), ends("a")}},
		{"and not twice", "is told again", []string{begins("a", reading), unheard, chosen, again, chosen, begins("a", reading), begins("a", reading)}},
		{"not to who has asked all the time", "is told again", []string{begins("a", reading), renewed, chosen, begins("a", reading)}},
		{"another one meanwhile", "", []string{begins("a", reading), unheard, chosen, again, chosen, begins("b", reading), ends("b")}},
		{"an end that nobody hears", "", []string{begins("a", reading), `--> 8 job/subscribe {"handle":1,"events":["exited"]}`, chosen, exited}},

		{"job/get", "", get("job/get", `"waitingForInput":{"waiting":true,"waitId":"a",`+reading+`}`)},
		{"job/get of none", "", get("job/get", `"waitingForInput":{"waiting":false,"why":"x"}`)},
		{"job/get of none with a name", "the member waitId is there", get("job/get", `"waitingForInput":{"waiting":false,"waitId":"a"}`)},
		{"job/get of one without a name", "without its waitId", get("job/get", `"waitingForInput":{"waiting":true,`+reading+`}`)},
		{"job/list", "", get("job/list", `"waitingForInput":{"waiting":true,"waitId":"a",`+reading+`}`)},
		{"job/list of none", "job/get alone does", get("job/list", `"waitingForInput":{"waiting":false,"why":"x"}`)},
		{"a job that has ended", "has ended, and waitingForInput is there", []string{
			`--> 9 job/get {"handle":1}`,
			`{"jsonrpc":"2.0","id":9,"result":{"job":{"handle":1,"status":"exited","exit":{"code":0},"streams":{},"waitingForInput":{"waiting":false,"why":"x"}}}}`,
		}},

		{"a condition", "", waited("true", of(reading))},
		{"a condition without a wait", "by the condition input true, and waitingForInput is null", waited("true", "")},
		{"a guess", "by the condition input true", waited("true", of(strings.Replace(reading, "exact", "guess", 1)))},
		{"a guess that is enough", "", waited(`{"minConfidence":"guess"}`, of(strings.Replace(reading, "exact", "guess", 1)))},
		{"not sure enough", "by the condition input", waited(`{"minConfidence":"exact"}`, of(strings.Replace(reading, "exact", "likely", 1)))},
		{"surer", "", waited(`{"minConfidence":"likely"}`, of(reading))},
		{"one of the kinds", "", waited(`{"kinds":["password","line"]}`, of(reading))},
		{"none of the kinds", "by the condition input", waited(`{"kinds":["password","raw"]}`, of(reading))},
		{"listening", "by the condition input", waited("{}", of(listens))},
		{"listening as asked for", "", waited(`{"listening":true}`, of(listens))},
	} {
		t.Run(test.name, func(t *testing.T) {
			log, seq := []string{start, answer}, 0
			for _, line := range test.log {
				if strings.Contains(line, "SEQ") {
					seq++
				}
				log = append(log, strings.Replace(line, "SEQ", string(rune('0'+seq)), 1))
			}
			if got := checked(t, log); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("expected %q, got %q", test.want, got)
			}
		})
	}
}

// TestInputDetection checks that a session can require a tier, and that a better tier is accepted.
func TestInputDetection(t *testing.T) {
	for _, test := range []struct {
		tier, needs string
		want        bool
	}{
		{"exact", "exact", true}, {"exact", "guess", true}, {"likely", "exact", false}, {"guess", "guess", true}, {"none", "guess", false}, {"", "guess", false},
	} {
		caps := map[string]any{"inputDetection": map[string]any{"tier": test.tier, "why": "x"}}
		if got := (Need{"inputDetection", test.needs}).in(caps); got != test.want {
			t.Errorf("a server of the tier %q has %q: %v", test.tier, test.needs, got)
		}
	}
	if (Need{"inputDetection", "guess"}).in(map[string]any{}) {
		t.Error("a server that says nothing has a tier")
	}
}
