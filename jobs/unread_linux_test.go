package jobs

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/cast"
)

// A logBuffer is a log that can be read while other goroutines write to it.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) lines(with string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.buf.String()) {
		if strings.Contains(line, with) {
			n++
		}
	}
	return n
}

// hide replaces a folder by a file, so that the files in it cannot be read, not even by root. It returns a function
// that undoes that.
func hide(t *testing.T, folder string) (undo func()) {
	t.Helper()
	if err := errors.Join(os.Rename(folder, folder+".moved"), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := errors.Join(os.Remove(folder), os.Rename(folder+".moved", folder)); err != nil {
			t.Fatal(err)
		}
	}
}

// Output that cannot be read is missing in excerpts and in sent output. The log has the reason and a remedy, once. When
// the output can be read again, it is shown again.
func TestUnreadIsTold(t *testing.T) {
	var log logBuffer
	dir := t.TempDir()
	m := startReal(t, Options{Persist: persistIn(dir), Log: slog.New(slog.NewTextHandler(&log, nil))})
	s := sh("seq 1 1000")
	s.Mode = ModePipe
	j := mustStart(t, m, s)
	awaitClosedSoon(t, j)
	end := j.End(Stdout)
	excerpt := func() int {
		text, _ := j.Excerpt(Stdout, Range{From: 0, To: end}, nil, false, 1<<20)
		return len(text)
	}
	undo := hide(t, filepath.Join(dir, "session", "1"))
	for range 2 {
		if n, at := j.ReadRaw(Stdout, make([]byte, 100), 0); n != 0 || at != end {
			t.Errorf("what is sent has %d bytes at %d", n, at)
		}
		if n := excerpt(); n != 0 {
			t.Errorf("an answer has %d bytes", n)
		}
	}
	undo()
	if n := excerpt(); int64(n) != end {
		t.Errorf("an answer has %d bytes of %d when they can be read again", n, end)
	}
	const told = "stored output cannot be read"
	if log.lines(told) != 1 {
		t.Errorf("it is told %d times", log.lines(told))
	}
	for _, part := range []string{"job=1", "stream=stdout", "from=0", "to=3893", filepath.Join("session", "1", "stdout.txt"), "not a directory", "check the disk", "job/read"} {
		if log.lines(part) == 0 {
			t.Errorf("the log does not say %q:\n%s", part, log.buf.String())
		}
	}
}

// If output cannot be read for a recording, a marker in the recording says so, with the reason.
func TestRecordingOfUnreadOutput(t *testing.T) {
	dir := t.TempDir()
	m := startReal(t, Options{Persist: persistIn(dir)})
	j := mustStart(t, m, sh("echo text"))
	awaitClosedSoon(t, j)
	st := j.output.stream(PTY)
	var file memoryFile
	r := &recording{
		job: &j.base, streams: []*stream{st}, began: time.Now(), text: make([]cast.Text, 2), read: make([]int64, 1),
		cast: cast.NewWriter(cast.Options{File: &file, Max: 1 << 30}, cast.Header{Cols: 80, Rows: 24}),
	}
	undo := hide(t, filepath.Join(dir, "session", "1"))
	r.writeOutput(0, 0, st.spool.End())
	undo()
	r.flush()
	if want := "6 bytes are missing here: output, which could not be read from its file: not a directory"; !strings.Contains(file.String(), want) {
		t.Errorf("it does not say %q: %s", want, file.String())
	}
}
