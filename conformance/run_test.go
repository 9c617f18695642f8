//go:build linux

package conformance

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const good = `The fake's one job.

-- send start --
job/start {argv: ["x"], mode: "pipe"}
-- answer start --
{job: {handle: $h:int}}
-- output $h stdout --
"hello" "é\n"
-- expect --
job/exited {handle: $h, exit: {code: 0}}
job/closed {handle: $h}
-- send get --
job/get {handle: $h}
-- answer get --
{job: {status: "closed"}}
`

// TestBadServers checks that a run ends with a verdict and leaves no process, whatever the server does.
func TestBadServers(t *testing.T) {
	t.Cleanup(func() { // after all subtests
		if left := children(); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	for _, test := range []struct{ fault, want string }{
		{"", ""},
		{"prints garbage", "the server's stdout has what is no message"},
		{"prints half", "the output ended inside a line"},
		{"endless line", "a line of more than"},
		{"dies at once", "the server has ended (exit status 7)"},
		{"floods", "more than 256 MiB came in one session"},
		{"silent", "expected an answer to initialize within"},
		{"never ends", "did not end within"},
		{"wrong exit status", "expected the server's exit status 1"},
		{"holds stdout", "holds its stdout open"},
		{"leaves the job", "has outlived the server"},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && slices.Contains([]string{"floods", "silent", "never ends", "leaves the job"}, test.fault) {
				t.Skip("it takes its time")
			}
			if raced && test.fault == "floods" {
				t.Skip("one goroutine reads a quarter of a gigabyte; a race would show in its first messages")
			}
			r := play(t, test.fault, "line", good)
			if test.want == "" && r.Verdict != Passed || test.want != "" && r.Verdict != Failed || !strings.Contains(r.Reason, test.want) {
				t.Errorf("%s: %s\n%s", r.Verdict, r.Reason, r.Transcript)
			}
		})
	}
}

// TestGoodHeader checks the other framing.
func TestGoodHeader(t *testing.T) {
	if r := play(t, "", "header", good); r.Verdict != Passed {
		t.Errorf("%s: %s\n%s", r.Verdict, r.Reason, r.Transcript)
	}
}

