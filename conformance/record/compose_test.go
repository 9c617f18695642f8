//go:build linux

package record

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/conformance/internal/wire"
)

// captured builds a tape from lines: "> " and "< " are messages to and from the server. Shorter words stand for
// the messages of a start and its job, and for ends.
func captured(lines string) (entries []taped) {
	info := func(handle, more string) string {
		return `"job":{"handle":` + handle + `,"status":"running","argv":["x"],"cwd":"/home/ada/code","mode":"pty","pid":4242,"startedAt":"2026-01-02T03:04:05Z","durationMs":7,"cols":80,"rows":24,"background":[],"watches":[],"streams":{"pty":{"nextOffset":0,"kept":[]}}` + more + `}`
	}
	lines = strings.ReplaceAll(lines, "INIT", `> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":77,"rootDirectory":"/home/ada/code","clientInfo":{"name":"ed-mode"}}}
< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1","sessionId":"20260102T030405Z-0123456789abcdef","stateDirectory":"/home/ada/.state"}}
> {"jsonrpc":"2.0","method":"initialized","params":{}}`)
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		e := taped{at: time.Duration(len(entries)) * time.Millisecond, raw: []byte(rest)}
		fields := strings.SplitN(rest, " ", 3)
		switch word {
		case "<":
			e.dir = wire.FromServer
		case "START": // ID HANDLE [MORE]
			e.dir = wire.FromServer
			e.raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{%s}}`, fields[0], info(fields[1], strings.Join(fields[2:], " ")))
		case "STARTED": // ID HANDLE
			e.dir = wire.FromServer
			e.raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"job/started","params":{"handle":%s,"seq":1,"requestId":%s,%s}}`, fields[1], fields[0], info(fields[1], ""))
		case "OUT": // HANDLE OFFSET "TEXT"
			text, _ := wire.Decode([]byte(fields[2])) // The input is a constant.
			e.dir = wire.FromServer
			e.raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"job/output","params":{"handle":%s,"seq":2,"stream":"pty","offset":%s,"bytes":%d,"text":%s}}`, fields[0], fields[1], len(text.(string)), fields[2])
		case "EVENT": // NAME HANDLE MEMBERS
			e.dir = wire.FromServer
			e.raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"job/%s","params":{"handle":%s,"seq":9%s}}`, fields[0], fields[1], strings.Join(fields[2:], " "))
		case "RAW":
			e.kind = tapeRaw
		case "END":
			e.kind = tapeEnd
		case "SIGNAL":
			e.kind = tapeSignal
		case "EXIT":
			e.kind, e.dir = tapeExit, wire.FromServer
		case "HIDDEN": // a write while echo is off
			e.echo = echoOff
		case "KEYS": // a write to a program that reads single keys
			e.echo = echoRaw
		}
		entries = append(entries, e)
	}
	return entries
}

const started = "INIT\n" +
	`> {"jsonrpc":"2.0","id":1,"method":"job/start","params":{"argv":["x"]}}` + "\nSTARTED 1 1\nSTART 1 1\n"

// compiled caches the contract, which is slow to load.
var compiled *conformance.Contract

func composed(t *testing.T, wire string, options Options) (string, []string) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	set := setting{began: now, ended: now.Add(time.Minute), cwd: "/srv/app", numbers: map[string]bool{}, hosts: []string{"turing"}}
	set.addPath("/srv/app")
	if compiled == nil {
		var err error
		if compiled, err = conformance.LoadContract(os.DirFS("../../schema/json")); err != nil {
			t.Fatal(err)
		}
	}
	text, notes := compose(compiled, options, set, captured(wire), "line")
	if _, err := conformance.Parse("t.txtar", text); err != nil {
		t.Errorf("it is no session: %v\n%s", err, text)
	}
	return string(text), notes
}

