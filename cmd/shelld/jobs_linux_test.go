package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/stored"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// leave has a server run commands to their ends, and shuts it down. It returns the session's name.
func leave(t *testing.T, state string, commands ...map[string]any) string {
	t.Helper()
	s := startServed(t)
	r := s.keepIn(t, state, 128<<10, nil)
	for _, j := range commands {
		j["wait"] = map[string]any{"until": []map[string]any{{"closed": true}}, "timeoutMs": watchdog.Milliseconds()}
		s.call(t, "job/start", j, nil)
	}
	s.shutDown(t)
	return r.SessionID
}

// TestStoredJobs checks that stored jobs are listed, shown and found, and that no output of a job reaches a terminal as
// a control sequence.
func TestStoredJobs(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	const evil = "\x1b]0;evil\a\x1b[31mred\u009b31m\u202e"
	first := leave(t, state,
		map[string]any{"command": "printf '\\033[31mred\\033[0m\\302\\233x\\n'; exit 3 # " + evil, "description": evil},
		map[string]any{"argv": []string{"sh", "-c", "seq 1 30; echo oops >&2; printf end"}, "mode": "pipe"},
		map[string]any{"command": "seq 100000", "mode": "pipe"},
		map[string]any{"command": "kill -9 $$", "mode": "pipe"},
	)
	second := leave(t, state, map[string]any{"command": "echo one more", "record": true})
	run := func(args ...string) string {
		t.Helper()
		out, log := shelldJobs(t, 0, append(args, "-dir", state)...)
		if log != "" {
			t.Errorf("%q says %s", args, log)
		}
		return out
	}
	look := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !regexp.MustCompile("(?m)" + w).MatchString(text) {
				t.Errorf("there is no %s in\n%s", w, text)
			}
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' }); i >= 0 {
			t.Errorf("a control character gets through at %d of %q", i, text)
		}
	}
	look(run(), `^JOB +STARTED +TIME +SIZE +STATE +COMMAND$`,
		`^[0-9a-f]+/1 .* exit 3 +printf '\\033.*; exit 3 # ␛]0;evil␇␛\[31mred<U\+009B>31m<U\+202E>$`,
		`^[0-9a-f]+/2 .* exit 0 +sh -c 'seq 1 30; echo oops >&2; printf end'$`,
		`^[0-9a-f]+/3 .* exit 0 +seq 100000$`, `^[0-9a-f]+/4 .* SIGKILL +kill -9 \$\$$`, `^[0-9a-f]+/1 .* exit 0, recorded +echo one more$`)
	var told struct {
		StateDirectory string
		Jobs           []storedJob
	}
	text := run("-json")
	look(text)
	if err := json.Unmarshal([]byte(text), &told); err != nil || told.StateDirectory != state || len(told.Jobs) != 5 || told.Jobs[4].Job != second+"/1" || told.Jobs[0].Live || told.Jobs[0].Recording != nil || deref(t, told.Jobs[4].Recording) != "session.cast" {
		t.Errorf("%v: %s", err, text)
	}
	look(run("show", "last"), "^job +"+second+"/1$", `^state +exit 0$`, `^command +echo one more$`, `^pty +10 bytes$`, "^recording +"+filepath.Join(state, second, "1", "session.cast"), "^file +"+filepath.Join(state, second, "1", "stdout.txt"))
	look(run("show", first+"/3"), `^stdout +588895 bytes, stored: 0 to 16384, \d+ to 588895$`)
	look(run("show", first+"/1"), `^description +␛]0;evil`)
	look(run("show", "-json", first+"/1"), `\\u001b\]0;evil.*\\u009b31m\\u202e`)

	for args, want := range map[string]string{
		"tail last":                            "one more\n",
		"tail -raw last":                       "one more\r\n",
		"tail FIRST/1":                         "redx\n",
		"tail -raw FIRST/1":                    "\x1b[31mred\x1b[0m\u009bx\r\n",
		"tail -n 2 FIRST/2":                    "==> stdout <==\n30\nend\n==> stderr <==\noops\n",
		"tail -n 1 -stream stderr FIRST/2":     "oops\n",
		"tail -n 0 -stream stdout FIRST/2":     "",
		"tail FIRST/3 -n 2":                    "99999\n100000\n",
		"tail FIRST/4":                         "",
		"search -F -i ONE last":                randomPart(second)[:4] + "/1 stdout:1: one more\n",
		"search ^oo.s$ FIRST/2":                randomPart(first)[:4] + "/2 stderr:1: oops\n",
		"search ^red.x$ FIRST/1 FIRST/2":       randomPart(first)[:4] + "/1 stdout:1: red<U+009B>x\n",
		"search (?<=^o)op FIRST/2":             randomPart(first)[:4] + "/2 stderr:1: oops\n",
		"search -multiline ^28\\s+29$ FIRST/2": randomPart(first)[:4] + "/2 stdout:28: 28\n" + randomPart(first)[:4] + "/2 stdout:29: 29\n",
	} {
		if got := run(strings.Fields(strings.ReplaceAll(args, "FIRST", first))...); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	// The text that replaces a gap was not written by the job, and the lines after a gap have no known number.
	gap := regexp.MustCompile(`^[0-9a-f]{4}/3 stdout: \d+ bytes are no longer stored and were not searched, offsets 16384 to \d+\n$`)
	for pattern, want := range map[string]string{`\[shelld:.*offsets`: "", "^99999$": "/3 stdout@588882: 99999\n", "^12$": "/3 stdout:12: 12\n"} {
		if want != "" {
			want = randomPart(first)[:4] + want
		}
		if out, log := shelldJobs(t, map[bool]int{true: 1}[want == ""], "search", pattern, first+"/3", "-dir", state); out != want || !gap.MatchString(log) {
			t.Errorf("search %s: %q, %q, want %q", pattern, out, log, want)
		}
	}
	if all := run("tail", "-all", first+"/3"); !strings.HasPrefix(all, "1\n2\n") || !strings.HasSuffix(all, "\n100000\n") || strings.Count(all, " bytes omitted here, ") != 1 {
		t.Errorf("all has %d bytes", len(all))
	}
	for args, want := range map[string]string{
		"tail 20/1":                     "write more of the session's name",
		"tail x/1":                      `no stored job "x/1"`,
		"tail " + first + "/9":          "there is no stored job",
		"tail -stream pipe " + first:    "-stream is stdout or stderr",
		"tail -stream pipe last":        "-stream is stdout or stderr",
		"tail -stream stderr FIRST/1":   "no stderr of",
		"search -F nowhere-to-be-found": "are no longer stored and were not searched",
		"search (a":                     "not an ECMAScript regular expression",
		"search a\\nb":                  "give -multiline",
		"search -F -multiline a":        "leave out one of them",
		"tail -n -5 last":               "-n is a number of lines, 0 or more",
		"tail -n 5 -all last":           "one of them",
		"list list":                     "a command comes before its flags: shelld jobs list",
	} {
		status := 1
		if strings.Contains(want, "-stream is") || strings.Contains(want, "one of") || strings.Contains(want, " a command") || strings.Contains(want, "0 or more") || strings.Contains(want, "not an ECMAScript") || strings.Contains(want, "give -multiline") || strings.HasPrefix(want, "a command") {
			status = 2
		}
		if out, log := shelldJobs(t, status, append(strings.Fields(strings.ReplaceAll(args, "FIRST", first)), "-dir", state)...); !strings.Contains(log, want) || out != "" {
			t.Errorf("%s: %q %q, want %s", args, out, log, want)
		}
	}
	if got, want := run("prune", "-jobs", "1"), "4 jobs deleted"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; 1 of ended servers are kept\n") {
		t.Errorf("pruned: %s", got)
	}
	if left, err := filepath.Glob(filepath.Join(state, "*", "*")); err != nil || !slices.Equal(left, []string{filepath.Join(state, second, "1"), filepath.Join(state, second, "lock")}) {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestStoredSearchOverEdges checks that results do not depend on how a file is read, neither in lines of any length nor
// across line ends.
func TestStoredSearchOverEdges(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	s := startServed(t)
	s.keepIn(t, state, 16<<20, nil)
	// The first line has a match at each multiple of 64 KiB, where a reader may split it.
	const command = `awk 'BEGIN { for (i = 0; i < 65532; i++) a = a "a"; printf "%s", a; while (n++ < 40) printf "needle%03d%s", n, substr(a, 1, 65527); print " hay"; print "last line" }'`
	s.call(t, "job/start", map[string]any{"command": command, "mode": "pipe", "wait": map[string]any{"until": []map[string]any{{"closed": true}}, "timeoutMs": watchdog.Milliseconds(), "maxBytes": 0}}, nil)
	s.shutDown(t)
	for _, args := range [][]string{{"-F", "aneedle004a"}, {"-F", "aneedle016a"}, {"a[n]eedle016a"}, {"-F", "aneedle032a"}, {"-F", "-i", "NEEDLE040"}} {
		out, log := shelldJobs(t, 0, append([]string{"search", "-dir", state}, args...)...)
		if strings.Count(out, "\n") != 1 || !strings.Contains(out, "/1 stdout:1: ") || !strings.Contains(out, strings.Trim(strings.ToLower(args[len(args)-1]), "a[]")[2:]) || !strings.Contains(log, "/1 stdout:1: a line has more than 1 MiB") {
			t.Errorf("%q: %d bytes, %q", args, len(out), log)
		}
	}
	if out, log := shelldJobs(t, 0, "search", "-F", "hay\nlast", "-dir", state); strings.Count(out, "\n") != 2 || !strings.HasSuffix(out, "/1 stdout:2: last line\n") {
		t.Errorf("over line ends: %d bytes, %q", len(out), log)
	}
	if out, log := shelldJobs(t, 0, "search", "^[a-z0-9]+", "-dir", state); !strings.HasSuffix(log, "a pattern with shorter matches\n") {
		t.Errorf("beyond the limit: %d bytes, %q", len(out), log)
	}
}

// TestStoredSearchGoesOn checks that an error in one output ends only the search of that output.
func TestStoredSearchGoesOn(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	id := leave(t, state,
		map[string]any{"command": "echo aaaa", "mode": "pipe"},
		map[string]any{"argv": []string{"sh", "-c", "echo a; echo " + strings.Repeat("a", 60) + "!"}, "mode": "pipe"},
		map[string]any{"command": "echo aa", "mode": "pipe"},
	)
	// A backtracking engine takes practically forever on the second job's last line.
	const explodes = "^(a|aa)+$"
	for _, args := range [][]string{{explodes}, {explodes, id + "/1", id + "/2", id + "/3"}} {
		out, log := shelldJobs(t, 1, append([]string{"search", "-dir", state}, args...)...)
		if strings.Count(out, "\n") != 3 || !strings.Contains(out, "/1 stdout:1: aaaa\n") || !strings.Contains(out, "/2 stdout:1: a\n") || !strings.Contains(out, "/3 stdout:1: aa\n") {
			t.Errorf("%q: found %q", args, out)
		}
		lines := strings.Split(log, "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], randomPart(id)[:4]+"/2 stdout: ") || !strings.Contains(lines[0], "make the pattern simpler") || !strings.Contains(lines[1], "1 of the outputs could not be searched") {
			t.Errorf("%q: said is %q", args, log)
		}
	}
	full := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("shelld jobs search a -dir '%s' >/dev/full", state))
	var log strings.Builder
	full.Stderr = &log
	if err := full.Run(); err == nil || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "no space left") {
		t.Errorf("with a full disk: %v, %q", err, &log)
	}
}

