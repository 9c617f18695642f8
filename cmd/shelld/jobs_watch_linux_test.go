package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"shelld.dev/shelld/schema"
)

// jobsUntil runs "shelld jobs" until its output matches: a server writes info.json with a delay.
func jobsUntil(t *testing.T, pattern string, args ...string) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // There is no event for it.
	defer tick.Stop()
	for begun := time.Now(); ; <-tick.C {
		out, _ := shelldJobs(t, 0, args...)
		if regexp.MustCompile("(?m)" + pattern).MatchString(out) {
			return out
		}
		if time.Since(begun) > watchdog {
			t.Fatalf("there is no %s in\n%s", pattern, out)
		}
	}
}

// TestJobsListWaiting checks that the list shows which jobs wait for a person, and their prompts, even if the client has
// not asked for these events.
func TestJobsListWaiting(t *testing.T) {
	t.Parallel()
	needJobs(t)
	state := t.TempDir()
	s := startServed(t)
	s.keepIn(t, state, 128<<10, []string{})
	s.call(t, "job/start", object{"command": `printf '\033]0;evil\007Deploy to \033[31mprod\033[m? [y/N] '; read x; echo "got $x"; exec sleep 1000`, "name": "deploy"}, nil)
	s.call(t, "job/start", object{"command": `stty -echo; printf 'Password: '; read x`, "name": "login"}, nil)
	s.call(t, "job/start", object{"argv": []string{"sleep", "1000"}, "name": "sleeper"}, nil)
	s.call(t, "job/start", object{"command": `stty raw -echo; printf '\033[?1049hroot:x:0:0:root\033[H'; exec dd bs=1 count=1`, "name": "editor"}, nil)
	out := jobsUntil(t, `(?s) deploy .* waits for input .*\n    asks: .* login .* waits for input .*\n    asks for a password: .* editor .* waits for input `, "-dir", state)
	if strings.Contains(out, "root:x:0:0:root\n") {
		t.Errorf("what a program shows on the whole screen is no question:\n%s", out)
	}
	for _, want := range []string{
		`^JOB +NAME +STARTED +TIME +SIZE +STATE +COMMAND$`, `^[0-9a-f]+/1 +deploy .* waits for input +printf`,
		`^    asks: Deploy to prod\? \[y/N\]$`, `^    asks for a password: Password:$`, `^[0-9a-f]+/3 +sleeper .* 0B  running +sleep 1000$`,
	} {
		if !regexp.MustCompile("(?m)" + want).MatchString(out) {
			t.Errorf("there is no %s in\n%s", want, out)
		}
	}
	if text, _ := shelldJobs(t, 0, "show", "deploy", "-dir", state); !strings.Contains(text, "asks: Deploy to prod? [y/N]\n") {
		t.Errorf("it is shown as %s", text)
	}
	s.call(t, "job/write", object{"handle": 1, "input": "y\n"}, nil)
	out = jobsUntil(t, ` deploy .* running `, "-dir", state)
	if strings.Contains(out, "asks: Deploy") {
		t.Errorf("it still asks:\n%s", out)
	}
	s.shutDown(t)
	if out, _ := shelldJobs(t, 0, "-dir", state); strings.Contains(out, "asks") || strings.Contains(out, "waits") {
		t.Errorf("nothing waits any more, and there is\n%s", out)
	}
}

