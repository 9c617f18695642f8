package rpc_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"shelld.dev/shelld/schema"
)

// These tests compare how a job ends with the kernel's status of such an end, in both modes, one table for each kind of
// end.

var modes = []schema.Mode{schema.ModePipe, schema.ModePty}

// inModes runs a test in each mode, with a server of its own.
func inModes(t *testing.T, test func(*testing.T, *session, schema.Mode)) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			test(t, start(t, "options", obj{"events": []string{}, "persist": obj{"mode": "memory"}}), mode)
		})
	}
}

// runAll runs commands of sh, some at a time, and passes the result of each to got.
func (s *session) runAll(mode schema.Mode, commands []string, got func(i int, r schema.JobRunResult)) {
	s.t.Helper()
	for first := 0; first < len(commands); first += 16 {
		var calls []*call
		for _, c := range commands[first:min(first+16, len(commands))] {
			calls = append(calls, s.begin("job/run", obj{"command": c, "shell": "sh", "mode": mode}))
		}
		for i, c := range calls {
			got(first+i, result[schema.JobRunResult](c))
		}
	}
}

// TestEveryCode: the exit code is reported unchanged, without a signal.
func TestEveryCode(t *testing.T) {
	inModes(t, func(t *testing.T, s *session, mode schema.Mode) {
		var commands []string
		for code := range 256 {
			commands = append(commands, "exit "+strconv.Itoa(code))
		}
		s.runAll(mode, commands, func(code int, r schema.JobRunResult) {
			if want := fmt.Sprintf("exited %d", code); exitText(r.Exit) != want || r.Exit.Signal != nil || r.Exit.CoreDumped || r.TimedOut {
				t.Errorf("%s: %+v, timed out %v", want, r.Exit, r.TimedOut)
			}
		})
	})
}

// deadly are the signals that end a process by default, by number.
var deadly = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
	syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", syscall.SIGSTKFLT: "SIGSTKFLT",
	syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGVTALRM: "SIGVTALRM", syscall.SIGPROF: "SIGPROF",
	syscall.SIGIO: "SIGIO", syscall.SIGPWR: "SIGPWR", syscall.SIGSYS: "SIGSYS", 34: "SIG34", 64: "SIG64",
}

// TestEverySignal: a signal is reported by its name, without a code, whether the command sends it to itself or a client
// sends it with job/signal.
func TestEverySignal(t *testing.T) {
	inModes(t, func(t *testing.T, s *session, mode schema.Mode) {
		var numbers []syscall.Signal
		var commands []string
		for n := range deadly {
			numbers = append(numbers, n)
			commands = append(commands, "ulimit -c 0; kill -"+strconv.Itoa(int(n))+" $$; exit 99")
		}
		s.runAll(mode, commands, func(i int, r schema.JobRunResult) {
			if want := "signaled " + deadly[numbers[i]]; exitText(r.Exit) != want || r.Exit.Code != nil || r.Exit.CoreDumped {
				t.Errorf("%s: %+v", want, r.Exit)
			}
		})
		for n, name := range deadly {
			if n >= 34 {
				continue // It has no name for job/signal.
			}
			p := obj{"argv": []string{"sleep", "60"}, "mode": mode}
			h := do[schema.JobStartResult](s, "job/start", p).Job.Handle
			do[none](s, "job/signal", obj{"handle": h, "signal": name, "target": "leader"})
			if o := s.await(h, obj{"exit": true}); exitText(o.Job.Exit) != "signaled "+name {
				t.Errorf("%s by job/signal: %+v", name, o.Job.Exit)
			}
		}
	})
}

// TestCoreDump: coreDumped is the kernel's value.
func TestCoreDump(t *testing.T) {
	const abort = "ulimit -c unlimited || exit 98; kill -ABRT $$"
	bare := exec.Command("sh", "-c", abort)
	bare.Dir = t.TempDir()
	var exit *exec.ExitError
	if err := bare.Run(); !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).CoreDump() {
		t.Skipf("no core is dumped on this system: %v", err)
	}
	inModes(t, func(t *testing.T, s *session, mode schema.Mode) {
		for command, want := range map[string]bool{abort: true, "ulimit -c 0; kill -ABRT $$": false} {
			r := s.run(command, "mode", mode, "cwd", t.TempDir())
			if exitText(r.Exit) != "signaled SIGABRT" || r.Exit.CoreDumped != want {
				t.Errorf("%s: %+v, want a core: %v", command, r.Exit, want)
			}
		}
	})
}

// TestEndsOfOurs: a job that the server ends is reported as such, with its actual code or signal.
func TestEndsOfOurs(t *testing.T) {
	t.Parallel()
	const deaf, polite = `trap "" TERM HUP; echo up; while :; do sleep 0.05; done`, `trap "exit 7" TERM HUP; echo up; while :; do sleep 0.05; done`
	const plain = "echo up; exec sleep 60"
	inModes(t, func(t *testing.T, s *session, mode schema.Mode) {
		for _, c := range []struct {
			command string
			graceMs int
			want    string
		}{
			{plain, 0, "killed SIGKILL"}, {plain, 10_000, "killed SIGTERM"}, {polite, 10_000, "killed 7"}, {polite, 0, "killed SIGKILL"}, {deaf, 50, "killed SIGKILL"},
		} {
			h := do[schema.JobStartResult](s, "job/start", obj{"command": c.command, "shell": "sh", "mode": mode, "wait": obj{"until": until(obj{"pattern": "up"})}}).Job.Handle
			r := do[schema.JobKillResult](s, "job/kill", obj{"handle": h, "graceMs": c.graceMs})
			equal(t, fmt.Sprintf("%s after %d ms", c.command, c.graceMs), exitText(r.Job.Exit), c.want)
		}
		for command, want := range map[string]string{plain: "timeout SIGTERM", polite: "timeout 7"} {
			r := s.run(command, "mode", mode, "timeoutMs", 300)
			equal(t, command+", timed out", exitText(r.Exit), want)
			equal(t, "timedOut", r.TimedOut, true)
		}
	})
}

