package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/session"
)

// buildShelld builds shelld, where front ends find it. Its directory is deleted after the tests.
var buildShelld = sync.OnceValue(func() error {
	path := filepath.Join(os.Getenv("XDG_STATE_HOME"), "bin", "shelld")
	if out, err := exec.Command("go", "build", "-o", path, "../shelld").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return os.Setenv("SHELLD", path)
})

var sessions struct {
	sync.Mutex
	made int
}

// newSession returns the name of a session, which ends with the test.
func newSession(t testing.TB) string {
	t.Helper()
	needJobs(t)
	if err := buildShelld(); err != nil {
		t.Fatal(err)
	}
	sessions.Lock()
	sessions.made++
	name := fmt.Sprintf("test-%d", sessions.made)
	sessions.Unlock()
	t.Cleanup(func() {
		d, err := session.Open("")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.End(context.Background(), name); err != nil && session.NotFound != kindIn(err) {
			t.Error(err)
		}
	})
	return name
}

func kindIn(err error) session.Kind {
	if e, ok := err.(*session.Error); ok {
		return e.Kind
	}
	return ""
}

// hostOf returns the process of the host of a session.
func hostOf(t *testing.T, name string) int {
	t.Helper()
	d, err := session.Open("")
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.Show(name)
	if err != nil || !e.Alive {
		t.Fatalf("%+v, %v", e, err)
	}
	return e.Info.PID
}

// startMember starts the program with a session and the compact tools.
func startMember(t *testing.T, name, root string) *process {
	t.Helper()
	return startProcess(t, "-session", name, "-tools", "compact", "-structured=false", "-root", root)
}

// says calls a tool and returns the texts of the answer.
func (p *process) says(id int, tool, args string) string {
	p.t.Helper()
	p.send(callLine(id, tool, args))
	return p.answer(id)
}

// answer reads the answer to a call.
func (p *process) answer(id int) string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	var m struct {
		ID     int
		Result struct {
			Content []struct{ Text string }
		}
	}
	if err != nil || json.Unmarshal([]byte(line), &m) != nil || m.ID != id {
		p.t.Fatalf("%q, %v; stderr: %s", line, err, p.stderr.String())
	}
	var b strings.Builder
	for _, c := range m.Result.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// dies kills the program.
func (p *process) dies() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // It has been killed.
}

// opens lets a command that reads from a gate go on.
func opens(t *testing.T, gate, text string) {
	t.Helper()
	if err := os.WriteFile(gate, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

// TestKilledFront kills the program in the middle of commands, and starts it again: the jobs live, their names are known,
// the output goes on where it was, and the first answer says what has happened.
func TestKilledFront(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	dev, build := gate(t), gate(t)
	p := startMember(t, name, root)
	if got := p.says(1, "shell_jobs", `{}`); got != noJobs {
		t.Errorf("the first answer in a new session: %s", got)
	}
	first := p.says(2, "shell", `{"command":"echo one; cat `+dev+`; read -p 'Go on? ' x; echo $x","name":"dev","pattern":"one","wait":"none"}`)
	contains(t, first, "[job 1, running, pattern]", "one")
	contains(t, p.says(3, "shell", `{"command":"cat `+build+`; exit 3","name":"build","wait":"none"}`), "[job 2, running")
	contains(t, p.says(4, "shell", `{"command":"echo done","wait":"exit"}`), "ended, exit code 0", "done")
	p.send(callLine(5, "shell", `{"job":"dev","pattern":"never","wait":"none","timeout_seconds":3600}`))
	p.dies()
	opens(t, dev, "two\n")
	opens(t, build, "built\n")
	awaitEnd(t, name, 2)

	p = startMember(t, name, root)
	got := p.says(1, "shell", `{"job":"dev","wait":"input"}`)
	head, rest, _ := strings.Cut(got, "\n\n")
	contains(t, head, "was started again", "[job 1, name dev, running", "[job 2, name build, ended, exit code 3, pid ", "cat "+build)
	lacks(t, head, "job 3")
	if !strings.HasPrefix(rest, "[job 1, running, waiting for input: Go on?]\n") || strings.TrimSpace(rest[strings.Index(rest, "\n"):]) != "two\nGo on?" {
		t.Errorf("the output goes on with:\n%s", rest)
	}
	if got := p.says(2, "shell", `{"job":"build","wait":"none"}`); got != "[job 2, ended, exit code 3]\nbuilt\n" {
		t.Errorf("the output of the job that has ended meanwhile: %q", got)
	}

	p.dies()
	p = startMember(t, name, root)
	got = p.says(1, "shell", `{"job":1,"input":"yes","wait":"exit"}`)
	head, rest, _ = strings.Cut(got, "\n\n")
	contains(t, head, "[job 1, name dev, running, waiting for input: Go on?, pid ")
	lacks(t, head, "job 2")
	if rest != "[job 1, ended, exit code 0]\nyes\n" {
		t.Errorf("the rest of the output: %q", rest)
	}
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, p.stderr.String())
	}
}

// attach returns another client of a session; it ends with the test.
func attach(t *testing.T, name string, params schema.InitializeParams) *client.Client {
	t.Helper()
	c, err := client.Start(context.Background(), client.Options{Args: []string{"connect", "-session", name}, Initialize: params})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// awaitEnd waits until the command of a job of a session has ended.
func awaitEnd(t *testing.T, name string, handle int64) {
	t.Helper()
	p := schema.JobWaitParams{Handle: handleID(handle), Until: []schema.Condition{}, TimeoutMs: schema.NullOf[int64]()}
	if err := attach(t, name, schema.InitializeParams{}).Call(context.Background(), "job/wait", p, nil); err != nil {
		t.Fatal(err)
	}
}

// memberOf returns a front end in a session. It starts commands where the session does, unless it is the first.
func memberOf(t *testing.T, name, root string, flags ...string) *front {
	t.Helper()
	f, err := tryMember(t, name, root, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func tryMember(t *testing.T, name, root string, flags ...string) (*front, error) {
	t.Helper()
	cfg, err := parseFlags(slices.Concat([]string{"-session", name, "-root", root}, flags), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return newFront(cfg, slog.New(slog.DiscardHandler))
}