// TestPlay checks the verdict and the reason of sessions, most of which fail.
func TestPlay(t *testing.T) {
	start := "prose\n\n-- send start --\njob/start {argv: [\"x\"]}\n-- answer start --\n{job: {handle: $h}}\n"
	self := strconv.Itoa(os.Getpid()) // a process that is alive in any case
	for _, test := range []struct {
		name, session string
		verdict       Verdict
		want          string
	}{
		{"answer differs", "prose\n-- send start --\njob/start {}\n-- answer start --\n{job: {handle: 1,\n cwd: \"/tmp\"}}\n", Failed, `test.txtar:6:7: /job/cwd: expected "/tmp", got "/"`},
		{"error expected", "prose\n-- send start --\njob/start {}\n-- error start --\n", Failed, "expected an error for start, got the result"},
		{"result expected", "prose\n-- send x invalid --\njob/strat {}\n-- answer x --\n", Failed, "expected a result for x, got the error"},
		{"an error's members", "prose\n-- send x invalid --\njob/strat {}\n-- error x --\n{kind: \"methodNotFound\", code: -32601, data: {method: \"x\"}}\n", Passed, ""},
		{"output differs", start + "-- output $h --\n\"help\"\n", Failed, "the output differs"},
		{"output is too short", start + "-- output $h --\n\"helloé\\nx\"\n", Failed, "the job is closed"},
		{"output ends", start + "-- output $h contains --\n\"ell\"\n-- output $h ends --\n\"oé\\n\"\n", Passed, ""},
		{"output goes on", start + "-- output $h ends --\n\"hello\"\n", Failed, "the output differs"},
		{"output by a regex", start + "-- output $h --\n~`l+`\n-- output $h stdout from 1 --\n\"ell\"\n-- output $h --\n\"oé\"\n", Passed, ""},
		{"bytes", start + "-- bytes $h stdout --\n1: \"ello\"\n5: base64 \"w6k=\"\n$h + 6: \"\\n\"\n", Passed, ""},
		{"bytes differ", start + "-- bytes $h stdout --\n1: \"ella\"\n", Failed, `test.txtar:8:1: the output differs`},
		{"no such event", start + "-- expect within 1s --\njob/exited {exit: {code: 3}}\n", Failed, "the last one that came differs: test.txtar:8:26: /exit/code: expected 3, got 0"},
		{"a job that is closed", start + "-- expect within 1m --\njob/exited {handle: $h, exit: {code: 3}}\n", Failed, "test.txtar:8:1: expected job/exited as here, which cannot come any more: job 1 is closed\n\tthe last one that came differs: test.txtar:8:38: /exit/code: expected 3, got 0"},
		{"a job that is closed, unordered", start + "-- expect unordered within 1m --\njob/output {handle: 2}\njob/output {handle: $h, text: \"x\"}\n", Failed, "test.txtar:9:1: expected job/output as here, which cannot come any more: job 1 is closed"},
		{"an answer that came", start + "-- expect within 1m --\njob/exited\nanswer start\n", Failed, "test.txtar:9:1: expected answer start as here, which cannot come any more: the answer to start has come already"},
		{"in order", start + "-- expect within 1s --\njob/exited\njob/output\n", Failed, "test.txtar:9:1: expected job/output as here"},
		{"unordered", start + "-- expect unordered --\njob/exited\njob/output\n", Passed, ""},
		{"answers in order", "prose\n-- send start --\njob/start {}\n-- expect --\njob/started {handle: $h}\nanswer start {job: {handle: $h}}\njob/output\n", Passed, ""},
		{"next", start + "-- expect next --\njob/started {handle: $h}\njob/output\njob/output\njob/exited\n", Passed, ""},
		{"not next", start + "-- expect next --\njob/started {handle: $h}\njob/output\njob/exited\n", Failed, "test.txtar:10:1: expected job/exited next, got"},
		{"never", start + "-- never --\njob/exited\n", Failed, "test.txtar:7:1: expected that this never comes"},
		{"never until", start + "-- never until start --\njob/exited\n-- expect --\njob/closed\n", Passed, ""},
		{"count", start + "-- expect --\njob/closed\n-- count 2 --\njob/output\n-- count 1 --\njob/output {text: ~\"h\"}\n", Passed, ""},
		{"wrong count", start + "-- expect --\njob/closed\n-- count 1 --\njob/output {}\n", Failed, "expected 1 of job/output as here in the session, got 2"},
		{"a complaint", "prose\n-- frame --\n{\n", Failed, "the server complains of a message"},
		{"an expected one", "prose\n-- frame --\n{\n-- error null --\n{kind: \"parseError\"}\n", Passed, ""},
		{"exit status", "prose\n-- close stdin --\n-- exit 1 --\n", Passed, ""},
		{"another", "prose\n-- send bye --\nshutdown\n-- answer bye --\n-- close stdin --\n-- exit 3 --\n", Failed, "expected the server's exit status 3, got exit status 0"},
		{"stall", start + "-- stall --\n-- send get --\njob/get {handle: $h}\n-- resume --\n-- answer get --\n", Passed, ""},
		{"signal", start + "-- signal KILL --\n-- exit any --\n", Passed, ""},
		{"gone", start + "-- gone within 1s --\n" + self + "\n", Failed, "expected the process " + self + " to be gone"},
		{"unbound", "prose\n-- send get --\njob/get {handle: $h}\n", Wrong, "test.txtar:3:18: the variable $h has no value yet; those that have: none"},
		{"params that do not fit", "prose\n-- send start --\njob/start {argb: [\"x\"]}\n", Wrong, "the message does not fit its schema"},
		{"params that fit", "prose\n-- send start invalid --\njob/start {argv: [\"x\"]}\n", Wrong, "though the step says that they are invalid"},
		{"sent after the end", "prose\n-- close stdin --\n-- notify --\nexit\n", Wrong, "stdin was closed before"},
		{"a method that nobody has", "prose\n-- send w --\njob/strat {argv: [\"x\"]}\n", Wrong, `test.txtar:3:1: the protocol has no method "job/strat"`},
		{"an event that nobody has", start + "-- never --\njob/otput {}\n", Wrong, `the protocol has no event "job/otput"`},
		{"an event that is a method", start + "-- expect --\njob/start {}\n", Wrong, `the protocol has no event "job/start"`},
		{"a method that it lacks", "prose\n-- send w --\njob/wait {handle: 1, until: []}\n", Skipped, "the server has no method job/wait"},
		{"a key that it lacks", "prose\nneeds: key Enter\n" + start[6:], Skipped, "the server has no key Enter"},
		{"a mode that it must lack", "prose\nlacks: mode pty\n" + start[6:], Skipped, "the server has the mode pty"},
		{"a key that it must lack", "prose\nlacks: key Enter\n" + start[6:], Passed, ""},
		{"a level that it lacks", "prose\nlevel: store\n" + start[6:], Skipped, "nothing of the level store"},
		{"a level that joins sessions", "prose\nlevel: sessions\n-- client B --\n", Skipped, "there is no command that joins a session (-connect)"},
		{"another platform", "prose\nneeds: platform plan9\n" + start[6:], Skipped, "this is not plan9"},
		{"a program", "prose\nneeds: program no-such-program\n" + start[6:], Skipped, "no-such-program is not installed"},
		{"an id", "prose\n-- send start --\njob/start\nid: \"a b\"\n{}\n-- answer start --\n{job: {handle: 1}}\n", Passed, ""},
		{"cold", "prose\ninitialize: no\n-- raw a=1 --\n{\"jsonrpc\":\"2.0\",\"id\":1,\n\"method\":\"\\x73hutdown\"}\\n\n-- answer a --\n", Passed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.name == "gone" && os.Getpid() == 1 {
				t.Skip("the test's own process is 1, for which no session may wait")
			}
			r := play(t, "", "line", test.session)
			if r.Verdict != test.verdict || !strings.Contains(r.Reason, test.want) {
				t.Errorf("%s, want %s: %s\n%s", r.Verdict, test.verdict, r.Reason, r.Transcript)
			}
			if r.Verdict == Failed && r.Transcript == "" {
				t.Error("a failure without a transcript")
			}
		})
	}
}