// TestEndInTheSameInstant: a job that is killed while it ends by itself is reported as one or the other, never as a
// mixture: its code is its own, and the signal is ours.
func TestEndInTheSameInstant(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	inModes(t, func(t *testing.T, s *session, mode schema.Mode) {
		seen := map[string]int{}
		for i := range rounds {
			for _, graceMs := range []int{0, 10_000} {
				// The requests in between shift the kill along the command's short life.
				h := s.begin("job/start", obj{"argv": []string{"sh", "-c", "exit 3"}, "mode": mode, "name": fmt.Sprintf("j%d-%d", i, graceMs)})
				for range i % 4 {
					do[schema.JobListResult](s, "job/list", nil)
				}
				k := s.begin("job/kill", obj{"handle": fmt.Sprintf("j%d-%d", i, graceMs), "graceMs": graceMs})
				result[schema.JobStartResult](h)
				exit := exitText(result[schema.JobKillResult](k).Job.Exit)
				seen[exit]++
				signal := map[int]string{0: "SIGKILL", 10_000: "SIGTERM"}[graceMs]
				if exit != "exited 3" && exit != "killed "+signal {
					t.Errorf("a command that exits with 3 and is killed within %d ms: %s", graceMs, exit)
				}
			}
		}
		t.Log(seen)
	})
}

// A badStart is a start that fails before the command runs.
type badStart struct {
	argv []string
	cwd  string
	kind schema.Kind
	path string // in the data; "" = none
	says string // in the message
}

// badStarts creates the files that they need in a directory.
func badStarts(t *testing.T, dir string) map[string]badStart {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(at(name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", "echo no\n", 0o644)
	write("garbage", "\x00\x01 is no program", 0o755)
	write("script", "#!/no/such/interpreter\n", 0o755)
	write("env", "#!/usr/bin/env no-such-program\n", 0o755)
	link("nowhere", "dangling")
	link("loop", "loop")
	exe, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	write("foreign", strings.Replace(string(exe), "/lib64/ld-linux", "/lib64/no-linux", 1), 0o755)
	return map[string]badStart{
		"chdir: missing":              {[]string{"true"}, at("missing"), schema.KindBadWorkingDirectory, at("missing"), "no such file"},
		"chdir: a file":               {[]string{"true"}, at("plain"), schema.KindBadWorkingDirectory, at("plain"), "not a directory"},
		"chdir: through a file":       {[]string{"true"}, at("plain/x"), schema.KindBadWorkingDirectory, at("plain/x"), "not a directory"},
		"chdir: a loop":               {[]string{"true"}, at("loop"), schema.KindBadWorkingDirectory, at("loop"), "too many"},
		"exec: not on PATH":           {[]string{"no-such-command"}, dir, schema.KindCommandNotFound, "", "no-such-command"},
		"exec: no such file":          {[]string{"./missing"}, dir, schema.KindCommandNotFound, "", "./missing"},
		"exec: a dangling link":       {[]string{"./dangling"}, dir, schema.KindCommandNotFound, "", "./dangling"},
		"exec: a loop":                {[]string{"./loop"}, dir, schema.KindPermissionDenied, at("loop"), "too many"},
		"exec: a path through a file": {[]string{"./plain/x"}, dir, schema.KindPermissionDenied, at("plain/x"), "not a directory"},
		"exec: a directory":           {[]string{dir}, dir, schema.KindPermissionDenied, dir, "is a directory"},
		"exec: not executable":        {[]string{"./plain"}, dir, schema.KindPermissionDenied, at("plain"), "permission denied"},
		"exec: no format":             {[]string{"./garbage"}, dir, schema.KindPermissionDenied, at("garbage"), "exec format error"},
		"exec: no interpreter":        {[]string{"./script"}, dir, schema.KindCommandNotFound, "", "/no/such/interpreter"},
		"exec: no loader":             {[]string{"./foreign"}, dir, schema.KindCommandNotFound, "", "no-linux"},
	}
}

// TestFailedStarts: for each stage at which a start can fail, the error has the stage, the file, and the system's text.
// No trace of the job remains.
func TestFailedStarts(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cases := badStarts(t, dir)
	inModes(t, func(t *testing.T, s *session, mode schema.Mode) {
		for name, c := range cases {
			if name == "exec: no loader" && !strings.Contains(readText(t, filepath.Join(dir, "foreign")), "no-linux") {
				continue // The programs here have another loader.
			}
			for _, method := range []string{"job/start", "job/run"} {
				a := s.begin(method, obj{"argv": c.argv, "cwd": c.cwd, "mode": mode})
				data := refused[struct{ Path string }](a, c.kind)
				message := a.answer().Error.Message
				if data.Path != c.path || !strings.Contains(strings.ToLower(message), c.says) {
					t.Errorf("%s, %s: path %q, want %q; %s", name, method, data.Path, c.path, message)
				}
			}
		}
		// A script whose interpreter runs and finds nothing has started, and has ended.
		r := do[schema.JobRunResult](s, "job/run", obj{"argv": []string{"./env"}, "cwd": dir, "mode": mode})
		equal(t, "env of nothing", exitText(r.Exit), "exited 127")
		equal(t, "jobs", len(do[schema.JobListResult](s, "job/list", nil).Jobs), 1)
	})
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
