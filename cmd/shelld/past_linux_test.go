package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A ruler is output in which every byte shows its position: lines of 4096 bytes that begin with their offset.
const rulerLine = 4096

// ruler returns a command line that prints n bytes of it.
func ruler(n int64) string {
	return fmt.Sprintf(`awk 'BEGIN { pad = sprintf("%%4080s", ""); gsub(/ /, "x", pad); for (i = 0; i < %d; i += %d) printf "%%015x%%s\n", i, pad }'`, n, rulerLine)
}

const withoutEnd = int64(1) << 40

// rulerAt returns n bytes of it from an offset.
func rulerAt(off int64, n int) []byte {
	b := make([]byte, 0, n+rulerLine)
	for at := off / rulerLine * rulerLine; int64(len(b)) < off%rulerLine+int64(n); at += rulerLine {
		b = fmt.Appendf(b, "%015x%s\n", at, strings.Repeat("x", rulerLine-16))
	}
	return b[off%rulerLine:][:n]
}

// A hearer counts the output of each stream that a client has received, and checks it.
type hearer struct {
	mu     sync.Mutex
	sent   map[string]int64 // by handle/stream: the offset after the last byte
	wrong  []string
	enough func(sent map[string]int64) bool
	full   chan struct{} // closed when enough reports true
}

func (l *hearer) hear(n client.Event) {
	var p schema.JobOutputParams
	if n.Method != "job/output" || json.Unmarshal(n.Params, &p) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fmt.Sprintf("%d/%s", p.Handle, p.Stream)
	if p.Text != nil && !bytes.Equal([]byte(*p.Text), rulerAt(p.Offset, len(*p.Text))) {
		l.wrong = append(l.wrong, fmt.Sprintf("%s at %d", key, p.Offset))
	}
	l.sent[key] = p.Offset + p.Bytes
	if l.enough != nil && l.enough(l.sent) {
		l.enough = nil
		close(l.full)
	}
}

// jobsOf returns the jobs that "shelld jobs" lists for a state directory.
func jobsOf(t *testing.T, state string) map[int64]storedJob {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "shelld", "jobs", "-json", "-dir", state)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil || log.Len() > 0 {
		t.Fatalf("shelld jobs: %v %s", err, &log)
	}
	var told struct{ Jobs []storedJob }
	if err := json.Unmarshal(out.Bytes(), &told); err != nil {
		t.Fatal(err)
	}
	all := map[int64]storedJob{}
	for _, j := range told.Jobs {
		if err := schema.ValidateStored(j.Info); err != nil {
			t.Errorf("info.json of %s: %v", j.Job, err)
		} else if err := json.Unmarshal(j.Info, &j.known); err != nil {
			t.Fatal(err)
		}
		all[j.Handle] = j
	}
	return all
}

