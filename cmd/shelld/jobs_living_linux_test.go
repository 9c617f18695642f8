package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

var (
	omittedLine = regexp.MustCompile(`^\n\[shelld: (\d+) bytes omitted here, offsets (\d+) to (\d+)\]\n`)
	foundLine   = regexp.MustCompile(`^\S+ stdout([:@])(\d+): (.*)$`)
	unkeptLine  = regexp.MustCompile(`offsets (\d+) to (\d+)`)
)

// TestJobsWhileServerWrites reads the files of a living server while it writes them: output is shown as it was written, or
// reported as missing, and never anything else.
func TestJobsWhileServerWrites(t *testing.T) {
	needJobs(t)
	const most = 512 << 10
	state := t.TempDir()
	s := startServed(t)
	s.keepIn(t, state, most, []string{})
	s.call(t, "job/start", object{
		"command": ruler(withoutEnd), "mode": "pipe", "stderr": "discard",
		"wait": object{"until": []object{{"bytes": 4 * most}}, "maxBytes": 0, "timeoutMs": watchdog.Milliseconds()},
	}, nil)
	for range 4 {
		checkFloodText(t, state, most)
		checkFloodLines(t, state)
		checkFloodSearch(t, state, most)
	}
	var r schema.JobGetResult
	s.call(t, "job/get", object{"handle": 1}, &r)
	if r.Job.Status != schema.StatusRunning || r.Job.OutputFileError != nil {
		t.Errorf("the job is %s, %+v", r.Job.Status, r.Job.OutputFileError)
	}
	s.shutDown(t)
}

// checkFloodText compares all output of tail, byte by byte, with the printed text.
func checkFloodText(t *testing.T, state string, most int64) {
	t.Helper()
	rest, log := shelldJobs(t, 0, "tail", "-all", "-raw", "-dir", state, "last")
	at, gaps := int64(0), 0
	for rest != "" {
		n := strings.Index(rest, "\n[shelld: ")
		if n < 0 {
			n = len(rest)
		}
		if rest[:n] != string(rulerAt(at, n)) {
			t.Fatalf("tail shows of %d to %d something else", at, at+int64(n))
		}
		if rest, at = rest[n:], at+int64(n); rest == "" {
			break
		}
		m := omittedLine.FindStringSubmatch(rest)
		if m == nil || m[2] != fmt.Sprint(at) {
			t.Fatalf("tail shows at %d %.100q", at, rest)
		}
		gaps++
		at, _ = strconv.ParseInt(m[3], 10, 64)
		rest = rest[len(m[0]):]
	}
	if gaps == 0 || at < 4*most || log != "" {
		t.Errorf("tail shows %d gaps up to %d; %s", gaps, at, log)
	}
}

// checkFloodLines checks the last lines: each is a line of the output or a note about missing output.
func checkFloodLines(t *testing.T, state string) {
	t.Helper()
	out, log := shelldJobs(t, 0, "tail", "-n", "20", "-dir", state, "last")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for i, line := range lines {
		off, err := strconv.ParseInt(line[:min(15, len(line))], 16, 64)
		whole := err == nil && strings.HasPrefix(string(rulerAt(off, rulerLine)), line) && (len(line) == rulerLine-1 || i == len(lines)-1)
		isPart := strings.Trim(line, "x") == "" // the end of a line after a gap
		if !whole && !isPart && !strings.HasPrefix(line, "[shelld: ") {
			t.Errorf("among the last lines there is %.60q", line)
		}
	}
	if len(lines) > 20 || log != "" {
		t.Errorf("of the last lines there are %d; %s", len(lines), log)
	}
}

// checkFloodSearch compares the lines that search finds, and the gaps that it reports, with the printed text.
func checkFloodSearch(t *testing.T, state string, most int64) {
	t.Helper()
	out, log := shelldJobs(t, 0, "search", "x", "-dir", state, "last")
	searched := int64(0)
	for line := range strings.Lines(out) {
		m := foundLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("search prints %.100q", line)
		}
		at, _ := strconv.ParseInt(m[2], 10, 64)
		if m[1] == ":" {
			at = (at - 1) * rulerLine
		}
		if string(rulerAt(at, len(m[3]))) != m[3] {
			t.Errorf("search has at %d %.60q", at, m[3])
		}
		searched = at + int64(len(m[3]))
	}
	missing := unkeptLine.FindAllStringSubmatch(log, -1)
	if len(missing) == 0 || strings.Count(log, "\n") != len(missing) {
		t.Fatalf("search says %q", log)
	}
	if to, _ := strconv.ParseInt(missing[len(missing)-1][2], 10, 64); max(to, searched) < 4*most {
		t.Errorf("search has come to %d", max(to, searched))
	}
}
