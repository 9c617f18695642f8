package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// withLogin returns a manager that asks bash, with this start-up file, for its environment.
func withLogin(t *testing.T, profile string, o Options) *Manager {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bash_profile"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("SHELL", bashPath(t))
	if o.Login == 0 {
		o.Login = time.Minute
	}
	return startReal(t, o)
}

func bashPath(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/bin/bash", "/usr/bin/bash"} {
		if checkRunnable(path) == nil {
			return path
		}
	}
	t.Skip("there is no bash")
	return ""
}

func loginOf(t *testing.T, m *Manager) (map[string]string, LoginReport) {
	t.Helper()
	vars, report, err := m.Environment().Variables(nil)
	if err != nil || report == nil {
		t.Fatal(report, err)
	}
	return sources(vars), *report
}

// The login shell's environment replaces the server's, as far as the policy allows. This works whatever the start-up
// files print, and whatever processes they leave running.
func TestLogin(t *testing.T) {
	for name, profile := range map[string]string{
		"quiet":             "",
		"prints":            "echo junk; printf 'PATH=/junk\\0'; trap 'echo more junk' EXIT\n",
		"traces":            "exec 2>&1; set -xv\n",
		"leaves a process":  "sleep 1000 &\n",
		"leaves a daemon":   "(setsid sleep 1000 >/dev/null 2>&1 &)\n",
		"writes meanwhile":  "(while :; do echo junk; sleep 0.001; done) 2>/dev/null &\n",
		"fails":             "false; no-such-command\n",
		"reads":             "read -r line; cat\n",
		"has odd variables": "export ODD=$'two\\nlines'\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KEPT", "k")
			m := withLogin(t, profile+"export FROM_LOGIN='from login' MY_TOKEN=hidden EDITOR=ed; unset REMOVED\n", Options{Env: EnvPolicy{Inherit: "all"}})
			vars, report := loginOf(t, m)
			if !report.Taken || report.Reason != "" || report.Shell != os.Getenv("SHELL") {
				t.Fatalf("%+v", report)
			}
			for name, want := range map[string]string{
				"FROM_LOGIN": "login:from login", "EDITOR": "login:ed", "KEPT": "server:k", "HOME": "server:" + os.Getenv("HOME"),
				"MY_TOKEN": "", resolving: "", "_": vars["_"],
			} {
				if vars[name] != want {
					t.Errorf("%s is %q, want %q", name, vars[name], want)
				}
			}
			if strings.HasPrefix(vars["SHLVL"], "login") {
				t.Errorf("SHLVL is the shell's: %q", vars["SHLVL"])
			}
			if out := printed(t, m, sh(`echo "$FROM_LOGIN"`)); out != "from login\n" {
				t.Errorf("a job prints %q", out)
			}
		})
	}
}

// If a start-up file fails, hangs or floods, the server's own environment stays in effect, and the failure is reported.
func TestLoginThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		profile, reason string
		limit           time.Duration
	}{
		"exit":  {"exit 3\n", "ended without printing", 0},
		"exec":  {"exec true\n", "ended without printing", 0},
		"hang":  {"sleep 1000\n", "did not end within 300 ms", 300 * time.Millisecond},
		"stop":  {"kill -STOP $$\n", "did not end within 300 ms", 300 * time.Millisecond},
		"flood": {"yes\n", "printed more than", 0},
		"kill":  {"kill -KILL $$\n", "ended without printing", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("EDITOR", "server's")
			m := withLogin(t, "export EDITOR=ed\n"+test.profile, Options{Login: test.limit})
			vars, report := loginOf(t, m)
			if report.Taken || !strings.Contains(report.Reason, test.reason) {
				t.Errorf("%+v", report)
			}
			if vars["EDITOR"] != "server:server's" {
				t.Errorf("EDITOR is %q", vars["EDITOR"])
			}
			if out := printed(t, m, sh(`echo "$EDITOR"`)); out != "server's\n" {
				t.Errorf("a job prints %q", out)
			}
		})
	}
}

// If the login shell cannot be asked, that is reported at once.
func TestLoginShellsThatCannotBeAsked(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "bash")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for shell, want := range map[string]string{
		filepath.Join(dir, "zsh"): "no such file", plain: "permission denied", program(t, dir, "tcsh"): "not a supported login shell",
	} {
		t.Setenv("SHELL", shell)
		m := startReal(t, Options{Login: time.Minute})
		if _, report := loginOf(t, m); report.Taken || !strings.Contains(report.Reason, want) || report.Shell != shell {
			t.Errorf("%s: %+v", shell, report)
		}
	}
}