// TestJobsByName finds a job by the name given at its start: the running one or, if all have ended, the newest.
func TestJobsByName(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	leave(t, state, object{"command": "echo first", "name": "build"}, object{"command": "echo other", "name": "test"})
	leave(t, state, object{"command": "echo second", "name": "build"})
	if out, _ := shelldJobs(t, 0, "tail", "build", "-dir", state); out != "second\n" {
		t.Errorf("the newest one has %q", out)
	}
	if out, _ := shelldJobs(t, 0, "search", "-F", "other", "test", "-dir", state); !strings.HasSuffix(out, "/2 stdout:1: other\n") {
		t.Errorf("found is %q", out)
	}
	if out, log := shelldJobs(t, 1, "tail", "biuld", "-dir", state); out != "" || !strings.Contains(log, `there is no stored job "biuld" in `+state) || !strings.HasSuffix(log, "; did you mean build?\n") {
		t.Errorf("%q %q", out, log)
	}
	started := func(n int) string { return time.Unix(int64(n), 0).UTC().Format(time.RFC3339Nano) }
	named := func(live bool, n int) storedJob {
		return storedJob{Live: live, known: schema.JobInfo{Name: ptr("a"), StartedAt: started(n)}}
	}
	if got := choose([]storedJob{named(false, 1), named(true, 2), named(false, 3)}, "a"); len(got) != 1 || got[0].known.StartedAt != started(2) {
		t.Errorf("of a name the one that runs is %+v", got)
	}
	if got := choose([]storedJob{named(false, 1), named(true, 2), named(false, 3)}, "last"); len(got) != 1 || got[0].known.StartedAt != started(3) {
		t.Errorf("the last one is %+v", got)
	}
}

// A following is a running "shelld jobs tail -f".
type following struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Reader
	log   bytes.Buffer
}

func follow(t *testing.T, args ...string) *following {
	t.Helper()
	f := &following{t: t, cmd: exec.CommandContext(t.Context(), "shelld", append([]string{"jobs", "tail", "-f"}, args...)...)}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.cmd.Stderr = &f.log
	f.lines = bufio.NewReader(out)
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.cmd.Process.Kill() }) // Most have ended.
	return f
}

func (f *following) line(want string) {
	f.t.Helper()
	if got, err := f.lines.ReadString('\n'); got != want+"\n" {
		f.t.Fatalf("the next line is %q, %v, not %q; %s", got, err, want, &f.log)
	}
}

// ends waits for the end, before which only rest may be printed.
func (f *following) ends(rest string) {
	f.t.Helper()
	got, err := io.ReadAll(f.lines)
	if waitErr := f.cmd.Wait(); string(got) != rest || err != nil || waitErr != nil || f.log.Len() > 0 {
		f.t.Errorf("it ends with %q, %v, %v, %s; want %q", got, err, waitErr, &f.log, rest)
	}
}

// TestTailFollows checks that output is printed as it arrives, and that the command ends with the job.
func TestTailFollows(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	s := startServed(t)
	s.keepIn(t, state, 128<<10, []string{})
	var started schema.JobStartResult
	s.call(t, "job/start", object{"command": `echo one; while read x; do case $x in e) echo oops >&2;; seq) seq 30000;; *) echo "$x";; esac; done; printf end`, "mode": "pipe", "stdin": "open", "name": "it"}, &started)
	awaitFile(t, filepath.Join(*started.Job.OutputDirectory, "info.json"))
	f := follow(t, "it", "-dir", state)
	f.line("one")
	write := func(text string) { s.call(t, "job/write", object{"handle": 1, "input": text}, nil) }
	write("two\n")
	f.line("two")
	write("three\n")
	f.line("three")
	// Output beyond the size of the file is not invented.
	write("seq\n")
	for text := ""; text != "30000\n"; {
		var err error
		if text, err = f.lines.ReadString('\n'); err != nil {
			t.Fatal(err, f.log.String())
		}
	}
	write("e\n")
	f.line("")
	f.line("==> stderr <==")
	f.line("oops")
	s.call(t, "job/write", object{"handle": 1, "input": "", "eof": true}, nil)
	f.ends("\n==> stdout <==\nend")
	follow(t, "-n", "1", "-stream", "stdout", "it", "-dir", state).ends("end")
	s.shutDown(t)
	follow(t, "-n", "1", "-stream", "stderr", "last", "-dir", state).ends("oops\n")
}

