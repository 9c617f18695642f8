package stored_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/storedtest"
	"shelld.dev/shelld/jobs/stored"
)

// The newest jobs are kept, as far as each limit allows. A session is deleted with its last job.
func TestRetention(t *testing.T) {
	const most = 1 << 40
	for _, c := range []struct {
		keep stored.Retention
		want []string
	}{
		{stored.Retention{100, 100 * 24 * time.Hour, most}, []string{"1/1", "1/2", "2/1", "2/3", "3/1"}},
		{stored.Retention{3, 100 * 24 * time.Hour, most}, []string{"2/1", "2/3", "3/1"}},
		{stored.Retention{100, 5 * 24 * time.Hour, most}, []string{"2/3", "3/1"}},
		{stored.Retention{100, 100 * 24 * time.Hour, 2500}, []string{"2/3", "3/1"}},
		{stored.Retention{0, 100 * 24 * time.Hour, most}, nil},
		{stored.Retention{100, 100 * 24 * time.Hour, 0}, nil},
		{stored.Retention{100, 0, most}, nil},
	} {
		d := storedtest.Dir{TB: t, Path: t.TempDir()}
		d.Job(storedtest.Session(1), 1, 1000, 20)
		d.Job(storedtest.Session(1), 2, 1000, 15)
		d.Job(storedtest.Session(2), 1, 1000, 10)
		d.Job(storedtest.Session(2), 3, 1000, 2)
		d.Job(storedtest.Session(3), 1, 1000, 1)
		var log bytes.Buffer
		r, err := d.Open(&log).Tidy(t.Context(), &c.keep, false)
		if got := d.Left(); err != nil || !slices.Equal(got, c.want) || log.Len() > 0 {
			t.Errorf("%+v: left are %v, want %v; %v %s", c.keep, got, c.want, err, &log)
		}
		if want := (stored.TidyReport{Deleted: 5 - len(c.want), Freed: int64(5-len(c.want)) * 1000, Kept: len(c.want)}); r != want {
			t.Errorf("%+v: reported %+v, want %+v", c.keep, r, want)
		}
		entries, err := os.ReadDir(d.Path)
		sessions := map[string]bool{}
		for _, w := range c.want {
			sessions[w[:1]] = true
		}
		if err != nil || len(entries) != len(sessions)+1 { // and the lock
			t.Errorf("%+v: there are %v, %v", c.keep, entries, err)
		}
	}
}

// Jobs of dead servers are finished once, whatever was being written when the server died.
func TestLostJobsAreFinished(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	d.Put(storedtest.Session(1), 1, "info.json", "1 running")
	d.Put(storedtest.Session(1), 1, "info.json.new", "1 cl")
	d.Put(storedtest.Session(1), 1, "stdout.txt", "text")
	d.Put(storedtest.Session(1), 1, ".spool-77", "te")
	d.Put(storedtest.Session(1), 2, "stderr.txt", "error")
	d.Put(storedtest.Session(1), 3, "info.json", "3 closed as it was")
	if err := os.Mkdir(filepath.Join(d.Path, storedtest.Session(1), "4"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p := d.Open(&log)
	r, err := p.Tidy(t.Context(), nil, false)
	if r.Lost != 2 || err != nil || log.Len() > 0 {
		t.Errorf("%+v, %v; %s", r, err, &log)
	}
	for id, want := range []string{"", "1 closed lost map[stdout.txt:{4 [{0 4}]}]", "2 closed lost map[stderr.txt:{5 [{0 5}]}]", "3 closed as it was"} {
		if id == 0 {
			continue
		}
		if got := mustRead(t, filepath.Join(d.Path, storedtest.Session(1), fmt.Sprint(id), "info.json")); got != want {
			t.Errorf("%d: %q, want %q", id, got, want)
		}
	}
	storedtest.CheckFolder(t, filepath.Join(d.Path, storedtest.Session(1), "1"), []string{"info.json", "stdout.txt"})
	if r, err := d.Open(&log).Tidy(t.Context(), nil, false); !errors.Is(err, stored.ErrBusy) {
		t.Errorf("two at a time: %+v, %v", r, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path, storedtest.Session(1), "1", "info.json"), []byte("1 running again"), 0o600); err != nil {
		t.Fatal(err)
	}
	if isThere(filepath.Join(d.Path, storedtest.Session(1), "4")) {
		t.Error("an empty folder is there")
	}
	// A finished session is not inspected again.
	if r, err := d.Open(&log).Tidy(t.Context(), nil, true); err != nil || r != (stored.TidyReport{Kept: 3}) {
		t.Errorf("again: %+v, %v", r, err)
	}
}

// An incomplete line at the end of a recording is removed.
func TestTidyTruncatesRecordings(t *testing.T) {
	const header, event = "{\"version\":3}\n", "[0.5,\"o\",\"text\"]\n"
	long := strings.Repeat("x", 200<<10)
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	cases := []struct{ stored, want string }{
		{header + event, header + event},
		{header + event + event[:10], header + event},
		{header + event + strings.TrimSuffix(event, "\n"), header + event},
		{header + event + `[0.5,"o","` + long, header + event},
		{header + `[0.5,"o","` + long + "\"]\n[", header + `[0.5,"o","` + long + "\"]\n"},
		{header[:5], ""},
		{"", ""},
	}
	for i, c := range cases {
		d.Put(storedtest.Session(1), i+1, "info.json", fmt.Sprint(i+1, " running"))
		path := d.Put(storedtest.Session(1), i+1, "session.cast", c.stored)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	closed := d.Put(storedtest.Session(1), 100, "session.cast", "a closed job's is as it is")
	d.Put(storedtest.Session(1), 100, "info.json", "100 closed")
	if r, err := d.Open(io.Discard).Tidy(t.Context(), nil, false); err != nil || r.Lost != len(cases) {
		t.Errorf("%+v, %v", r, err)
	}
	for i, c := range cases {
		path := filepath.Join(d.Path, storedtest.Session(1), fmt.Sprint(i+1), "session.cast")
		if got := mustRead(t, path); got != c.want {
			t.Errorf("of %d bytes %d are left, not %d", len(c.stored), len(got), len(c.want))
		}
		if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(at) {
			t.Errorf("%d: it is as if it had been written at %v; %v", i+1, info.ModTime(), err)
		}
	}
	if got := mustRead(t, closed); got != "a closed job's is as it is" {
		t.Errorf("of a closed job %q is left", got)
	}
}

// A job that cannot be finished is logged, tried again, and deleted by retention.
func TestUnfinishableJob(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	d.Put(storedtest.Session(1), 1, "info.json", "bad")
	d.Put(storedtest.Session(1), 2, "info.json", "2 running")
	for range 2 {
		var log bytes.Buffer
		p := d.Open(&log)
		if _, err := p.Tidy(t.Context(), nil, false); err != nil || !strings.Contains(log.String(), "cannot be understood") {
			t.Errorf("%v; the log says %s", err, &log)
		}
		_ = p.Close() // closing it again has no effect
	}
	if r, err := d.Open(io.Discard).Tidy(t.Context(), &stored.Retention{}, false); err != nil || r.Deleted != 2 || d.Left() != nil {
		t.Errorf("%+v, %v; left are %v", r, err, d.Left())
	}
}

// Cancelling the context ends a Tidy before it deletes anything.
func TestTidyCanceled(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	for id := range 5 {
		d.Job(storedtest.Session(1), id+1, 100, 1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Open(io.Discard).Tidy(ctx, &stored.Retention{}, false); !errors.Is(err, context.Canceled) || len(d.Left()) != 5 {
		t.Errorf("%v; left are %v", err, d.Left())
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
