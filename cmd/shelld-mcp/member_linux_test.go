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
	"syscall"
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

// settles waits until the answers that were read are in the record: that comes after an answer, and before the next one.
func (p *process) settles() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"settled","method":"ping"}`)
	p.receive(`"id":"settled"`)
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
	p.settles()
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

	p.settles()
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

// TestUnreadAnswer kills the program while it writes an answer: its output counts as not sent.
func TestUnreadAnswer(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	p := startMember(t, name, root)
	contains(t, p.says(1, "shell", `{"command":"read x; seq 1 40000; exec cat","name":"seq"}`), "[job 1, running, waiting for input]")
	p.send(callLine(2, "shell", `{"job":"seq","input":"","pattern":"^40000$","wait":"none","max_bytes":1000000}`)) // More than a pipe holds.
	if _, err := p.out.ReadByte(); err != nil {
		t.Fatal(err)
	}
	p.dies()
	p = startMember(t, name, root)
	got := p.says(1, "shell", `{"job":"seq","wait":"none","max_bytes":1000000}`)
	contains(t, got, "\n1\n2\n3\n", "\n39999\n40000\n")
	contains(t, p.says(2, "shell", `{"job":"seq","input":"more","pattern":"more","wait":"none"}`), "\nmore\n")
	p.settles()
	p.dies()
	p = startMember(t, name, root)
	_, rest, _ := strings.Cut(p.says(1, "shell", `{"job":"seq","wait":"none"}`), "\n\n")
	contains(t, rest, "(no new output)")
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, p.stderr.String())
	}
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
	return newFront(t.Context(), cfg, slog.New(slog.DiscardHandler))
}

// TestTwoFronts has two front ends in one session: they do not replace each other, each gets all output, and each finds
// the jobs of the other by their names.
func TestTwoFronts(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	a, b := startMember(t, name, root), startMember(t, name, root)
	contains(t, a.says(1, "shell", `{"command":"echo hello; exec cat","name":"theirs"}`), "[job 1, running, waiting for input]\nhello")
	head, rest, _ := strings.Cut(b.says(1, "shell", `{"job":"theirs","wait":"none"}`), "\n\n")
	contains(t, head, "has these jobs from before", "[job 1, name theirs, running, waiting for input, pid ", "exec cat (started by shelld-mcp-1)")
	if rest != "[job 1, running, waiting for input]\nhello\n" {
		t.Errorf("the other's output: %q", rest)
	}
	if got := b.says(2, "shell", `{"job":1,"wait":"none"}`); got != "[job 1, running, waiting for input]\n(no new output)" {
		t.Errorf("again: %q", got)
	}
	contains(t, b.says(3, "shell", `{"command":"exec cat","name":"ours","wait":"input"}`), "[job 2, running, waiting for input]")
	contains(t, b.says(4, "shell", `{"job":"ours","input":"from b","pattern":"^from b$","wait":"none"}`), "[job 2, running, pattern]", "from b")
	contains(t, a.says(2, "shell", `{"job":"ours","wait":"input"}`), "[job 2, running, waiting for input]", "from b")
	contains(t, a.says(21, "shell", `{"job":"ours","input":"x"}`), "only shelld-mcp (shelld-mcp-2) may type into job 2")
	contains(t, a.says(3, "shell_jobs", `{}`), "[job 1, name theirs", "[job 2, name ours")

	// The one that is killed comes back as itself, beside the other.
	a.settles()
	a.dies()
	a = startMember(t, name, root)
	head, rest, _ = strings.Cut(a.says(1, "shell", `{"job":"theirs","wait":"none"}`), "\n\n")
	contains(t, head, "was started again", "[job 2, name ours, running, waiting for input, pid ", "exec cat (started by shelld-mcp-2)")
	if rest != "[job 1, running, waiting for input]\n(no new output)" {
		t.Errorf("after the restart: %q", rest)
	}
	contains(t, b.says(5, "shell_end", `{"job":"theirs"}`), "[job 1, ended]")
	for _, p := range []*process{a, b} {
		_ = p.in.Close()
		if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
			t.Errorf("it ends with %v: %s", err, p.stderr.String())
		}
	}
}

// TestSessionPolicy joins sessions that give more freedom than the flags promise.
func TestSessionPolicy(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	strict := []string{"-allow-command", "true,echo", "-deny-command", "false", "-allow-dir", root}
	t.Run("a session of other flags", func(t *testing.T) {
		name := newSession(t)
		leaves(t, memberOf(t, name, root))
		for _, test := range []struct {
			flags []string
			want  string
		}{
			{[]string{"-allow-command", "true"}, "it allows any command, and -allow-command does not"},
			{[]string{"-deny-command", "true"}, "it forbids no command, and -deny-command does"},
			{[]string{"-allow-dir", root}, "it allows any directory, and -allow-dir does not"},
			{[]string{"-confirm", "all"}, "it asks no person about the action start, and -confirm all with -tools compact does"},
			{[]string{"-tools", "seeds"}, "it asks no person about the action start, and -confirm auto with -tools seeds does"},
			{[]string{"-env", "none"}, "-env are the same cannot be seen"},
			{[]string{"-memory"}, "and -memory does not"},
			{[]string{"-state-dir", root}, "not in -state-dir " + root},
			{[]string{"-max-jobs", "3"}, "it allows 512 jobs, and -max-jobs is 3"},
			{[]string{"-root", t.TempDir()}, "its commands start in " + root},
		} {
			refused(t, name, root, test.want, test.flags...)
		}
	})
	t.Run("a session of the same flags", func(t *testing.T) {
		name := newSession(t)
		f := memberOf(t, name, root, strict...)
		leaves(t, memberOf(t, name, root, strict...)) // beside the first
		leaves(t, f)
		leaves(t, memberOf(t, name, root, strict...)) // after a restart
		leaves(t, memberOf(t, name, root))            // it is stricter than asked for
		refused(t, name, root, "cannot be seen", "-allow-command", "true,cat", "-deny-command", "false", "-allow-dir", root)
	})
	t.Run("a session of another client", func(t *testing.T) {
		name := newSession(t)
		attach(t, name, schema.InitializeParams{
			RootDirectory: &root, Options: &schema.Options{AllowCommands: []string{"true", "echo"}},
			Session: &schema.SessionParams{Share: new(schema.SessionShareViewer)},
		})
		refused(t, name, root, "cannot be seen", "-allow-command", "true,echo")
		refused(t, name, root, "its creator lets other clients only look")
	})
}

// refused fails unless a front end with these flags refuses to use the session.
func refused(t *testing.T, name, root, want string, flags ...string) {
	t.Helper()
	f, err := tryMember(t, name, root, flags...)
	if err == nil {
		leaves(t, f)
		t.Errorf("%v: it uses the session", flags)
		return
	}
	contains(t, err.Error(), want, "shelld sessions end "+name)
	if _, ok := err.(errFlags); !ok {
		t.Errorf("%T is not about flags", err)
	}
}

// leaves ends a front end.
func leaves(t *testing.T, f *front) {
	t.Helper()
	if err := f.close(); err != nil {
		t.Error(err)
	}
}

// TestKilledHost kills the host of the session: the call in flight has an error, and the next one starts the session anew
// and says that the jobs are gone. That also holds if the front end was killed with it.
func TestKilledHost(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	p := startMember(t, name, root)
	up := gate(t)
	contains(t, p.says(1, "shell", `{"command":"exec cat","name":"dev"}`), "[job 1, running, waiting for input]")
	p.send(callLine(2, "shell", `{"command":"echo >`+up+`; exec sleep 1000","wait":"exit","timeout_seconds":3600}`))
	passed(t, up, 1)
	pid := hostOf(t, name)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	contains(t, p.answer(2), "the connection to the session "+name+" was lost during this call", "The next call connects again")
	got := p.says(3, "shell", `{"command":"echo anew","wait":"exit"}`)
	contains(t, got, "The session "+name+" has ended, and all its jobs with it", "It was started anew.", "[job 1, ended, exit code 0]\nanew\n")
	contains(t, p.says(4, "shell", `{"job":"dev"}`), `there is no job "dev"`)
	if again := hostOf(t, name); again == pid {
		t.Errorf("the host is still %d", pid)
	}
	if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(state), "(shelld)") {
		t.Errorf("the host that was killed is left: %s", state)
	}

	contains(t, p.says(5, "shell", `{"command":"exec cat","name":"dev"}`), "[job 2, running, waiting for input]")
	p.settles()
	p.dies()
	if err := syscall.Kill(hostOf(t, name), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p = startMember(t, name, root)
	contains(t, p.says(1, "shell_jobs", `{}`), "The session "+name+" of before has ended, and all its jobs with it", noJobs)
	if got := p.says(2, "shell_jobs", `{}`); got != noJobs {
		t.Errorf("it is said again: %s", got)
	}
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, p.stderr.String())
	}
}

// TestEndedSession ends the session with shelld sessions end while a front end uses it.
func TestEndedSession(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	p := startMember(t, name, root)
	contains(t, p.says(1, "shell", `{"command":"exec cat","name":"dev"}`), "[job 1, running, waiting for input]")
	d, err := session.Open("")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.End(context.Background(), name); err != nil {
		t.Fatal(err)
	}
	says := p.says(2, "shell_jobs", `{}`)
	if strings.Contains(says, "was lost during this call") { // The front end had not seen the end of its connection yet.
		says = p.says(3, "shell_jobs", `{}`)
	}
	contains(t, says, "The session "+name+" has ended", noJobs)
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, p.stderr.String())
	}
}

// TestEndedMeanwhile ends the session while no front end uses it: the next start says once that its jobs are gone, unless
// the model has seen the ends of all.
func TestEndedMeanwhile(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	const gone = "of before has ended, and all its jobs with it"
	leave := func(p *process) {
		t.Helper()
		_ = p.in.Close()
		if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
			t.Errorf("it ends with %v: %s", err, p.stderr.String())
		}
		ends(t, name)
	}
	p := startMember(t, name, root)
	contains(t, p.says(1, "shell", `{"command":"exec cat","name":"dev"}`), "[job 1, running, waiting for input]")
	leave(p)
	p = startMember(t, name, root)
	contains(t, p.says(1, "shell_jobs", `{}`), "The session "+name+" "+gone, noJobs)
	if got := p.says(2, "shell_jobs", `{}`); got != noJobs {
		t.Errorf("it is said again: %s", got)
	}
	contains(t, p.says(3, "shell", `{"command":"true","wait":"exit"}`), "[job 1, ended, exit code 0]")
	p.settles()
	leave(p)
	d, err := session.Open("")
	if err != nil {
		t.Fatal(err)
	}
	if e, err := d.Show(name); session.NotFound != kindIn(err) {
		t.Errorf("the directory of the session is left: %+v, %v", e, err)
	}
	p = startMember(t, name, root)
	if got := p.says(1, "shell_jobs", `{}`); got != noJobs {
		t.Errorf("it has news of jobs whose ends were seen: %s", got)
	}
	leave(p)
}

// TestLeavingFront ends a front end in each way with a call in flight: the call is answered if possible, and the command
// goes on in the session.
func TestLeavingFront(t *testing.T) {
	for way, end := range map[string]func(*process) error{
		"stdin is closed": func(p *process) error { return p.in.Close() },
		"SIGTERM":         func(p *process) error { return p.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name, root := newSession(t), t.TempDir()
			p := startMember(t, name, root)
			up, on := gate(t), gate(t)
			p.send(callLine(1, "shell", `{"command":"echo >`+up+`; cat `+on+`; exit 7","wait":"exit","timeout_seconds":3600}`))
			passed(t, up, 1)
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			contains(t, p.answer(1), "shelld-mcp is ending; its jobs go on in the session "+name)
			if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
				t.Errorf("it ends with %v: %s", err, p.stderr.String())
			}
			opens(t, on, "later\n")
			awaitEnd(t, name, 1)
			p = startMember(t, name, root)
			contains(t, p.says(1, "shell", `{"job":1,"wait":"exit"}`), "[job 1, ended, exit code 7, pid ", "[job 1, ended, exit code 7]\nlater\n")
			_ = p.in.Close()
			if err := p.cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRestartOfSeeds starts the program again with the seeds' tools: a sessionId that is no valid name is still known, and
// commands without a terminal whose results were returned are no news.
func TestRestartOfSeeds(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	start := func() *process { return startProcess(t, "-session", name, "-root", root, "-structured=false") }
	p := start()
	contains(t, p.says(1, "CliSession", `{"command":"exec cat","sessionId":"my session!"}`), `"sessionId": "my session!"`)
	contains(t, p.says(2, "CliRun", `{"command":"echo once"}`), "once")
	contains(t, p.says(3, "run_shell_command", `{"command":"sleep 1000","is_background":true}`), "Handle: 3")
	contains(t, p.says(4, "kill", `{"handle":3}`), "terminated successfully")
	p.settles()
	p.dies()
	p = start()
	got := p.says(1, "CliWrite", `{"sessionId":"my session!","input":"hello{enter}"}`)
	contains(t, got, "was started again", "[job 1, name my session!, running, waiting for input", `"responseOutput": "hello`)
	lacks(t, got, "job 2", "job 3")
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, p.stderr.String())
	}
}