// TestReply checks that the server's requests are answered as the session specifies.
func TestReply(t *testing.T) {
	start := "-- send start --\njob/start {}\n"
	reply := "-- reply client/confirm --\n{action: $a}\n=>\n{outcome: \"once\"}\n"
	for _, test := range []struct {
		name, session string
		verdict       Verdict
		want          string
	}{
		{"answered", reply + start + "-- expect --\nclient/confirm {action: \"start\"}\n-- answer start --\n-- expect --\njob/closed\n", Passed, ""},
		{"no reply", start + "-- error start --\n{kind: \"confirmationDenied\"}\n", Passed, ""},
		{"the last reply that fits", reply + strings.Replace(strings.Replace(reply, "$a", "\"kill\"", 1), "once", "deny", 1) + start + "-- answer start --\n", Passed, ""},
		{"its id", reply + start + "-- expect --\nclient/confirm\nid: $id:string\n{action: \"start\"}\n-- expect of other --\nclient/confirm id: \"q\"\n-- answer start --\n", Passed, ""},
		{"another id", reply + start + "-- expect within 1s --\nclient/confirm id: \"r\"\n", Failed, "expected \"r\", got \"q\""},
		{"unanswered", "-- reply client/confirm unanswered --\n{action: \"start\"}\n" + start + "-- expect --\nclient/confirm {}\n-- answer start within 1s --\n", Failed, "expected an answer to start within 1s"},
		{"no result", strings.Replace(reply, "outcome", "outcom", 1) + start + "-- answer start --\n", Wrong, "the result does not fit its schema"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := play(t, "asks", "line", "prose\n"+test.session)
			if r.Verdict != test.verdict || !strings.Contains(r.Reason, test.want) {
				t.Errorf("%s, want %s: %s\n%s", r.Verdict, test.verdict, r.Reason, r.Transcript)
			}
		})
	}
}

// TestIDOfAnother checks that an expected request's variable is not bound to the id of a request with other
// params.
func TestIDOfAnother(t *testing.T) {
	r := play(t, "asks twice", "line", "prose\n-- reply client/confirm --\n{action: \"start\"}\n=>\n{outcome: \"once\"}\n-- reply client/confirm unanswered --\n{action: \"kill\"}\n-- send start --\njob/start {}\n-- expect --\nclient/confirm\nid: $id:string\n{action: \"start\"}\n-- answer start --\n")
	if r.Verdict != Passed {
		t.Errorf("%s: %s\n%s", r.Verdict, r.Reason, r.Transcript)
	}
}

// TestDeaf checks that a server that does not read its stdin does not block the runner.
func TestDeaf(t *testing.T) {
	r := play(t, "silent", "line", "prose\ninitialize: no\n-- send init --\ninitialize {x: @repeat 3000000 \"x\"}\n-- close stdin --\n-- answer init within 1s --\n")
	if r.Verdict != Failed || !strings.Contains(r.Reason, "expected an answer to init within 1s") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// TestKillServers checks that KillServers leaves no server.
func TestKillServers(t *testing.T) {
	t.Setenv(faultVar, "silent")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("test.txtar", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan Result)
	go func() { done <- Run(s, "line", Config{Contract: contract(t), Command: []string{binary}}) }()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		dialed.Lock()
		n := len(dialed.all)
		dialed.Unlock()
		if n > 0 {
			break
		}
		<-look.C
	}
	KillServers()
	defer func() {
		dialed.Lock()
		dialed.over = false // for the other tests
		dialed.Unlock()
	}()
	if r := <-done; r.Verdict != Failed || !strings.Contains(r.Reason, "the server has ended (signal: killed)") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	// A later run starts no server.
	if r := Run(s, "line", Config{Contract: contract(t), Command: []string{binary}}); r.Verdict != Wrong || !strings.Contains(r.Reason, "no server is started any more") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// TestNoServer runs a command that cannot be started.
func TestNoServer(t *testing.T) {
	s, err := Parse("test.txtar", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	r := Run(s, "line", Config{Contract: contract(t), Command: []string{"./no-such-server"}})
	if r.Verdict != Wrong || !strings.Contains(r.Reason, "the server cannot be started") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// TestRunAll checks that the results are reported in order, although several sessions run at a time.
func TestRunAll(t *testing.T) {
	t.Setenv(faultVar, "")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var sessions []*Session
	for i := range 4 {
		sessions = append(sessions, read(fmt.Sprintf("%d.txtar", i), []byte(good)))
	}
	sessions = append(sessions, read("bad.txtar", []byte("prose\n-- sned --\n")))
	var got []string
	RunAll(sessions, []string{"line"}, 3, Config{Contract: contract(t), Command: []string{binary}, Orphans: true}, func(r Result) {
		got = append(got, fmt.Sprint(r.Session, " ", r.Framing, " ", r.Verdict))
		if r.Verdict == Failed {
			t.Log(r.Reason)
		}
	})
	want := []string{"0 line pass", "1 line pass", "2 line pass", "3 line pass", "bad line error"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if left := children(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