// write makes a job/write, wrote its answer, and waited its answer with a wait.
func write(id int, input string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"job/write","params":{"handle":1,"input":%q}}`, id, input)
}

func wrote(id, n int) string {
	return fmt.Sprintf("\n"+`< {"jsonrpc":"2.0","id":%d,"result":{"bytesWritten":%d}}`+"\n", id, n)
}

func waited(id int, outcome string) string {
	return fmt.Sprintf("\n"+`< {"jsonrpc":"2.0","id":%d,"result":{"bytesWritten":2,"outcome":{%s,"job":{"handle":1,"status":"running","streams":{"pty":{"nextOffset":9}}}}}}`+"\n", id, outcome)
}

// typing makes a job/write with more members, waitOf a wait for input, and waitTold and over its begin and end.
func typing(id int, members string) string {
	return fmt.Sprintf("> "+`{"jsonrpc":"2.0","id":%d,"method":"job/write","params":{"handle":1,%s}}`, id, members)
}

func waitOf(id, state, prompt string) string {
	return fmt.Sprintf(`"waitingForInput":{"waiting":true,"waitId":%q,"state":%q,"kind":"line","since":"2026-01-02T03:04:07Z","prompt":%q,"pid":4242,"why":"x (pid 4242) is blocked","confidence":"exact"}`, id, state, prompt)
}

func waitTold(id, state, prompt string) string {
	members, _ := strings.CutPrefix(waitOf(id, state, prompt), `"waitingForInput":{`)
	return "EVENT waitingForInput 1 ," + strings.TrimSuffix(members, "}") + "\n"
}

func over(id string) string {
	return fmt.Sprintf(`EVENT waitingForInput 1 ,"waiting":false,"waitId":%q`, id) + "\n"
}

// compositions are recorded messages, with texts that must and must not be in their sessions.
var compositions = []struct {
	name, wire string
	want       []string
	not        []string
}{
	{"the beginning", "INIT", []string{"-- initialize --\n{clientInfo: {name: \"ed-mode\"}}\n=>\n{protocolVersion: \"1\"}\n"}, []string{"processId", "/home/ada", "initialized", "initialize: no", "sessionId"}},
	{"a cold beginning", `> {"jsonrpc":"2.0","id":1,"method":"job/list"}` + "\n" + `< {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"m","data":{"kind":"notInitialized"}}}`,
		[]string{"initialize: no\n", "-- send list --\njob/list\n-- error list --\n{kind: \"notInitialized\"}\n"}, []string{"message"}},
	{"a start", started + "> " + write(2, "a") + wrote(2, 1), []string{"-- answer start --\n{job: {handle: $h1:int, mode: \"pty\"}}\n", "job/write {handle: $h1, input: \"a\"}\n-- answer write --\n{bytesWritten: 1}\n"},
		[]string{"4242", "durationMs", "pid", "2026", "job/started"}},
	{"chunks", started + "OUT 1 0 \"he\"\nOUT 1 2 \"llo\\r\\nyou\"\n> " + write(2, "a") + wrote(2, 1) + "OUT 1 10 \" there\"\nEVENT exited 1 ,\"exit\":{\"code\":0,\"signal\":null,\"coreDumped\":false,\"reason\":\"exited\"},\"durationMs\":3,\"background\":[]\nEVENT closed 1",
		[]string{"-- output $h1 pty --\n\"hello\\r\\n\"\n\"you\"\n-- send write", "-- output $h1 pty ends --\n\" there\"\n-- expect of h1 --\njob/exited {handle: $h1, exit: {reason: \"exited\", code: 0}}\njob/closed {handle: $h1}\n"}, nil},
	{"what differs", started + `OUT 1 0 "pid 4242 at 03:04:07 in /srv/app on turing, 0x7f00deadbeef\r\n[1] 998\r\n2019-01-01 4243\r\n"` + "\nEVENT closed 1",
		[]string{`~"^pid \\d+ at \\d\\d:\\d\\d:\\d\\d in \\S+ on \\S+, 0x[0-9a-f]+\r\n"`, `~"^\\[1\\] \\d+\r\n"`, `"2019-01-01 4243\r\n"`}, []string{"998", "turing,"}},
	{"what differs at the end of what came", started + "OUT 1 0 \"pid 42\"\nOUT 1 6 \"42\"\n> " + write(2, "a") + wrote(2, 1) + "OUT 1 8 \" ok\"\nEVENT closed 1",
		[]string{"\"pid \"\n-- send write", "~`^\\d+ ok`"}, nil},
	{"dates", started + `OUT 1 0 "Fri Jan  2 03:04:06 UTC 2026\r\n[02/Jan/2026 03:04:06] x\r\nJan  2 03:04 f\r\nport 40123 took 0.31s\r\n"` + "\nEVENT closed 1", []string{"\"^[\\\\w: ]+\\r\\n\"", `x\r\n"`, "took [\\\\d.]+ ?\\\\w+"}, []string{"40123", "0.31", "Fri"}},
	{"offsets behind what differs", started + "OUT 1 0 \"4242\\r\\n$ \"\n> " + strings.Replace(write(2, "a"), `"input"`, `"wait":{"until":[{"pattern":"b"}]},"input"`, 1) + "\nOUT 1 8 \"b\"" + waited(2, `"reason":"pattern","index":0,"match":{"text":"b","groups":[],"stream":"pty","offset":8,"endOffset":9},"output":{"pty":{"text":"b","offset":8,"nextOffset":9}}`),
		[]string{"{bytesWritten: 2, outcome: {reason: \"pattern\", index: 0, match: {text: \"b\"}}}"}, []string{"offset:", "nextOffset"}},
	{"an outcome that ends with its match", started + "OUT 1 0 \"$ \"\n> " + strings.Replace(write(2, "a"), `"input"`, `"wait":{"until":[{"pattern":"b"}]},"input"`, 1) + "\nOUT 1 2 \"ab\"" + waited(2, `"reason":"pattern","index":0,"match":{"text":"b","groups":[],"stream":"pty","offset":3,"endOffset":4},"output":{"pty":{"text":"ab","offset":2,"nextOffset":4}}`),
		[]string{`output: {pty: {text: "ab", offset: 2, nextOffset: 4}}`}, nil},
	{"an outcome that goes on", started + "OUT 1 0 \"$ \"\n> " + strings.Replace(write(2, "a"), `"input"`, `"wait":{"until":[{"pattern":"b"}]},"input"`, 1) + "\nOUT 1 2 \"abc\"" + waited(2, `"reason":"pattern","index":0,"match":{"text":"b","groups":[],"stream":"pty","offset":3,"endOffset":4},"output":{"pty":{"text":"abc","offset":2,"nextOffset":5}}`),
		[]string{"output: {pty: {text: ~`^ab`, offset: 2}}"}, []string{"nextOffset"}},
	{"an outcome in flight", started + "> " + strings.Replace(write(2, "a"), `"input"`, `"wait":{"until":[{"pattern":"b"}]},"input"`, 1) + "\nOUT 1 0 \"$ ab\"" + waited(2, `"reason":"pattern","index":0,"match":{"text":"b","groups":[],"stream":"pty","offset":3,"endOffset":4},"output":{"pty":{"text":"ab","offset":2,"nextOffset":4}}`),
		[]string{"match: {text: \"b\", offset: 3, endOffset: 4}"}, []string{`text: "ab"`}},
	{"two jobs", started + `> {"jsonrpc":"2.0","id":2,"method":"job/start","params":{"argv":["y"]}}` + "\nSTARTED 2 2\nEVENT closed 1\nSTART 2 2\nEVENT closed 2\n> " + write(3, "z"),
		[]string{"-- expect of h1 --\njob/closed {handle: $h1}\n-- expect of h2 --\njob/closed {handle: $h2}\n"}, nil},
	{"a client that does not wait for the answer", "INIT\n" + `> {"jsonrpc":"2.0","id":1,"method":"job/start","params":{"argv":["x"],"wait":{"until":[]}}}` + "\nSTARTED 1 1\n> " + write(2, "a") + wrote(2, 1) + "START 1 1",
		[]string{"job/start\nid: \"r1\"\n{argv", "-- expect of h1 --\njob/started {handle: $h1:int, requestId: \"r1\"}\n-- send write --\njob/write {handle: $h1"}, nil},
	{"a cancelled request", started + `> {"jsonrpc":"2.0","id":"w","method":"job/wait","params":{"handle":1,"until":[]}}` + "\n" + `> {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"w"}}` + "\n" + `< {"jsonrpc":"2.0","id":"w","error":{"code":-32800,"message":"m","data":{"kind":"canceled","outcome":{}}}}`,
		[]string{"job/wait\nid: \"w\"\n", "-- notify --\n$/cancelRequest {id: \"w\"}\n-- error wait --\n{kind: \"canceled\"}"}, []string{"outcome"}},
	{"matches", "INIT\n" + `> {"jsonrpc":"2.0","id":1,"method":"job/start","params":{"argv":["x"]}}` + "\nSTART 1 1\n" + `> {"jsonrpc":"2.0","id":2,"method":"job/watch","params":{"handle":1,"pattern":"o"}}` + "\n" + `< {"jsonrpc":"2.0","id":2,"result":{"watchId":1}}` + "\nOUT 1 0 \"oo\"\n" + `EVENT patternMatched 1 ,"watchId":1,"match":"o","groups":["o"],"named":{},"line":"oo","stream":"pty","offset":0,"endOffset":1` + "\n" + `> {"jsonrpc":"2.0","id":3,"method":"job/unwatch","params":{"handle":1,"watchId":1}}`,
		[]string{"{watchId: $watch1:int}", "-- expect of h1-watch1-pty --\njob/patternMatched {handle: $h1, match: \"o\", offset: 0, endOffset: 1, groups: [\"o\"], stream: \"pty\", watchId: $watch1}", "job/unwatch {handle: $h1, watchId: $watch1}"}, []string{"line"}},
	{"waits for input", started + "OUT 1 0 \"$ \"\n" + waitTold("1.1", "listening", "$") + waitTold("1.1", "reading", "$") +
		`> {"jsonrpc":"2.0","id":2,"method":"job/write","params":{"handle":1,"input":"a","ifWaiting":"1.1"}}` + wrote(2, 1) + over("1.1") + waitTold("1.2", "reading", "pid 4242") + over("1.2") + waitTold("1.3", "reading", "ok 03:04:07") +
		typing(3, `"input":"b"`) + "\n" + over("1.3"),
		[]string{
			"level: terminal\nneeds: event waitingForInput\n",
			"-- expect of h1-waiting --\njob/waitingForInput {handle: $h1, kind: \"line\", prompt: \"$\", state: \"reading\", waitId: $wait1:string, waiting: true}\n-- send write --\njob/write {handle: $h1, input: \"a\", ifWaiting: $wait1}\n",
			"-- expect of h1-waiting --\njob/waitingForInput {handle: $h1, waitId: $wait1, waiting: false}\njob/waitingForInput {handle: $h1, kind: \"line\", prompt: ~`^ok \\d\\d:\\d\\d:\\d\\d$`, state: \"reading\", waiting: true}\n",
			"-- expect of h1-waiting --\njob/waitingForInput {handle: $h1, waiting: false}\n",
		}, []string{"4242", "since", "why", "1.1", "1.2", "listening"}},
	{"a wait for a wait for input", started + "OUT 1 0 \"$ \"\n> " + strings.Replace(write(2, "a"), `"input"`, `"wait":{"until":[{"input":{"minConfidence":"exact"}}]},"input"`, 1) + "\nOUT 1 2 \"b? \"" +
		strings.Replace(waited(2, `"reason":"input","index":0,"output":{"pty":{"text":"b? ","offset":2,"nextOffset":5}}`), `"streams"`, waitOf("1.2", "reading", "b?")+`,"streams"`, 1) +
		typing(3, `"input":"b","ifWaiting":"1.2"`),
		[]string{
			"needs: condition input, inputDetection exact\n",
			"job: {waitingForInput: {kind: \"line\", prompt: \"b?\", state: \"reading\", waitId: $wait1:string, waiting: true}},", "output: {pty: {text: \"b? \", offset: 2, nextOffset: 5}}",
			"ifWaiting: $wait1}",
		}, []string{"since", "why", "1.2"}},
	{"a look at a job", started + `> {"jsonrpc":"2.0","id":2,"method":"job/get","params":{"handle":1}}` + "\nSTART 2 1 ," + waitOf("1.1", "reading", "$") + "\n" + typing(3, `"input":"b","ifWaiting":"1.1"`),
		[]string{"waitingForInput: {waitId: $wait1:string, waiting: true}", "ifWaiting: $wait1}"}, []string{"prompt"}},
	{"a look at a job for nothing more", started + `> {"jsonrpc":"2.0","id":2,"method":"job/get","params":{"handle":1}}` + "\nSTART 2 1 ," + waitOf("1.1", "reading", "$") + "\n" + typing(3, `"input":"b"`),
		nil, []string{"waitingForInput"}},
	{"states", started + `EVENT stateChanged 1 ,"changed":["title","foreground"],"title":"a","foreground":{"pid":4242,"command":"x"}` + "\n" + `EVENT stateChanged 1 ,"changed":["title"],"title":"b"` + "\n" + `EVENT stateChanged 1 ,"changed":["status"],"status":"stopped"`,
		[]string{"-- expect of h1-title --\njob/stateChanged {handle: $h1, title: \"b\"}", "-- expect of h1-status --\njob/stateChanged {handle: $h1, status: \"stopped\"}"}, []string{"foreground", `"a"`}},
	{"what is no message", "INIT\n> {]\n" + `< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":{"kind":"parseError"}}}` + "\n" + `> {"jsonrpc":"2.0","id":true,"method":"job/list"}` + "\n" + `< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m","data":{"kind":"invalidRequest"}}}` + "\nRAW \x00\xff-\\",
		[]string{"-- frame --\n{]\n-- error null --\n{kind: \"parseError\"}\n-- frame --\n{\"jsonrpc\"", "-- raw --\n\\x00\\xff-\\\\\n", "framing: line"}, nil},
	{"a message that is wrong", "INIT\n" + `> {"jsonrpc":"2.0","id":5,"method":"job/strat","params":[1]}` + "\n" + `< {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"m","data":{"kind":"methodNotFound","method":"job/strat"}}}`, []string{"-- send strat invalid --\njob/strat [1]\n-- error strat --\n{kind: \"methodNotFound\", method: \"job/strat\"}"}, nil},
	{"one id twice", "INIT\n" + `> {"jsonrpc":"2.0","id":5,"method":"job/wait","params":{"handle":1,"until":[]}}` + "\n" + `> {"jsonrpc":"2.0","id":5,"method":"job/list"}` + "\n" + `< {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"m","data":{"kind":"invalidRequest"}}}`,
		[]string{"-- send list --\njob/list\nid: \"r5\"\n-- error list --\n", "job/wait\nid: \"r5\"\n"}, nil},
	{"half a character", "INIT\n" + `> {"jsonrpc":"2.0","id":5,"method":"job/get","params":{"handle":"\ud800"}}`, []string{"-- frame --\n"}, nil},
	{"a whole one", "INIT\n" + `> {"jsonrpc":"2.0","id":5,"method":"job/get","params":{"handle":"\ud83d\ude00"}}`, []string{"-- send get invalid --\njob/get {handle: \"😀\"}"}, nil},
	{"bytes that are no text", started + `EVENT output 1 ,"stream":"pty","offset":0,"bytes":2,"base64":"/wA="` + "\nOUT 1 2 \"a\"\nEVENT closed 1", []string{"-- bytes $h1 pty --\n0: base64 \"/wBh\"\n"}, nil},
	{"a job that is killed", started + "OUT 1 0 \"a\"\n" + `> {"jsonrpc":"2.0","id":2,"method":"job/kill","params":{"handle":1}}` + "\nOUT 1 1 \"dying\"\n" + `EVENT exited 1 ,"exit":{"code":null,"signal":"SIGHUP","coreDumped":false,"reason":"killed"}` + "\nEVENT closed 1\n" + `< {"jsonrpc":"2.0","id":2,"result":{"signals":[],"killed":[{"pid":4242,"command":"x","how":"SIGHUP"}],"survivors":[],"alreadyClosed":false,"job":{"handle":1,"status":"closed","exit":{"code":null,"signal":"SIGHUP","reason":"killed"},"streams":{}}}}`,
		[]string{`status: "running"`, `{job: {handle: $h1, exit: {reason: "killed"}}, alreadyClosed: false, survivors: []}`}, []string{"dying", "SIGHUP"}},
	{"ends", started + "SIGNAL TERM\n" + `EVENT exited 1 ,"exit":{"code":null,"signal":"SIGTERM","coreDumped":false,"reason":"shutdown"}` + "\nEXIT 1", []string{"-- signal TERM --\n-- expect of h1 --\njob/exited {handle: $h1, exit: {reason: \"shutdown\"}}\n-- exit 1 --\n"}, nil},
	{"two ends of one client", "INIT\nEND\nEND\nEXIT 1", []string{"-- close stdin --\n-- exit 1 --\n"}, []string{"-- close stdin --\n-- close stdin --"}},
	{"a server that dies", started + "EXIT 2", []string{"(look here) the server ended by itself here, with exit status 2\n"}, []string{"-- exit"}},
	{"directories", "INIT\n" + `> {"jsonrpc":"2.0","id":1,"method":"job/start","params":{"argv":["x"],"cwd":"/home/ada/code"}}` + "\n" + `> {"jsonrpc":"2.0","id":2,"method":"job/start","params":{"argv":["x","/tmp/a1/f"],"cwd":"/home/ada/code/sub"}}` + "\n" + `> {"jsonrpc":"2.0","id":3,"method":"job/start","params":{"argv":["x"],"cwd":"/tmp/a1"}}`,
		[]string{"-- send start --\njob/start {argv: [\"x\"]}", "cwd: \"sub\"", "(look here) a job was started with /tmp/a1/f", "-- send start-3 --\njob/start {argv: [\"x\"]}"}, nil},
	{"an offset that the client names", started + `> {"jsonrpc":"2.0","id":2,"method":"job/read","params":{"handle":1,"offset":0}}` + "\n" + `< {"jsonrpc":"2.0","id":2,"result":{"text":"ab","offset":0,"nextOffset":2,"hasMore":false,"job":{"handle":1,"status":"running","streams":{}}}}` + "\n" + `> {"jsonrpc":"2.0","id":3,"method":"job/read","params":{"handle":1,"offset":2}}`,
		[]string{"{nextOffset: $next1:int}", "job/read {handle: $h1, offset: $next1}"}, nil},
	{"an answer that came while the server ended", "INIT\n" + `> {"jsonrpc":"2.0","id":1,"method":"job/run","params":{"argv":["x"]}}` + "\n" + `> {"jsonrpc":"2.0","id":2,"method":"shutdown"}` + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"exit":{"code":0,"signal":null,"coreDumped":false,"reason":"exited"},"timedOut":false,"stdout":"x","outputComplete":true,"durationMs":1,"job":{"handle":1,"status":"closed","streams":{}}}}` + "\n" + `< {"jsonrpc":"2.0","id":2,"result":{}}`,
		[]string{"-- send shutdown --\nshutdown\n-- answer shutdown --\n", "(look here) run was answered while the server was already asked to end"}, []string{"-- answer run --"}},
	{"a run that the end ends", "INIT\n" + `> {"jsonrpc":"2.0","id":1,"method":"job/run","params":{"argv":["x"]}}` + "\n" + `> {"jsonrpc":"2.0","id":2,"method":"shutdown"}` + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"exit":{"code":null,"signal":"SIGTERM","coreDumped":false,"reason":"shutdown"},"timedOut":false,"stdout":"x","outputComplete":true,"durationMs":1,"job":{"handle":1,"status":"closed","streams":{}}}}`,
		[]string{"-- answer run --\n{job: {handle: $h1:int}, exit: {reason: \"shutdown\"}, timedOut: false}\n"}, nil},
	{"messages that look like headers", "INIT\n> send a --\n> -- send a --\n>   --- answer a", []string{`send a -\x2d\n`, `\x2d\x2d send a -\x2d\n`, `  -\x2d\x2d answer a\n`}, nil},
	{"text that looks like a variable", started + "> " + write(2, "echo ${HOME} $${x}") + wrote(2, 9), []string{`input: "echo $${HOME} $$${x}"`}, nil},
}