// TestJobsOfALivingServer checks that the present output of a living server is shown, and never deleted.
func TestJobsOfALivingServer(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	s := startServed(t)
	s.keepIn(t, state, 128<<10, nil)
	until := func(pattern string) map[string]any {
		return map[string]any{"until": []map[string]any{{"pattern": pattern, "flags": "m"}}, "maxBytes": 0}
	}
	var started schema.JobStartResult
	s.call(t, "job/start", map[string]any{
		"command": "seq 50000; read x; seq 50001 100000; read x", "mode": "pipe", "stdin": "open", "wait": until("^50000$"),
	}, &started)
	awaitFile(t, filepath.Join(deref(t, started.Job.OutputDirectory), "info.json"))
	s.call(t, "job/write", map[string]any{"handle": 1, "input": "\n", "wait": until("^100000$")}, nil)
	out, log := shelldJobs(t, 0, "prune", "-all", "-dir", state)
	if !strings.HasPrefix(out, "0 jobs deleted") || log != "" {
		t.Errorf("pruned: %s%s", out, log)
	}
	// Its file is a ring, and is read in order.
	if out, log := shelldJobs(t, 0, "tail", "-dir", state, "last"); log != "" || out != "99991\n99992\n99993\n99994\n99995\n99996\n99997\n99998\n99999\n100000\n" {
		t.Errorf("the tail is %q; %s", out, log)
	}
	if out, _ := shelldJobs(t, 0, "-dir", state); !strings.Contains(out, " running ") {
		t.Errorf("the list is %s", out)
	}
	// info.json was written at the start; the list shows the present size.
	var listed struct {
		Jobs []struct{ Info schema.JobInfo }
	}
	if text, _ := shelldJobs(t, 0, "list", "-json", "-dir", state); json.Unmarshal([]byte(text), &listed) != nil || len(listed.Jobs) != 1 || listed.Jobs[0].Info.Streams["stdout"].NextOffset != 588895 {
		t.Errorf("listed are %+v", listed)
	}
	if text, _ := shelldJobs(t, 0, "show", "last", "-dir", state); !regexp.MustCompile(`(?m)^stdout +588895 bytes, stored: 0 to 16384, \d+ to 588895$`).MatchString(text) {
		t.Errorf("it is shown as %s", text)
	}
	s.shutDown(t)
	if j := jobsOf(t, state)[1]; j.state() != "shutdown" || j.Live {
		t.Errorf("it is %s, live %v", j.state(), j.Live)
	}
}