// TestKilledUnderLoad kills the server while jobs write: all output that a client has received is found exactly, and
// the next process that opens the directory finishes the jobs.
func TestKilledUnderLoad(t *testing.T) {
	needJobs(t)
	const most, head = 4 << 20, 512 << 10
	state := t.TempDir()
	l := &hearer{sent: map[string]int64{}, full: make(chan struct{})}
	l.enough = func(sent map[string]int64) bool {
		return sent["1/stdout"] > 2*most && sent["2/pty"] > 1<<20 && sent["3/stdout"] >= 3<<20 && sent["3/stderr"] > 1<<20 && sent["4/pty"] > 2*most
	}
	s := startHeard(t, l.hear)
	r := s.keepIn(t, state, most, nil)
	for _, p := range []schema.JobStartParams{
		{Command: ptr(ruler(withoutEnd)), Mode: ptr(schema.ModePipe)},
		{Command: ptr("stty raw; " + ruler(4<<20) + "; sleep 1000"), Mode: ptr(schema.ModePty)},
		{Command: ptr(ruler(3<<20) + "; " + ruler(withoutEnd) + " >&2"), Mode: ptr(schema.ModePipe)},
		{Command: ptr("stty raw; " + ruler(withoutEnd)), Mode: ptr(schema.ModePty)},
		{Command: ptr(ruler(rulerLine)), Mode: ptr(schema.ModePipe)},
	} {
		s.call(t, "job/start", p, nil)
	}
	var closed schema.JobWaitResult
	s.call(t, "job/wait", map[string]any{"handle": 5, "until": []map[string]any{{"closed": true}}}, &closed)
	select {
	case <-l.full:
	case <-time.After(4 * watchdog):
		l.mu.Lock()
		t.Fatalf("there is not enough output: %v", l.sent)
	}
	s.kill(t)
	lookAtOnce(t, state)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) > 0 {
		t.Errorf("what was sent is wrong in %d chunks, first %s", len(l.wrong), l.wrong[0])
	}
	all := jobsOf(t, state)
	for handle, want := range map[int64]string{1: "lost", 2: "lost", 3: "lost", 4: "lost", 5: "exit 0"} {
		j := all[handle]
		if got := j.state(); got != want || j.known.Status != schema.StatusClosed || j.Live {
			t.Errorf("job %d is %s, %s, live %v", handle, got, j.known.Status, j.Live)
		}
		for name, st := range j.known.Streams {
			checkStored(t, fmt.Sprintf("%d/%s", handle, name), filepath.Join(state, r.SessionID, fmt.Sprint(handle), map[string]string{"stderr": "stderr.txt"}[name]), st, l.sent[fmt.Sprintf("%d/%s", handle, name)], head, most)
		}
	}
}

// TestPrintedGap has a job print the stored file of another job, including the note about its gap. That note is then
// output, whether its server lives, was killed or has ended.
func TestPrintedGap(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	first := startServed(t)
	r := first.keepIn(t, state, 128<<10, []string{})
	var started schema.JobStartResult
	closed := map[string]any{"until": []map[string]any{{"closed": true}}, "maxBytes": 0}
	first.call(t, "job/start", map[string]any{"command": ruler(1 << 20), "mode": "pipe", "wait": closed}, &started)
	first.shutDown(t)
	path := filepath.Join(state, r.SessionID, "1", "stdout.txt")
	file, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(file, []byte(" bytes omitted here, offsets ")) {
		t.Fatalf("of 1 MiB %d bytes are stored, without a line; %v", len(file), err)
	}
	state = t.TempDir()
	second := startServed(t)
	second.keepIn(t, state, 1<<20, []string{})
	size := int64(len(file))
	for _, command := range []string{"cat " + path, "cat " + path + "; sleep 1000"} {
		second.call(t, "job/start", map[string]any{"command": command, "mode": "pipe", "wait": map[string]any{"until": []map[string]any{{"bytes": size}}, "maxBytes": 0}}, &started)
	}
	second.call(t, "job/wait", map[string]any{"handle": 1, "until": []map[string]any{{"closed": true}}, "maxBytes": 0}, nil)
	look := func(when string) {
		t.Helper()
		if out, log := shelldJobs(t, 0, "search", "omitted here", "-dir", state); log != "" || strings.Count(out, "\n") != 2 {
			t.Errorf("%s: the line is found as %s%s", when, out, log)
		}
		if when == "alive" {
			return // info.json of the second job may not exist yet.
		}
		for handle, j := range jobsOf(t, state) {
			if st := j.known.Streams["stdout"]; st.NextOffset != size || len(st.Kept) != 1 || !slices.Equal(st.Kept[0], []int64{0, size}) {
				t.Errorf("%s: of job %d %v of %d is stored, not all of %d", when, handle, st.Kept, st.NextOffset, size)
			}
		}
	}
	look("alive")
	second.kill(t)
	look("killed")
	look("finished")
}

