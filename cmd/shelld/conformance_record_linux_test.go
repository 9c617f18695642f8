package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/schema"
)

// A recordClient drives a server through "shelld conformance record".
type recordClient struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	header bool
	file   string
	ids    int
}

func newRecordClient(t *testing.T, header bool) *recordClient {
	t.Helper()
	c := &recordClient{t: t, header: header, file: filepath.Join(t.TempDir(), "session.txtar")}
	c.cmd = exec.Command("shelld", "conformance", "record", "-o", c.file, "--", "shelld")
	c.cmd.Stderr = os.Stderr
	in, out := startPiped(t, c.cmd)
	c.in, c.out = in, bufio.NewReader(out)
	bark := time.AfterFunc(2*watchdog, func() { _ = c.cmd.Process.Kill() }) // A missing message then fails the test.
	t.Cleanup(func() {
		bark.Stop()
		_ = c.in.Close()
		_ = c.cmd.Wait() // It may have been waited for.
	})
	return c
}

func (c *recordClient) send(v map[string]any) {
	c.t.Helper()
	v["jsonrpc"] = "2.0"
	raw, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.header {
		raw = append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(raw)), raw...)
	} else {
		raw = append(raw, '\n')
	}
	if _, err := c.in.Write(raw); err != nil {
		c.t.Fatal(err)
	}
}

// message reads the next message.
func (c *recordClient) message() (m map[string]any) {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	body := []byte(line)
	if length, ok := strings.CutPrefix(strings.TrimSpace(line), "Content-Length: "); ok && err == nil {
		n, _ := strconv.Atoi(length) // 0 bytes are not JSON.
		body = make([]byte, n+2)
		_, err = io.ReadFull(c.out, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		c.t.Fatalf("%q: %v", body, err)
	}
	return m
}

// ask sends a request and reads up to its answer.
func (c *recordClient) ask(method string, params map[string]any) map[string]any {
	c.t.Helper()
	c.ids++
	c.send(map[string]any{"id": c.ids, "method": method, "params": params})
	for {
		if m := c.message(); m["id"] == float64(c.ids) {
			result, _ := m["result"].(map[string]any)
			return result
		}
	}
}

func (c *recordClient) initialize() {
	c.t.Helper()
	c.ask("initialize", map[string]any{"clientInfo": map[string]any{"name": "a test"}})
	c.send(map[string]any{"method": "initialized"})
}

// start starts a job and returns its handle.
func (c *recordClient) start(params map[string]any) float64 {
	c.t.Helper()
	job, _ := c.ask("job/start", params)["job"].(map[string]any)
	handle, ok := job["handle"].(float64)
	if !ok {
		c.t.Fatalf("%v does not start", params)
	}
	return handle
}

// write types, and waits for a pattern.
func (c *recordClient) write(handle float64, input, pattern string, more map[string]any) {
	c.t.Helper()
	params := map[string]any{"handle": handle, "input": input, "wait": map[string]any{"until": []any{map[string]any{"pattern": pattern}}}}
	for name, v := range more {
		params[name] = v
	}
	outcome, _ := c.ask("job/write", params)["outcome"].(map[string]any)
	if outcome["reason"] != "pattern" {
		c.t.Fatalf("after %q: %v", input, outcome)
	}
}

// end shuts down the server and reads the session. Nothing may follow the last message on stdout.
func (c *recordClient) end() string {
	c.t.Helper()
	c.ask("shutdown", nil)
	c.send(map[string]any{"method": "exit"})
	for {
		if _, err := c.out.Peek(1); err == io.EOF {
			break
		}
		c.message()
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Error(err)
	}
	return c.session()
}

func (c *recordClient) session() string {
	c.t.Helper()
	text, err := os.ReadFile(c.file)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// script is the test's client: a shell at its prompt, a question with echo off, a secret, pipes with a watch,
// concurrent jobs, errors, a kill.
func (c *recordClient) script() {
	c.initialize()
	prompt := map[string]any{"until": []any{map[string]any{"pattern": `\$ $`}}}
	h := c.start(map[string]any{"argv": []string{"bash", "--norc", "--noprofile", "-i"}, "env": map[string]any{"PS1": "$ ", "TERM": "dumb"}, "wait": prompt})
	c.write(h, "echo $$; pwd; date\r", `\$ $`, nil)
	c.write(h, "read -rsp 'Who? ' x; echo; echo ${#x}\r", `Who\? $`, nil)
	c.write(h, "swordfish\r", `\$ $`, nil)
	c.write(h, "stty -echo; echo off; read x; stty echo; echo \"<$x>\"\r", `off\r\n$`, nil)
	c.write(h, "xyzzy-plugh\r", `>\r\n\$ $`, nil)
	p := c.start(map[string]any{"argv": []string{"sh", "-c", "while read x; do echo got $x; echo err >&2; done"}, "mode": "pipe", "stdin": "open", "watch": []any{map[string]any{"pattern": `got (\w+)`}}})
	c.write(p, "one\n", `got one\n`, nil)
	c.write(p, "open-sesame\n", `got o\S+\n|got x\S+\n`, map[string]any{"secret": true})
	c.write(h, "exit 3\r", `exit\r\n`, nil)
	c.ask("job/run", map[string]any{"command": "echo done; exit 4"})
	c.ask("job/get", map[string]any{"handle": 99})
	c.ask("job/strat", nil)
	c.ask("job/kill", map[string]any{"handle": p})
	c.ask("job/wait", map[string]any{"handle": h, "until": []any{map[string]any{"closed": true}}})
	c.ask("job/list", nil)
}

// TestRecord records a session in each framing, and replays it in both against the same binary. The session must not
// contain secret input.
func TestRecord(t *testing.T) {
	needJobs(t)
	if _, err := exec.LookPath("bash"); err != nil && os.Getenv("SHELLD_CI") == "" {
		t.Skip("bash is not installed")
	}
	contract, err := conformance.LoadContract(schema.Files())
	if err != nil {
		t.Fatal(err)
	}
	rounds := scaled(3, 1, 1)
	for _, header := range []bool{true, false} {
		t.Run(fmt.Sprintf("header %v", header), func(t *testing.T) {
			c := newRecordClient(t, header)
			c.script()
			text := c.end()
			for _, secret := range []string{"swordfish", "xyzzy", "plugh", "got open", "sesame", t.TempDir()} {
				if strings.Contains(text, secret) {
					t.Errorf("%s is in the session:\n%s", secret, text)
				}
			}
			s, err := conformance.Parse("recorded.txtar", []byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for range rounds {
				for _, framing := range []string{"header", "line"} {
					if r := conformance.Run(s, framing, conformance.Config{Contract: contract, Command: []string{"shelld"}}); r.Verdict != conformance.Passed {
						t.Fatalf("%s: %s\n%s\n%s", framing, r.Reason, r.Transcript, text)
					}
				}
			}
		})
	}
}

// TestRecordSignal checks that a signal ends the recorder, the server and its jobs, and that the session is written.
func TestRecordSignal(t *testing.T) {
	needJobs(t)
	c := newRecordClient(t, true)
	c.initialize()
	h := c.start(map[string]any{"argv": []string{"cat"}, "mode": "pipe", "stdin": "open"})
	c.write(h, "up\n", "up\n", nil)
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c.out); err != nil {
		t.Error(err)
	}
	_ = c.cmd.Wait() // The status is checked below.
	if text := c.session(); c.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(text, "-- signal TERM --\n") || !strings.Contains(text, "-- exit 1 --\n") {
		t.Errorf("%s\n%s", c.cmd.ProcessState, text)
	}
}
