//go:build linux

package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shelld.dev/shelld/conformance/internal/wire"
)

// The test binary is also the server for the tests of the runner: a scripted one with one job, which prints
// "hello\n", exits and is closed. A fault is a misbehavior of its process. The faults in a server's messages are
// in faults_test.go.
const faultVar = "CONFORMANCE_TEST_FAULT"

func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == proxyWord {
		os.Exit(proxyMain(os.Args[2:]))
	}
	if fault, ok := os.LookupEnv(faultVar); ok {
		(&fake{fault: fault, out: bufio.NewWriter(os.Stdout)}).serve(os.Stdin)
		return
	}
	goleak.VerifyTestMain(m)
}

// A fake is this server.
type fake struct {
	fault string
	line  bool
	out   *bufio.Writer
	pid   int
	done  bool            // shutdown was answered
	held  json.RawMessage // a start that waits for the client's answer
}

func (f *fake) serve(in io.Reader) {
	switch f.fault {
	case "silent":
		select {}
	case "dies at once":
		os.Exit(7)
	case "floods":
		f.line = true
		for i := 0; ; i++ {
			f.message(fmt.Sprintf(`{"jsonrpc":"2.0","method":"log/message","params":{"level":"info","text":%q}}`, strings.Repeat("x", 1<<16)))
		}
	case "prints garbage":
		fmt.Println("Listening on stdin!")
	case "prints half":
		fmt.Print(`{"jsonrpc":`)
		return
	case "endless line":
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	case "holds stdout":
		c := exec.Command("sleep", "60")
		c.Stdout = os.Stdout
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_ = c.Start() // The test shows whether it started.
	}
	r := bufio.NewReader(in)
	first, err := r.Peek(1)
	if err != nil {
		f.end(1)
	}
	f.line = first[0] == '{'
	framing := "header"
	if f.line {
		framing = "line"
	}
	for {
		raw, err := wire.ReadFrame(r, framing)
		if err != nil {
			status := 1
			if f.done {
				status = 0
			}
			f.end(status)
		}
		f.take(raw)
	}
}

func (f *fake) end(status int) {
	switch f.fault {
	case "never ends":
		select {}
	case "wrong exit status":
		status = 5
	}
	if f.pid > 0 && f.fault != "leaves the job" {
		_ = syscall.Kill(f.pid, syscall.SIGKILL)
		var s syscall.WaitStatus
		_, _ = syscall.Wait4(f.pid, &s, 0, nil)
	}
	os.Exit(status)
}