// lookAtOnce has a server and two commands open a state directory at the same time.
func lookAtOnce(t *testing.T, state string) {
	t.Helper()
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if out, err := exec.CommandContext(t.Context(), "shelld", "jobs", "-dir", state).CombinedOutput(); err != nil || bytes.Contains(out, []byte("level=")) {
				t.Errorf("shelld jobs: %v\n%s", err, out)
			}
		})
	}
	next := startServed(t)
	next.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{Persist: &schema.PersistOptions{Directory: &state}}}, nil)
	group.Wait()
	next.shutDown(t)
	// The last one may have found another process tidying, which has finished by now.
}

// checkStored checks the file of a stream: head, one line, tail, as reported and as received.
func checkStored(t *testing.T, name, path string, st schema.StreamInfo, sent, head, most int64) {
	t.Helper()
	if filepath.Ext(path) == "" {
		path = filepath.Join(path, "stdout.txt")
	}
	if st.NextOffset == 0 && sent == 0 {
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	if st.NextOffset < sent {
		t.Errorf("%s: %d bytes were sent, %d are stored", name, sent, st.NextOffset)
	}
	var want []byte
	next, kept := int64(0), int64(0)
	for _, r := range append(slices.Clone(st.Kept), []int64{st.NextOffset, st.NextOffset}) {
		if r[0] > next {
			want = fmt.Appendf(want, "\n[shelld: %d bytes omitted here, offsets %d to %d]\n", r[0]-next, next, r[0])
		}
		want = append(want, rulerAt(r[0], int(r[1]-r[0]))...)
		next, kept = r[1], kept+r[1]-r[0]
	}
	if !bytes.Equal(b, want) {
		t.Errorf("%s: the file has %d bytes, which are not the %d of %v", name, len(b), len(want), st.Kept)
	}
	switch {
	case st.NextOffset <= most && (len(st.Kept) != 1 || kept != st.NextOffset):
		t.Errorf("%s: of %d bytes %v are stored", name, st.NextOffset, st.Kept)
	case st.NextOffset > most && (len(st.Kept) != 2 || st.Kept[0][1] != head || kept < most-64<<10):
		t.Errorf("%s: of %d bytes %v are stored, %d", name, st.NextOffset, st.Kept, kept)
	}
}

var cappedBytes = flag.Int64("capped", 0, "bytes that TestCappedOutput has a job print, if not 96 MiB, or fewer with -short; 1073741824 with the default cap of 64 MiB, else with one of 8 MiB")

// TestCappedOutput prints far more output than the cap: the head and the tail are stored, the gap is exact, memory
// stays constant, and reads are correct at both ends, during the job and after it.
func TestCappedOutput(t *testing.T) {
	needJobs(t)
	total := *cappedBytes
	if total == 0 {
		total = int64(scaled(96<<20, 96<<20, 32<<20))
	}
	total = total / rulerLine * rulerLine
	most := int64(8 << 20)
	if total >= 1<<30 {
		most = 64 << 20
	}
	head := most / 8
	state := t.TempDir()
	s := startServed(t)
	r := s.keepIn(t, state, most, []string{})
	var started schema.JobStartResult
	s.call(t, "job/start", schema.JobStartParams{Command: ptr(ruler(total) + "; read x"), Mode: ptr(schema.ModePipe), Stdin: json.RawMessage(`"open"`)}, &started)
	await := func(n int64) {
		t.Helper()
		var w schema.JobWaitResult
		s.call(t, "job/wait", map[string]any{"handle": 1, "until": []map[string]any{{"bytes": n}}, "from": "start", "timeoutMs": 600_000, "maxBytes": 0}, &w)
		if w.Outcome.Reason != schema.OutcomeReasonBytes {
			t.Fatalf("the wait for %d bytes ended with %s", n, w.Outcome.Reason)
		}
	}
	await(2 * most)
	early := anonymous(t, s.cmd.Process.Pid)
	await(total)
	late := anonymous(t, s.cmd.Process.Pid)
	t.Logf("memory: %d KiB after %d bytes, %d KiB after %d", early>>10, 2*most, late>>10, total)
	if growth := 16 << 20; !raceDetector && late > early+growth {
		t.Errorf("the server has %d bytes of its own early and %d late", early, late)
	}
	read := func(off int64, n int64) (b []byte, x schema.JobReadResult) {
		t.Helper()
		s.call(t, "job/read", map[string]any{"handle": 1, "stream": "stdout", "offset": off, "maxBytes": n}, &x)
		return []byte(deref(t, x.Text)), x
	}
	tail := total - (most - head)
	look := func(when string) {
		t.Helper()
		for _, off := range []int64{0, 1, head - 5000, tail, tail + 1, total - 5000} {
			if b, x := read(off, 5000); x.Offset != off || x.Gap != nil || !bytes.Equal(b, rulerAt(off, len(b))) || len(b) == 0 {
				t.Errorf("%s: at %d: %d bytes from %d on, gap %v", when, off, len(b), x.Offset, x.Gap)
			}
		}
		for _, off := range []int64{head, total / 2, tail - 1} {
			if b, x := read(off, 5000); x.Gap == nil || x.Gap.From != off || x.Gap.To != tail || x.Offset != tail || !bytes.Equal(b, rulerAt(tail, len(b))) {
				t.Errorf("%s: in the gap at %d: %d bytes from %d on, gap %v", when, off, len(b), x.Offset, x.Gap)
			}
		}
		if b, x := read(head-100, 5000); string(b) != string(rulerAt(head-100, 100)) || x.NextOffset != head {
			t.Errorf("%s: at the end of the head: %d bytes up to %d", when, len(b), x.NextOffset)
		}
		searchCapped(t, s, when, head, tail, total)
	}
	look("running")
	s.call(t, "job/write", map[string]any{"handle": 1, "input": "\n", "wait": map[string]any{"until": []map[string]any{{"closed": true}}, "timeoutMs": 60_000}}, nil)
	look("closed")
	st := jobsOf(t, state)[1].known.Streams["stdout"]
	if len(st.Kept) != 2 || !slices.Equal(st.Kept[0], []int64{0, head}) || !slices.Equal(st.Kept[1], []int64{tail, total}) {
		t.Errorf("info.json has %v of %d", st.Kept, st.NextOffset)
	}
	out, err := os.Open(filepath.Join(state, r.SessionID, "1", "stdout.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	marker := fmt.Sprintf("\n[shelld: %d bytes omitted here, offsets %d to %d]\n", tail-head, head, tail)
	b := make([]byte, 100+len(marker)+100)
	if _, err := out.ReadAt(b, head-100); err != nil || string(b) != string(rulerAt(head-100, 100))+marker+string(rulerAt(tail, 100)) {
		t.Errorf("at the gap the file has %q, %v", b, err)
	}
	if size, err := out.Seek(0, io.SeekEnd); err != nil || size != most+int64(len(marker)) {
		t.Errorf("the file has %d bytes, %v", size, err)
	}
	s.shutDown(t)
}

// searchCapped searches for lines of a ruler with a gap in its middle: lines at both ends are found, in both
// directions, and the gap is reported.
func searchCapped(t *testing.T, s *served, when string, head, tail, total int64) {
	t.Helper()
	for _, off := range []int64{0, head - rulerLine, head, total / 2 / rulerLine * rulerLine, tail - rulerLine, tail, total - rulerLine} {
		for _, reverse := range []bool{false, true} {
			var r schema.JobSearchResult
			s.call(t, "job/search", map[string]any{"handle": 1, "literal": fmt.Sprintf("%015x", off), "reverse": reverse, "timeoutMs": nil}, &r)
			var found []int64
			for _, m := range r.Matches {
				found = append(found, m.Offset)
			}
			want := []int64{off}
			if off >= head && off < tail {
				want = nil
			}
			if !slices.Equal(found, want) || r.Truncated || len(r.Gaps) != 1 || r.Gaps[0].From != head || r.Gaps[0].To != tail {
				t.Errorf("%s: the line at %d, reverse %v: found at %d, gaps %+v", when, off, reverse, found, r.Gaps)
			}
		}
	}
}