// TestTailFollowsEndedJob checks that for an ended job tail prints the same with and without -f.
func TestTailFollowsEndedJob(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	leave(t, state, object{"command": "printf abc; printf xyz >&2", "mode": "pipe"}, object{"command": "seq 20; printf xyz >&2; echo 1 >&2", "mode": "pipe"})
	for job, want := range map[string]string{"1": "==> stdout <==\nabc\n==> stderr <==\nxyz", "2": "==> stdout <==\n19\n20\n\n==> stderr <==\nxyz1\n"} {
		names, err := filepath.Glob(filepath.Join(state, "*", job))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		name := filepath.Base(filepath.Dir(names[0])) + "/" + job
		if out, _ := shelldJobs(t, 0, "tail", "-n", "2", name, "-dir", state); out != want {
			t.Errorf("tail prints %q, want %q", out, want)
		}
		follow(t, "-n", "2", name, "-dir", state).ends(want)
	}
}

// TestTailFollowsOnATerminal checks that a redrawn line fits on one row of the terminal's present size.
func TestTailFollowsOnATerminal(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	server := startServed(t)
	server.keepIn(t, state, 128<<10, []string{})
	var started schema.JobStartResult
	server.call(t, "job/start", object{"command": `printf ready; while read x; do printf '\r\033[K%s' "$x"; done`, "mode": "pipe", "stdin": "open"}, &started)
	awaitFile(t, filepath.Join(*started.Job.OutputDirectory, "info.json"))
	s := sit(t, "jobs", "tail", "-f", "last", "-dir", state) // 101 columns
	want := "ready"
	s.await(want)
	write := func(text, before string) {
		t.Helper()
		server.call(t, "job/write", object{"handle": 1, "input": text + "\n"}, nil)
		want += before + text
		s.await(want)
	}
	write(strings.Repeat("x", 100), "\r\x1b[K")
	write(strings.Repeat("y", 50), "\r\x1b[K")
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: 40, Rows: 33}); err != nil {
		t.Fatal(err)
	}
	write("z", "\r\n")
	server.call(t, "job/write", object{"handle": 1, "input": "", "eof": true}, nil)
	s.left(0)
	if seen := s.text(); seen != want {
		t.Errorf("seen is %q, want %q", seen, want)
	}
}

// TestTailFollowEndsWithTheServer kills the server: it closes no job, but following still ends.
func TestTailFollowEndsWithTheServer(t *testing.T) {
	t.Parallel()
	needJobs(t)
	state := t.TempDir()
	s := startServed(t)
	s.keepIn(t, state, 128<<10, []string{})
	var started schema.JobStartResult
	s.call(t, "job/start", object{"command": "echo one; exec sleep 1000"}, &started)
	awaitFile(t, filepath.Join(*started.Job.OutputDirectory, "info.json"))
	f := follow(t, "last", "-dir", state)
	f.line("one")
	s.kill(t)
	_ = s.cmd.Wait() // It was killed.
	f.ends("")
}

const evilOutput = `printf '\033]0;evil\007\033]52;c;ZXZpbA==\007\033[6n\033P$qm\033\\\033[?1003h\033[1;31mred\033[m \033]8;;http://evil\007link\033]8;;\007 \302\233x\n'`