// TestCompose checks the sessions composed from recorded messages.
func TestCompose(t *testing.T) {
	for _, test := range compositions {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TMPDIR", "/tmp") // as in the recorded messages
			text, _ := composed(t, test.wire, Options{})
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("expected %s\nin %s", want, text)
				}
			}
			for _, not := range test.not {
				if strings.Contains(text, not) {
					t.Errorf("%s is in %s", not, text)
				}
			}
		})
	}
}

// TestMatched checks that with Matched, the session has only the output that the client has searched for.
func TestMatched(t *testing.T) {
	text, _ := composed(t, started+"OUT 1 0 \"Python 3.11\\r\\n>>> \"\n"+
		`> {"jsonrpc":"2.0","id":2,"method":"job/wait","params":{"handle":1,"until":[{"pattern":">>> "}],"from":"start"}}`+"\n"+
		`< {"jsonrpc":"2.0","id":2,"result":{"outcome":{"reason":"pattern","index":0,"match":{"text":">>> ","groups":[],"stream":"pty","offset":13,"endOffset":17},"output":{"pty":{"text":"Python 3.11\n>>> ","offset":0,"nextOffset":17}},"job":{"handle":1,"status":"running","streams":{}}}}}`,
		Options{Matched: true, Prose: "Python\nprompt: here", Level: "terminal"})
	if !strings.Contains(text, `{outcome: {reason: "pattern", index: 0, match: {text: ">>> "}}}`) || strings.Contains(text, "3.11") || !strings.HasPrefix(text, "Python\n prompt: here\n") || !strings.Contains(text, "level: terminal\n") {
		t.Error(text)
	}
}