// TestMissingStoredFiles checks that a job's output is shown and searched even if its info.json cannot be read, and that
// missing files are reported.
func TestMissingStoredFiles(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	session := leave(t, state,
		map[string]any{"command": "echo one", "mode": "pipe"}, map[string]any{"command": "echo two", "mode": "pipe"},
		map[string]any{"command": "echo three", "mode": "pipe"}, map[string]any{"command": "echo four", "mode": "pipe"},
		map[string]any{"command": "true", "mode": "pipe"})
	file := func(job, name string) string { return filepath.Join(state, session, job, name) }
	elsewhere := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(
		os.Remove(file("1", "info.json")), os.Mkdir(file("1", "info.json"), 0o700),
		os.Rename(file("2", "info.json"), elsewhere), os.Symlink(elsewhere, file("2", "info.json")),
		os.Remove(file("3", "stdout.txt")),
		os.Remove(file("4", "stdout.txt")), syscall.Mkfifo(file("4", "stdout.txt"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	short := randomPart(session)[:4]
	out, log := shelldJobs(t, 0, "search", "^(one|two|three|four)$", "-dir", state)
	if want := short + "/1 stdout:1: one\n" + short + "/2 stdout:1: two\n"; out != want {
		t.Errorf("found is %q, want %q", out, want)
	}
	for path, why := range map[string]string{
		file("1", "info.json"): "it is not a regular file", file("2", "info.json"): "it is not a regular file",
		file("3", "stdout.txt"): "it is gone: info.json says it had 6 bytes", file("4", "stdout.txt"): "it is not a regular file",
	} {
		if !strings.Contains(log, path+": "+why) {
			t.Errorf("that of %s %s is not in %s", path, why, log)
		}
	}
	if strings.Contains(log, filepath.Join(state, session, "5")) {
		t.Errorf("the log says %s", log)
	}
	if out, _ := shelldJobs(t, 0, "tail", session+"/1", "-dir", state); out != "one\n" {
		t.Errorf("the tail is %q", out)
	}
	if out, _ := shelldJobs(t, 1, "tail", "-stream", "stdout", session+"/3", "-dir", state); out != "" {
		t.Errorf("the tail of what is gone is %q", out)
	}
	if out, _ := shelldJobs(t, 0, "list", "-dir", state); strings.Count(out, short+"/") != 5 {
		t.Errorf("listed are %s", out)
	}
}

// TestSearchAfterLongLine checks that a line that is read in pieces counts as one.
func TestSearchAfterLongLine(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	session := leave(t, state, map[string]any{"command": "echo one", "mode": "pipe"})
	text := "one\n" + strings.Repeat("x", 3*maxPiece) + "\nthree\n" // A server would need a larger cap.
	if err := os.WriteFile(filepath.Join(state, session, "1", "stdout.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := shelldJobs(t, 0, "search", "three", "-dir", state); !strings.HasSuffix(out, " stdout:3: three\n") {
		t.Error(out)
	}
}

// TestSearchMissingJobs checks that a missing job does not prevent the search of others.
func TestSearchMissingJobs(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	session := leave(t, state, map[string]any{"command": "echo one", "mode": "pipe"}, map[string]any{"command": "echo one more", "mode": "pipe"})
	out, log := shelldJobs(t, 1, "search", "one", session+"/7", session+"/2", session+"/8", session+"/1", "-dir", state)
	if !strings.Contains(out, "/2 stdout:1: one more\n") || !strings.HasSuffix(out, "/1 stdout:1: one\n") {
		t.Error(out)
	}
	if !strings.Contains(log, `/7" in `) || !strings.Contains(log, `/8" in `) || !strings.Contains(log, "2 of the named jobs could not be searched") {
		t.Error(log)
	}
	if out, log := shelldJobs(t, 1, "search", "one", session+"/1", "nonsense", "-dir", state); !strings.HasSuffix(out, "/1 stdout:1: one\n") || !strings.Contains(log, `no stored job "nonsense" in `) {
		t.Error(out, log)
	}
}

// TestPruneThatFails checks that the exit status shows that a job could not be deleted.
func TestPruneThatFails(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	session := leave(t, state, map[string]any{"command": "echo one", "mode": "pipe"}, map[string]any{"command": "echo two", "mode": "pipe"})
	if err := os.WriteFile(filepath.Join(state, session, "1", "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, log := shelldJobs(t, 1, "prune", "-all", "-dir", state)
	if !strings.HasPrefix(out, "1 job deleted") || !strings.Contains(log, "shelld did not create mine") || !strings.Contains(log, "1 job could not be deleted") {
		t.Errorf("%s%s", out, log)
	}
}

// TestInterruptedPrune checks that one signal ends a prune that waits for another process, and that nothing was
// deleted.
func TestInterruptedPrune(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	leave(t, state, map[string]any{"command": "echo text", "mode": "pipe"})
	other, err := stored.Open(state, rpc.StoredInfo{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Tidy(t.Context(), nil, false); err != nil {
		t.Fatal(err)
	}
	for sig, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		cmd := exec.CommandContext(t.Context(), "shelld", "jobs", "prune", "-all", "-dir", state)
		log, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		told := bufio.NewReader(log)
		if first, err := told.ReadString('\n'); err != nil || !strings.Contains(first, "another shelld is tidying up in "+state) {
			t.Errorf("it says %q, %v", first, err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
		rest, err := io.ReadAll(told)
		if string(rest) != "shelld jobs prune: interrupted; nothing was deleted\n" || err != nil {
			t.Errorf("%v: it says %q, %v", sig, rest, err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != status {
			t.Errorf("%v: %v", sig, err)
		}
	}
	if left := jobsOf(t, state); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

// TestClosedPipeOfJobs closes the pipe early: the command ends without an error message.
func TestClosedPipeOfJobs(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	leave(t, state, map[string]any{"command": "seq 10000", "mode": "pipe"})
	for _, c := range []string{"tail -all last", "search .", "list", "show last"} {
		var log strings.Builder
		cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("shelld jobs %s -dir '%s' | head -n 1", c, state))
		cmd.Stderr = &log
		if out, err := cmd.Output(); err != nil || log.Len() > 0 || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %q %q, %v", c, out, &log, err)
		}
	}
}

// TestJobsDurationIsCurrent checks that the duration of a live job is counted up to the present, and that an ended job keeps its
// own.
func TestJobsDurationIsCurrent(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	info := schema.JobInfo{StartedAt: began.Format(time.RFC3339Nano), DurationMs: 100}
	for _, test := range []struct {
		live   bool
		ended  *string
		status schema.Status
		want   int64
	}{
		{true, nil, schema.StatusRunning, 60_000}, {false, nil, schema.StatusRunning, 100},
		{true, ptr("2026-01-02T03:04:05.1Z"), schema.StatusExited, 100}, {true, nil, schema.StatusClosed, 100},
	} {
		j := storedJob{Live: test.live, Info: json.RawMessage(`{"new":1}`), known: info}
		j.known.EndedAt, j.known.Status = test.ended, test.status
		new(pastJobs).renew(&j, began.Add(time.Minute))
		if j.known.DurationMs != test.want || !strings.Contains(string(j.Info), `"new":1`) {
			t.Errorf("%+v: %d, %s", test, j.known.DurationMs, j.Info)
		}
	}
}

// awaitFile waits until a file exists.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond) // No event reports it.
	defer tick.Stop()
	for begun := time.Now(); ; <-tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Since(begun) > watchdog {
			t.Fatalf("there is no %s", path)
		}
	}
}