// TestNewsAfterQuestion makes a first call that a person must allow: the question has no news, and the answer has.
func TestNewsAfterQuestion(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			name, root := newSession(t), t.TempDir()
			p := startProcess(t, "-session", name, "-root", root)
			on := gate(t)
			p.says(1, "run_shell_command", `{"command":"exec cat","is_background":true}`)
			p.says(2, "run_shell_command", `{"command":"cat `+on+`; exit 3","is_background":true}`)
			p.settles()
			p.dies()
			opens(t, on, "")
			awaitEnd(t, name, 2)
			asked := &person{says: []string{"once"}}
			h := startBareHost(t, version, asked.options(), "-tools", "seeds", "-session", name, "-root", root)
			contains(t, h.call("execute_bash_command", args{"command": "echo allowed"}, nil), "was started again", "[job 1, running, ", "[job 2, ended, exit code 3", "Stdout: allowed")
			lacks(t, h.call("jobs", args{}, nil), "was started again")
		})
	}
}

// TestNoShelld looks for the program of the session's host in vain.
func TestNoShelld(t *testing.T) {
	t.Setenv("SHELLD", "")
	t.Setenv("PATH", t.TempDir())
	_, err := tryMember(t, "none", t.TempDir())
	if err == nil {
		t.Fatal("it has found one")
	}
	contains(t, err.Error(), "-session needs the program shelld", "go build ./cmd/shelld", "$SHELLD")
}