// TestLevel checks that a session has the lowest level that its messages allow.
func TestLevel(t *testing.T) {
	for params, want := range map[string]string{
		`"input":"hunter2"`:                   "core",
		`"input":"hunter2","secret":false`:    "core",
		`"input":"hunter2","secret":true`:     "terminal",
		`"send":[{"text":"hunter2"}]`:         "terminal",
		`"input":"hunter2","ifWaiting":"1.1"`: "terminal",
	} {
		wire := started + `> {"jsonrpc":"2.0","id":2,"method":"job/write","params":{"handle":1,` + params + `}}`
		if text, _ := composed(t, wire, Options{}); !strings.Contains(text, "\nlevel: "+want+"\n") {
			t.Errorf("%s: want level %s in %s", params, want, text)
		}
		if text, _ := composed(t, wire, Options{Level: "core"}); !strings.Contains(text, "\nlevel: core\n") {
			t.Errorf("%s: want level core in %s", params, text)
		}
	}
}

// TestSecrets checks that secretly typed text does not appear in the session, however it was typed.
func TestSecrets(t *testing.T) {
	write := func(id int, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"job/write","params":{"handle":1,%s}}`, id, params)
	}
	for _, test := range []struct {
		name, wire string
		kept       bool
		want       string
	}{
		{"secret", started + "> " + write(2, `"input":"hunter2\n","secret":true`), false, `input: "${secret1}\n", secret: true`},
		{"its echo", started + "> " + write(2, `"input":"hunter2\n","secret":true`) + "\nOUT 1 0 \"got hun\"\nOUT 1 7 \"ter2\\r\\n\"\nEVENT closed 1", false, `"got ${secret1}\r\n"`},
		{"an echo in two", started + "> " + write(2, `"input":"hunter2\n","secret":true`) + "\nOUT 1 0 \"got hun\"\n> " + write(3, `"input":"x"`) + "\nOUT 1 7 \"ter2\\r\\n\"\nEVENT closed 1", false, `"xxxx\r\n"`},
		{"pieces", started + "> " + write(2, `"send":[{"text":"hunter2"},{"key":"Enter"}],"secret":true`), false, `send: [{text: $secret1}, {key: "Enter"}]`},
		{"a paste", started + "> " + write(2, `"send":[{"paste":"hunter2"},{"base64":"aHVudGVyMg0="}],"secret":true`), false, `{paste: $secret1}, {base64: "eHh4eHh4eA0="}`},
		{"echo off", started + "HIDDEN " + write(2, `"input":"hunter2","appendNewline":true`), false, `input: $secret1, appendNewline: true`},
		{"keys that nobody shows", started + "KEYS " + write(2, `"input":"hunter2","appendNewline":true`) + "\nOUT 1 0 \"\\r\\nwelcome\\r\\n\"", false, "$secret1"},
		{"one key at a time", started + "KEYS " + write(2, `"input":"hunt"`) + "\nKEYS " + write(3, `"input":"er2"`) + "\nKEYS " + write(4, `"keys":["Enter"]`) + "\nOUT 1 0 \"\\r\\nwelcome hunter2\\r\\n\"", true, ""},
		{"one hidden key at a time", started + "HIDDEN " + write(2, `"input":"hunt"`) + "\nHIDDEN " + write(3, `"input":"er2"`) + "\nHIDDEN " + write(4, `"keys":["Enter"]`) + "\nOUT 1 0 \"\\r\\nwelcome hunter2\\r\\n\"\nEVENT closed 1", false, `"welcome xxxxxxx\r\n"`},
		{"keys that are shown", started + "KEYS " + write(2, `"input":"hunter2\r"`) + "\nOUT 1 0 \"\\u001b[1mhun\\u001b[0mter2\\r\\n\"", true, `input: "hunter2\r"`},
		{"commands of an editor", started + "KEYS " + write(2, `"input":"ihunter2\r"`) + "\nOUT 1 0 \"hunter2\\r\\n\"", true, `input: "ihunter2\r"`},
		{"a terminal that nobody can look at", started + "> " + write(2, `"input":"hunter2","appendNewline":true`) + "\nOUT 1 0 \"\\r\\n$ \"", false, "$secret1"},
		{"elsewhere", started + "> " + write(2, `"input":"hunter2\n","secret":true`) + "\n" + `> {"jsonrpc":"2.0","id":3,"method":"job/run","params":{"command":"echo hunter2"}}` + "\n" + `< {"jsonrpc":"2.0","id":3,"result":{"exit":{"code":0,"signal":null,"coreDumped":false,"reason":"exited"},"timedOut":false,"stdout":"hunter2\n","outputComplete":true,"durationMs":1,"job":{"handle":2,"status":"closed","streams":{}}}}` + "\n> {\"jsonrpc\":\"2.0\",\"x\":\"hunter2\"}", false, `stdout: "${secret1}\n"`},
		{"a match that cuts it", started + "> " + write(2, `"input":"hunter2\n","secret":true`) + "\n" + `EVENT patternMatched 1 ,"watchId":1,"match":"got hunt","groups":["hunt"],"named":{},"line":"got hunter2","stream":"pty","offset":0,"endOffset":8`, false, "{handle: $h1, offset: 0, endOffset: 8, stream: \"pty\", watchId: 1}"},
		{"a variable's name", "INIT\n" + `> {"jsonrpc":"2.0","id":1,"method":"job/start","params":{"argv":["x"],"env":{"API_TOKEN":"hunter2","PS1":"$ "}}}`, false, "-- let secret1 --\n"},
		{"options", strings.Replace(started, "INIT", `> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"options":{"env":{"set":{"DB_PASSWORD":"hunter2"}}}}}`+"\n"+`< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1"}}`+"\n"+`> {"jsonrpc":"2.0","method":"initialized"}`, 1), false, `DB_PASSWORD: "xxxxxxx"`},
		{"a variable that is set", "INIT\n" + `> {"jsonrpc":"2.0","id":1,"method":"env/set","params":{"name":"A","value":"hunter2","secret":true}}`, false, "value: $secret1"},
		{"a variable that is set under such a name", "INIT\n" + `> {"jsonrpc":"2.0","id":1,"method":"env/set","params":{"name":"DEPLOY_KEY","value":"hunter2"}}`, false, "value: $secret1"},
		{"a message that is none", "INIT\n" + `> {"id":3,"method":"job/write","params":{"handle":1,"input":"hunter2","secret":true}}`, false, `"input":"xxxxxxx"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TMPDIR", "/tmp") // as in the recorded messages
			text, _ := composed(t, test.wire, Options{})
			if strings.Contains(text, "hunt") != test.kept || !strings.Contains(text, test.want) {
				t.Errorf("expected %s in %s", test.want, text)
			}
		})
	}
}

// TestReplies checks that the client's answers to the server come before the messages that cause the requests.
func TestReplies(t *testing.T) {
	text, notes := composed(t, "INIT\n"+`> {"jsonrpc":"2.0","id":1,"method":"job/start","params":{"argv":["x"]}}`+"\n"+
		`< {"jsonrpc":"2.0","id":"q","method":"client/confirm","params":{"action":"start"}}`+"\n"+`> {"jsonrpc":"2.0","id":"q","result":{"outcome":"once"}}`+"\nSTART 1 1\n"+
		`> {"jsonrpc":"2.0","id":2,"method":"job/get","params":{"handle":1}}`+"\n"+`< {"jsonrpc":"2.0","id":"s","method":"client/secret","params":{"prompt":"Password: "}}`+"\n"+`> {"jsonrpc":"2.0","id":"s","result":{"value":"hunter2"}}`+"\n"+
		`< {"jsonrpc":"2.0","id":"t","method":"client/secret","params":{"prompt":"PIN: ","waitId":"1.1"}}`+"\n"+`> {"jsonrpc":"2.0","id":"t","result":{"declined":true}}`+"\n"+
		`< {"jsonrpc":"2.0","id":"u","method":"client/secret","params":{"prompt":"Key: "}}`+"\n"+`< {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"u"}}`+"\n"+
		`> {"jsonrpc":"2.0","id":"u","result":{"value":"tooLate"}}`, Options{})
	want := "-- reply client/confirm --\n{action: \"start\"}\n=>\n{outcome: \"once\"}\n-- send start --\n"
	for _, want := range []string{
		want, "\"xxxxxxx\"\n-- reply client/secret --\n{prompt: \"Password: \"}\n=>\n{value: $secret1}\n",
		"-- reply client/secret --\n{prompt: \"PIN: \"}\n=>\n{declined: true}\n", "-- reply client/secret unanswered --\n{prompt: \"Key: \"}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nin %s", want, text)
		}
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "tooLate") || len(notes) != 1 {
		t.Error(text, notes)
	}
}

// TestSplitter checks that the result does not depend on the chunks, and that bytes that are no message are kept.
func TestSplitter(t *testing.T) {
	for _, test := range []struct {
		framing, wire string
		want          []string
	}{
		{"line", "{\"a\":1}\n\n \r\n[]\n{\"b\"", []string{`0 {"a":1}`, "0 []", `1 {"b"`}},
		{"line", "\xef\xbb\xbf{}\n", []string{"0 {}"}},
		{"header", "Content-Length: 2\r\n\r\n{}content-length:3\nX: y\n\nabc", []string{"0 {}", "0 abc"}},
		{"header", "Content-Length: 2\r\n\r\n{}Content-Length: two\r\n\r\nrest", []string{"0 {}", "1 Content-Length: two\r\n\r\nrest"}},
		{"header", "Content-Length: 9\r\n\r\n{}", []string{"1 Content-Length: 9\r\n\r\n{}"}},
		{"header", "X: y\r\n\r\n{}", []string{"1 X: y\r\n\r\n{}"}},
		{"header", "Content-Length: -1\r\n\r\n", []string{"1 Content-Length: -1\r\n\r\n"}},
	} {
		for range 50 {
			s := splitter{framing: test.framing}
			var got []string
			tell := func(kind tapeKind, raw []byte) {
				if n := len(got); n > 0 && kind == tapeRaw && got[n-1][0] == '1' {
					got[n-1] += string(raw)
				} else {
					got = append(got, fmt.Sprintf("%d %s", kind, raw))
				}
			}
			for wire := []byte(test.wire); len(wire) > 0; {
				n := 1 + rand.IntN(len(wire))
				s.add(wire[:n], tell)
				wire = wire[n:]
			}
			if rest := s.rest(); len(rest) > 0 {
				tell(tapeRaw, rest)
			}
			if !slices.Equal(got, test.want) {
				t.Fatalf("%q: %q", test.wire, got)
			}
		}
	}
}