// Starts wait for the login shell, and get its environment. A request that waits for it can be cancelled.
func TestStartsWaitForTheLogin(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	m := withLogin(t, "read -r line <"+gate+"; export FROM_LOGIN=$line\n", Options{Env: EnvPolicy{Inherit: "all"}})
	s := sh(`echo "$FROM_LOGIN"`)
	s.Mode = ModePipe
	var waiting []Pending[StartResult]
	var all []*Job
	for range 3 {
		j, p, err := m.Start(s)
		if err != nil {
			t.Fatal(err)
		}
		all, waiting = append(all, j), append(waiting, p)
	}
	canceled := make(chan struct{})
	close(canceled)
	if _, _, err := m.Environment().Variables(canceled); err == nil || err.Code != CodeCanceled {
		t.Errorf("%v", err)
	}
	if shell := m.DefaultShell(); shell != os.Getenv("SHELL") {
		t.Errorf("meanwhile the shell is %q", shell)
	}
	if err := os.WriteFile(gate, []byte("told\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, j := range all {
		must(t, waiting[i])
		o := awaitClosed(t, j)
		if text, _ := j.Range(Stdout, o.Output[Stdout]); string(text) != "told\n" {
			t.Errorf("job %d printed %q", i, text)
		}
	}
}

// The start of a job that waits for the login shell can be cancelled by a cancel or a kill, and so can other requests
// to that job. Nothing of the job is left, and other starts continue to wait.
func TestStartsThatWaitForTheLoginAreBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, job := startAsked(t, ConfirmPolicy{})
		m.settings.root = "/"
		l := &login{done: make(chan struct{})}
		m.env = &environment{inheritance: &inheritance{login: l}}
		_, canceled := begin(t, m, command("a"))
		killed, start := begin(t, m, command("b"))
		_, on := begin(t, m, Spec{Name: "c", Sink: &recorder{}})
		time.Sleep(48 * time.Hour)
		waits(t, canceled)
		canceled.Cancel()
		if e := refused(t, canceled, CodeCanceled); !strings.Contains(e.Message, "the login shell") {
			t.Error(e)
		}
		kill := killed.Kill(KillOptions{})
		refused(t, start, CodeCanceled)
		refused(t, kill, CodeJobNotFound)
		waits(t, on)
		j, _ := m.Lookup(Ref{Name: "c"})
		info := j.Info()
		write, _ := j.Write(Input{Text: "x", Wait: &WaitSpec{Until: []Condition{{Quiet: time.Minute}}, Timeout: time.Second}})
		info.Cancel()
		if e := refused(t, info, CodeCanceled); e.Handle != j.id || !strings.Contains(e.Message, "the login shell") {
			t.Error(e)
		}
		waits(t, write)
		if job() != nil {
			t.Fatal("it runs")
		}
		time.Sleep(time.Hour)
		waits(t, write)
		close(l.done)
		must(t, on)
		waits(t, write) // Its timeout counts from the start of the job.
		job().in.room <- 1
		if r := must(t, write); r.BytesWritten != 1 || r.Outcome == nil || r.Outcome.Reason != "timeout" {
			t.Errorf("the write: %+v", r)
		}
		if n := len(m.All()); n != 1 {
			t.Errorf("%d jobs are known", n)
		}
	})
}

// An error of a start that does not depend on the login shell is returned at once.
func TestWrongDirectoryWhileTheLoginShellIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, _ := startAsked(t, ConfirmPolicy{})
		m.settings.root = "/"
		m.env = &environment{inheritance: &inheritance{login: &login{done: make(chan struct{})}}}
		s := command("a")
		s.Cwd = "/no/such/directory"
		_, p := begin(t, m, s)
		refused(t, p, CodeBadWorkingDirectory)
		_, last := begin(t, m, command("a"))
		go m.Shutdown()
		refused(t, last, CodeShuttingDown)
	})
}

// Shutdown does not wait for start-up files.
func TestShutdownWhileTheLoginShellIsAsked(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	m := withLogin(t, "echo >"+gate+"; sleep 1000\n", Options{})
	f, err := os.Open(gate) // returns when the start-up file runs
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	_, p, refused := m.Start(sh("true"))
	if refused != nil {
		t.Fatal(refused)
	}
	m.Shutdown()
	if r := <-p.C; r.Err == nil || r.Err.(*Error).Code != CodeShuttingDown {
		t.Errorf("the start: %+v", r)
	}
	if _, report := loginOf(t, m); report.Taken || !strings.Contains(report.Reason, "the server is ending") {
		t.Errorf("%+v", report)
	}
}

// The text between the marks is found, whatever is around it and in it.
func TestMarked(t *testing.T) {
	for _, test := range []struct {
		output string
		want   string
		ok     bool
	}{
		{"MA=1\x00B=two\nlines\x00M", "A=1|B=two\nlines", true},
		{"junk MjunkM no MA=1\x00M junk", "A=1", true},
		{"MA=1\x00no equals\x00=x\x00two\nlines=x\x00C=\x00M", "A=1|C=", true},
		{"MA=1\x00", "", false}, {"", "", false}, {"MM", "", false}, {"no mark", "", false},
	} {
		got, ok := marked([]byte(test.output), "M")
		if strings.Join(got, "|") != test.want || ok != test.ok {
			t.Errorf("%q: %q, %v", test.output, got, ok)
		}
	}
}