// TestJobsScreen checks that the screen of a terminal is drawn from its output, in its size.
func TestJobsScreen(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	leave(t, state,
		object{"command": "stty -echo; " + evilOutput + `; printf 'a\rb\033[2;5Hthere\n\033[3;18Hcut'`, "cols": 20, "rows": 5, "name": "drawn"},
		object{"command": "echo text", "mode": "pipe", "name": "piped"}, object{"command": "true", "name": "silent"},
		object{"command": "seq 100000", "name": "long"})
	out, log := shelldJobs(t, 0, "screen", "drawn", "-dir", state)
	if lines := strings.Split(out, "\n"); len(lines) != 4 || lines[0] != "red link" || lines[1] != "b   there" || lines[2] != strings.Repeat(" ", 17)+"cut" || lines[3] != "" || log != "" {
		t.Errorf("drawn is %q, %q", out, log)
	}
	file := filepath.Join(t.TempDir(), "screen.png")
	if out, log := shelldJobs(t, 0, "screen", "drawn", "-png", file, "-dir", state); out != "" || log != "" {
		t.Errorf("%q %q", out, log)
	}
	picture, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	if c, err := png.DecodeConfig(picture); err != nil || c.Width != 20*8 || c.Height != 5*16 {
		t.Errorf("the picture is %+v, %v", c, err)
	}
	// Missing output is reported.
	if out, log := shelldJobs(t, 0, "screen", "long", "-dir", state); !strings.HasSuffix(out, "\n99999\n100000\n") || strings.Count(out, "\n") != 23 || !strings.HasPrefix(log, "some output is missing") {
		t.Errorf("of long output is drawn %q, %q", out, log)
	}
	for args, want := range map[string]string{
		"screen piped":                    `has no terminal; "shelld jobs tail `,
		"screen silent":                   "has printed nothing",
		"screen drawn -png /nowhere/file": "the picture cannot be written to /nowhere/file: no such file or directory\n",
		"play piped":                      "was not recorded",
	} {
		if out, log := shelldJobs(t, 1, append(strings.Fields(args), "-dir", state)...); out != "" || !strings.Contains(log, want) {
			t.Errorf("%s: %q, %q", args, out, log)
		}
	}
}

// TestJobsPlay plays a recording on a terminal, which must get no byte of the job's output directly.
func TestJobsPlay(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	leave(t, state, object{"command": "sleep 0.1; " + evilOutput + "; sleep 0.1; printf 'last words'", "record": true, "name": "recorded"},
		object{"command": "echo one; sleep 0.2; echo two", "record": true, "mode": "pipe", "name": "piped"})
	s := sit(t, "jobs", "play", "recorded", "-dir", state)
	s.left(0)
	s.await("\x1b[?1049l")
	seen := s.text()
	for _, want := range []string{"\x1b[?1049h", "\x1b[0;1;31mred\x1b[0m link", "last words", "\x1b[?25h\x1b[?1049l"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not in %q", want, seen)
		}
	}
	for _, evil := range []string{"evil", "\x1b]", "\x1bP", "\x1b[6n", "1003", "\u009b"} {
		if strings.Contains(seen, evil) {
			t.Errorf("%q gets through: %q", evil, seen)
		}
	}
	s = sit(t, "jobs", "play", "piped", "-speed", "100", "-dir", state)
	s.left(0)
	s.await("\x1b[?1049lone\r\ntwo\r\n")
	for args, want := range map[string]string{"play -speed 0 recorded": "-speed must be greater than 0", "play -idle -2s recorded": "0 or more"} {
		if _, log := shelldJobs(t, 2, append(strings.Fields(args), "-dir", state)...); !strings.Contains(log, want) {
			t.Errorf("%s: %q", args, log)
		}
	}
	if _, log := shelldJobs(t, 1, "play", "recorded", "-dir", state); !strings.Contains(log, "and stdout is not one") {
		t.Errorf("without a terminal: %q", log)
	}
}

// TestJobsPlayIsInterrupted checks that an interrupt ends the playback and restores the terminal.
func TestJobsPlayIsInterrupted(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	session := leave(t, state, object{"command": "echo one", "record": true})
	// The recording appears to have taken a day.
	cast := filepath.Join(state, session, "1", "session.cast")
	b, err := os.ReadFile(cast)
	if err != nil {
		t.Fatal(err)
	}
	event, err := json.Marshal([]any{86400.0, "o", "too late"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cast, append(append(b, event...), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		s := sit(t, "jobs", "play", "last", "-dir", state)
		s.await("one")
		s.signal(sig)
		s.left(128 + int(sig))
		s.await("\x1b[?25h\x1b[?1049l")
		if seen := s.text(); strings.Contains(seen, "too late") {
			t.Errorf("seen is %q", seen)
		}
	}
	// With short pauses it reaches its end.
	s := sit(t, "jobs", "play", "last", "-idle", "0.01", "-dir", state)
	s.left(0)
	s.await("too late")
}