// take answers one message.
func (f *fake) take(raw []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Result struct{ Outcome string }
		Error  json.RawMessage
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		f.message(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON","data":{"kind":"parseError"}}}`)
		return
	}
	switch m.Method {
	case "initialize":
		f.answer(m.ID, `{"protocolVersion":"1","serverInfo":{"name":"fake","version":"1"},"sessionId":"s","stateDirectory":null,"capabilities":{"framings":[],"modes":["pty","pipe"],"methods":["initialize","shutdown","job/start","job/get"],"events":["output"],"conditions":[],"keys":[],"encodings":["text"],"readFormats":[],"waitFormats":[],"treeControl":{"kind":"none","reaches":[],"survivesServer":true,"notReached":[]},"inputDetection":{"tier":"none","why":"fake"},"screen":{"formats":[]},"signals":[],"ack":false,"confirm":false,"levels":{"core":"partial"}},"platform":{"os":"linux","arch":"amd64","shell":"sh","shellPath":"/bin/sh","canonicalLineLimit":null},"limits":{"maxJobs":1,"maxMessageBytes":1048576,"spoolMemoryBytes":131072,"spoolDiskBytes":0,"spoolTotalBytes":0,"inputQueueBytes":4096,"shutdownGraceMs":0}}`)
	case "shutdown":
		f.done = true
		f.answer(m.ID, `{}`)
	case "job/start":
		if strings.HasPrefix(f.fault, "asks") {
			f.held = m.ID
			ask := func(id, action string) {
				f.message(`{"jsonrpc":"2.0","id":"` + id + `","method":"client/confirm","params":{"action":"` + action + `","command":"a","roots":["a"],"unknown":false,"alwaysKept":true,"cwd":"/"}}`)
			}
			if f.fault == "asks twice" {
				ask("p", "kill")
			}
			ask("q", "start")
			return
		}
		f.start(m.ID)
	case "":
		if m.Result.Outcome == "once" {
			f.start(f.held)
			return
		}
		f.message(`{"jsonrpc":"2.0","id":` + string(f.held) + `,"error":{"code":-32024,"message":"refused","data":{"kind":"confirmationDenied","action":"start"}}}`)
	case "job/get":
		f.answer(m.ID, `{"job":`+f.job(`"closed","exit":{"code":0,"signal":null,"coreDumped":false,"reason":"exited"}`)+`}`)
	case "initialized", "exit":
	default:
		f.message(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"no such method","data":{"kind":"methodNotFound","method":"x"}}}`)
	}
}

func (f *fake) job(status string) string {
	return fmt.Sprintf(`{"handle":1,"status":%s,"argv":["x"],"cwd":"/","mode":"pipe","pid":%d,"startedAt":"2026-01-02T03:04:05Z","durationMs":1,"cols":80,"rows":24,"background":[],"streams":{"stdout":{"nextOffset":8,"kept":[[0,8]]}},"watches":[]}`, status, f.pid)
}

func (f *fake) start(id json.RawMessage) {
	c := exec.Command("sleep", "60")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.Start() == nil {
		f.pid = c.Process.Pid
	}
	event := func(seq int, method, rest string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"job/%s","params":{"handle":1,"seq":%d,%s}}`, method, seq, rest)
	}
	messages := []string{
		event(1, "started", `"requestId":`+string(id)+`,"job":`+strings.Replace(f.job(`"running"`), `"nextOffset":8,"kept":[[0,8]]`, `"nextOffset":0,"kept":[]`, 1)),
		`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"job":` + strings.Replace(f.job(`"running"`), `"nextOffset":8,"kept":[[0,8]]`, `"nextOffset":0,"kept":[]`, 1) + `}}`,
		event(2, "output", `"stream":"stdout","offset":0,"bytes":5,"text":"hell\u006f"`),
		event(3, "output", `"stream":"stdout","offset":5,"bytes":3,"text":"é\n"`),
		event(4, "exited", `"exit":{"code":0,"signal":null,"coreDumped":false,"reason":"exited"},"durationMs":1,"background":[]`),
		strings.Replace(event(5, "closed", ``), ",}}", "}}", 1),
	}
	for _, m := range messages {
		f.message(m)
	}
}

func (f *fake) answer(id json.RawMessage, result string) {
	f.message(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (f *fake) message(m string) {
	framing := "header"
	if f.line {
		framing = "line"
	}
	if _, err := f.out.Write(wire.Frame(framing, []byte(m))); err != nil {
		os.Exit(3)
	}
	if err := f.out.Flush(); err != nil {
		os.Exit(3)
	}
}

// play runs one session against the fake server.
func play(t *testing.T, fault, framing, session string) Result {
	t.Helper()
	s, err := Parse("test.txtar", []byte(session))
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The variable is set only for the server, so that tests with other faults can run at the same time.
	command := []string{"env", faultVar + "=" + fault, binary}
	within, shutdown := time.Minute, time.Minute // generous, for things that are sure to come on any machine
	switch fault {
	case "silent":
		within = 5 * time.Second
	case "never ends", "holds stdout", "leaves the job":
		shutdown = 3 * time.Second
	}
	began := time.Now()
	r := Run(s, framing, Config{Contract: contract(t), Command: command, Orphans: true, Within: within, Shutdown: shutdown})
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("the verdict took %v", took)
	}
	return r
}

// contract loads the contract from the schema files.
func contract(t *testing.T) *Contract {
	t.Helper()
	c, err := LoadContract(os.DirFS("../schema/json"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
