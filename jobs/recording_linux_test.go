package jobs

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/storedtest"
	"shelld.dev/shelld/jobs/stored"
)

// These tests record real programs.

// A castEvent is a line of a recording.
type castEvent struct{ code, data string }

// readCast reads a recording, and checks that each line is valid asciicast 3.
func readCast(t *testing.T, path string) (header map[string]any, events []castEvent) {
	t.Helper()
	first, lines := recorded(t, path)
	if err := json.Unmarshal([]byte(first), &header); err != nil || header["version"] != 3.0 {
		t.Fatalf("%s: %v", first, err)
	}
	for _, line := range lines {
		var e []any
		if err := json.Unmarshal([]byte(line), &e); err != nil || len(e) != 3 {
			t.Fatalf("%s: %v", line, err)
		}
		interval, isNumber := e[0].(float64)
		code, isCode := e[1].(string)
		data, isText := e[2].(string)
		if !isNumber || interval < 0 || !isCode || !strings.Contains("oirmx", code) || len(code) != 1 || !isText {
			t.Fatalf("no event: %s", line)
		}
		events = append(events, castEvent{code, data})
	}
	return header, events
}

// joined returns the data of all events with a code.
func joined(events []castEvent, code string) string {
	var b strings.Builder
	for _, e := range events {
		if e.code == code {
			b.WriteString(e.data)
		}
	}
	return b.String()
}

func TestRealRecordings(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	for i, c := range []struct {
		name       string
		spec       Spec
		ready      string // its first output
		typed      []Input
		out, in, x string
		files      []string
	}{
		{
			"terminal", sh(`printf 'name? '; read n; printf 'go? '; read g; stty -echo; printf 'password? '; read p; stty echo; echo; echo "$n has $p"; exit 3`), "name",
			// The empty line may be left out: echo may be off before the terminal is asked.
			[]Input{{Text: "Ada", AppendNewline: true, Wait: untilOutput("go")}, {AppendNewline: true, Wait: untilOutput("password")}, {Text: "swordfish", AppendNewline: true}},
			"name? Ada\r\ngo? \r\npassword? \r\nAda has swordfish\r\n", "Ada\r", "3",
			[]string{"info.json", "session.cast", "stdout.txt"},
		},
		{
			"pipes", Spec{Argv: []string{"sh", "-c", "echo ready; read a; echo out $a; read b; echo err $b >&2; kill -9 $$"}, Mode: ModePipe, OpenStdin: true}, "ready",
			[]Input{{Text: "1\n", Wait: untilOutput("out 1")}, {Text: "2\n"}},
			"ready\r\nout 1\r\nerr 2\r\n", "1\n2\n", "137",
			[]string{"info.json", "session.cast", "stderr.txt", "stdout.txt"},
		},
		{
			"silent", Spec{Argv: []string{"true"}, Mode: ModePipe}, "", nil, "", "", "0", []string{"info.json", "session.cast"},
		},
	} {
		c.spec.Record, c.spec.Description = true, c.name
		if c.typed != nil {
			c.spec.Wait = untilOutput(c.ready)
		}
		j := mustStart(t, m, c.spec)
		for _, in := range c.typed {
			p, err := j.Write(in)
			if err != nil {
				t.Fatal(err)
			}
			must(t, p)
		}
		awaitClosed(t, j)
		folder := filepath.Join(dir, fmt.Sprint(i+1))
		storedtest.CheckFolder(t, folder, c.files)
		header, events := readCast(t, filepath.Join(folder, stored.RecordingFile))
		if header["title"] != c.name {
			t.Errorf("%v", header)
		}
		if c.name == "terminal" && header["term"].(map[string]any)["type"] != "xterm-256color" {
			t.Errorf("%v", header)
		}
		if out, in, x := joined(events, "o"), strings.Replace(joined(events, "i"), "\r\r", "\r", 1), joined(events, "x"); out != c.out || in != c.in || x != c.x {
			t.Errorf("%s: output %q, input %q, exit %s", c.name, out, in, x)
		}
		if last := events[len(events)-1]; last.code != "x" {
			t.Errorf("%s: the last is %v", c.name, last)
		}
	}
	if open := ownFiles(t, dir); open != nil {
		t.Errorf("still open: %v", open)
	}
}

