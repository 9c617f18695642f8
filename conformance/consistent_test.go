package conformance

import (
	"strings"
	"testing"
)

// TestConsistent checks that facts reported several times must be equal. A line with "-->" is a request of the
// client.
func TestConsistent(t *testing.T) {
	const (
		start   = `--> 7 job/start {"argv":["x"]}`
		started = `{"jsonrpc":"2.0","method":"job/started","params":{"handle":1,"seq":1,"requestId":7,"job":{"handle":1,"status":"running","pid":9}}}`
		exited  = `{"jsonrpc":"2.0","method":"job/exited","params":{"handle":1,"seq":2,"exit":{"code":0}}}`
		output  = `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":2,"stream":"stdout","offset":0,"bytes":3,"text":"abc"}}`
		get     = `--> 8 job/get {"handle":1}`
		read    = `--> 8 job/read {"handle":1,"stream":"stdout"}`
		wait    = `--> 8 job/wait {"handle":1,"until":[{"exit":true},{"pattern":"x"}]}`
		write   = `--> 8 job/write {"handle":1,"secret":true,"send":[{"text":"hunter2"}]}`
	)
	job := func(members string) string {
		return `{"jsonrpc":"2.0","id":8,"result":{"job":{"handle":1,"streams":{},` + members + `}}}`
	}
	gave := func(members string) string {
		return `{"jsonrpc":"2.0","id":8,"result":{` + members + `,"job":{"handle":1,"status":"running","streams":{"stdout":{"nextOffset":3},"stderr":{"nextOffset":0}}}}}`
	}
	ended := func(members string) string {
		return `{"jsonrpc":"2.0","id":8,"result":{"outcome":{` + members + `}}}`
	}
	match := func(seq, members string) string {
		return `{"jsonrpc":"2.0","method":"job/patternMatched","params":{"handle":1,"seq":` + seq + `,"stream":"stdout",` + members + `}}`
	}
	changed := func(members string) string {
		return `{"jsonrpc":"2.0","method":"job/stateChanged","params":{"handle":1,"seq":2,` + members + `}}`
	}
	for _, test := range []struct {
		name, want string
		log        []string
	}{
		{"running without an exit", "", []string{start, started, get, job(`"status":"running"`)}},
		{"running with an exit", "there is one where it has ended", []string{start, started, get, job(`"status":"running","exit":{"code":0}`)}},
		{"closed without an exit", "there is one where it has ended", []string{start, started, get, job(`"status":"closed"`)}},
		{"the same exit", "", []string{start, started, exited, get, job(`"status":"exited","exit":{"code":0}`)}},
		{"another exit", "the exit of job 1 is told as", []string{start, started, exited, get, job(`"status":"exited","exit":{"code":1}`)}},
		{"a limit", "", []string{start, started, get, job(`"status":"exited","exit":{"code":0,"reason":"limit","limit":"cpuMs"}`)}},
		{"a limit without a name", "the limit is told with the reason limit", []string{start, started, get, job(`"status":"exited","exit":{"code":0,"reason":"limit"}`)}},
		{"a limit that was not the reason", "the limit is told with the reason limit", []string{start, started, get, job(`"status":"exited","exit":{"code":0,"reason":"killed","limit":"cpuMs"}`)}},
		{"another pid", "the pid of job 1 is 8, and was 9", []string{start, started, get, job(`"status":"running","pid":8`)}},
		{"a handle too high", "there is no job 2 yet", []string{start, strings.ReplaceAll(started, `"handle":1`, `"handle":2`)}},
		{"a handle twice", "the handle 1 is that of two jobs", []string{start, started, strings.Replace(start, "7", "8", 1), strings.ReplaceAll(job(`"status":"running"`), "7", "8")}},
		{"what was pushed is read", "", []string{start, started, output, read, gave(`"text":"bc","offset":1,"nextOffset":3`)}},
		{"other bytes are read", "job/read gave other bytes of job 1 (stdout) between 1 and 3", []string{start, started, output, read, gave(`"text":"bx","offset":1,"nextOffset":3`)}},
		{"bytes that were not pushed yet", "job/read gave other bytes of job 1 (stdout) between 0 and 3", []string{start, started, read, gave(`"base64":"YWJk","offset":0,"nextOffset":3`), output}},
		{"a wrong nextOffset", "and nextOffset is 4", []string{start, started, output, read, gave(`"text":"bc","offset":1,"nextOffset":4`)}},
		{"plain output has other bytes", "", []string{start, started, output, strings.Replace(read, `"stream"`, `"format":"plain","stream"`, 1), gave(`"text":"x","offset":0,"nextOffset":3`)}},
		{"a condition", "", []string{start, started, wait, ended(`"reason":"pattern","index":1`)}},
		{"a pattern that failed", "", []string{start, started, wait, ended(`"reason":"patternFailed","index":1`)}},
		{"the leader's end", "", []string{start, started, wait, ended(`"reason":"exit","index":null`)}},
		{"another condition", "and its condition 0 is", []string{start, started, wait, ended(`"reason":"pattern","index":0`)}},
		{"no such condition", "a wait has 2 conditions, and index is 2", []string{start, started, wait, ended(`"reason":"pattern","index":2`)}},
		{"which condition", "and index does not say which", []string{start, started, wait, ended(`"reason":"pattern","index":null`)}},
		{"matches that follow each other", "", []string{start, started, output, match("3", `"watchId":1,"offset":0,"endOffset":2`), match("4", `"watchId":1,"offset":2,"endOffset":3`)}},
		{"matches of two watches", "", []string{start, started, output, match("3", `"watchId":1,"offset":0,"endOffset":2`), match("4", `"watchId":2,"offset":1,"endOffset":3`)}},
		{"matches that overlap", "matches of a watch of job 1 do not overlap", []string{start, started, output, match("3", `"watchId":1,"offset":0,"endOffset":2`), match("4", `"watchId":1,"offset":1,"endOffset":3`)}},
		{"a match backwards", "a match ends at 1, before it begins at 2", []string{start, started, output, match("3", `"watchId":1,"offset":2,"endOffset":1`)}},
		{"a change", "", []string{start, started, changed(`"changed":["title","outputFile"],"title":"","outputFileError":{}`)}},
		{"a change to null", "", []string{start, started, changed(`"changed":["foreground"],"foreground":null`)}},
		{"a change without its value", "and the member bell is there: false", []string{start, started, changed(`"changed":["bell"]`)}},
		{"a value that has not changed", "and the member bell is there: true", []string{start, started, changed(`"changed":["title"],"title":"","bell":1`)}},
		{"a secret in the log", "the log has what was written as a secret", []string{start, started, write, `{"jsonrpc":"2.0","method":"log/message","params":{"level":"info","text":"hunter2"}}`}},
		{"a secret in an error", "an error has what was written as a secret", []string{start, started, write, `{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"no hunter2","data":{}}}`}},
		{"no secret", "", []string{start, started, strings.Replace(write, "true", "false", 1), `{"jsonrpc":"2.0","method":"log/message","params":{"level":"info","text":"hunter2"}}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := checked(t, test.log); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("expected %q, got %q", test.want, got)
			}
		})
	}
}