// TestUntoldAnswer has a tool tell the output of a job, and then panic or ask a person: the model has got neither the
// output nor the news, so the next answer has both.
func TestUntoldAnswer(t *testing.T) {
	for way, fails := range map[string]func(context.Context, *call) error{
		"panic": func(context.Context, *call) error { panic("a bug") },
		"question": func(ctx context.Context, c *call) error {
			return c.require(ctx, &question{action: actionVariable, verb: "Set", command: "X=1"}, "this")
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name, root := newSession(t), t.TempDir()
			p, on := startMember(t, name, root), gate(t)
			p.says(1, "shell", `{"command":"cat `+on+`; exit 3","wait":"none"}`)
			p.settles()
			p.dies()
			opens(t, on, "output\n")
			awaitEnd(t, name, 1)
			asked := &person{} // It closes the question.
			h := startBareHost(t, beforeCallingAgain, asked.options(), "-tools", "compact", "-session", name, "-root", root)
			h.front.log = slog.New(slog.DiscardHandler) // The host fails if an error is logged.
			add[struct{}, struct{}](h.front, tool[struct{}]{name: "fails", asks: true, run: func(ctx context.Context, c *call, _ struct{}) (reply, error) {
				contains(t, c.tellUntold(ctx, h.front.jobs.of(h.front.engine.link.Load(), 1), telling{maxBytes: 100}), "output")
				return reply{}, fails(ctx, c)
			}})
			failed := h.fail("fails", args{})
			got := h.call("shell", args{"job": 1, "wait": "none"}, nil)
			contains(t, got, "[job 1, ended, exit code 3]\noutput\n")
			if n := strings.Count(failed+got, "was started again"); n != 1 {
				t.Errorf("the news come %d times:\n%s\n%s", n, failed, got)
			}
		})
	}
}