func untilOutput(p string) *WaitSpec {
	return &WaitSpec{Until: []Condition{pattern(p)}, Timeout: time.Minute}
}

// Input is always recorded before its echo.
func TestEchoIsRecordedBehindInput(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	s := sh("cat")
	s.Record = true
	j := mustStart(t, m, s)
	const rounds = 300
	for i := range rounds {
		text := fmt.Sprintf("<%d>", i)
		p, err := j.Write(Input{Text: text, AppendNewline: true, Wait: untilOutput(text)})
		if err != nil {
			t.Fatal(err)
		}
		must(t, p)
	}
	must(t, j.Kill(KillOptions{}))
	_, events := readCast(t, filepath.Join(dir, "1", stored.RecordingFile))
	out, in := "", 0
	for _, e := range events {
		switch e.code {
		case "i":
			if text := fmt.Sprintf("<%d>\r", in); e.data != text {
				t.Fatalf("%q was typed, not %q", e.data, text)
			}
			if strings.Contains(out, fmt.Sprintf("<%d>", in)) {
				t.Fatalf("<%d> is shown before it is typed", in)
			}
			in++
		case "o":
			out += e.data
		}
	}
	if in != rounds || joined(events, "x") != "137" {
		t.Errorf("%d inputs; exit %s", in, joined(events, "x"))
	}
}

// If there is no room for a recording, it ends with a complete line. Everything else goes on.
func TestRecordingOnAFullDisk(t *testing.T) {
	if !inChild(t) {
		return
	}
	const most, total = 100_000, 50_000 // total takes 300,000 bytes in JSON
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // The coverage profile is written after the tests, and is longer.
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	})
	m, dir := startFiles(t, Limits{})
	j := mustStart(t, m, Spec{Argv: []string{"sh", "-c", fmt.Sprintf("head -c %d /dev/zero", total)}, Mode: ModePipe, Record: true})
	awaitClosed(t, j)
	info := must(t, j.Info())
	path := filepath.Join(dir, "1", stored.RecordingFile)
	if info.OutputFile != path || info.OutputFileError != "file too large" || deref(t, info.Exit.Code) != 0 {
		t.Errorf("failed: %q, %q; exit %+v", info.OutputFile, info.OutputFileError, info.Exit)
	}
	if got := mustRead(t, filepath.Join(dir, "1", "stdout.txt")); len(got) != total {
		t.Errorf("the output has %d bytes", len(got))
	}
	_, events := readCast(t, path)
	if n := len(joined(events, "o")); n == 0 || n > most/6 || joined(events, "x") != "" {
		t.Errorf("%d bytes are recorded", n)
	}
	if used := m.settings.archive.total.Used(); used != int64(total)+size(t, path) {
		t.Errorf("%d bytes count", used)
	}
	must(t, j.Remove(false))
	if isThere(filepath.Join(dir, "1")) || m.settings.archive.total.Used() != 0 {
		t.Error("its files are there after job/remove")
	}
}

// The name of the job's directory is taken.
func TestRecordingThatCannotBeMade(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	if err := syscall.Mkdir(filepath.Join(dir, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := sh("cat")
	s.Record = true
	j := mustStart(t, m, s)
	p, err := j.Write(Input{Text: "text", AppendNewline: true, Wait: untilOutput("text")})
	if err != nil {
		t.Fatal(err)
	}
	must(t, p)
	must(t, j.Kill(KillOptions{}))
	if info := must(t, j.Info()); info.Status != StatusClosed || info.OutputFile != filepath.Join(dir, "1") || info.OutputFileError != "file exists" {
		t.Errorf("%s; %q, %q", info.Status, info.OutputFile, info.OutputFileError)
	}
}
