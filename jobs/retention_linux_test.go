package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A textReader reads what encodeForTest makes.
type textReader struct{}

func (textReader) Closed(stored []byte) bool { return bytes.Contains(stored, []byte(" closed")) }

func (textReader) Finish(stored []byte, l Leftover) ([]byte, error) {
	if bytes.Contains(stored, []byte("bad")) {
		return nil, errors.New("it cannot be understood")
	}
	return fmt.Appendf(nil, "%d closed lost %v", l.Handle, l.Files), nil
}

// A stateDir is a state directory in which a test puts what dead servers have left.
type stateDir struct {
	testing.TB
	dir string
}

func (d stateDir) put(session string, id int, name, content string) string {
	d.Helper()
	folder := filepath.Join(d.dir, session, fmt.Sprint(id))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		d.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(folder, name): content, filepath.Join(d.dir, session, "lock"): ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			d.Fatal(err)
		}
	}
	return filepath.Join(folder, name)
}

// job puts a job there that was closed some days ago.
func (d stateDir) job(session string, id, size, days int) {
	d.Helper()
	info := d.put(session, id, "info.json", fmt.Sprint(id, " closed"))
	d.put(session, id, "stdout.txt", strings.Repeat("x", size-len(fmt.Sprint(id, " closed"))))
	at := time.Now().Add(-time.Duration(days)*24*time.Hour - time.Duration(1000-id)*time.Second)
	if err := os.Chtimes(info, at, at); err != nil {
		d.Fatal(err)
	}
}

// left is what there is, as session/job.
func (d stateDir) left() (all []string) {
	d.Helper()
	paths, err := filepath.Glob(filepath.Join(d.dir, "*", "*", "info.json"))
	if err != nil {
		d.Fatal(err)
	}
	for _, p := range paths {
		rel, _ := filepath.Rel(d.dir, filepath.Dir(p))
		all = append(all, filepath.ToSlash(rel[len("20260101T000000Z-000000000000000"):]))
	}
	return all
}

func (d stateDir) past(log io.Writer) *Past {
	d.Helper()
	p, err := OpenPast(d.dir, textReader{}, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		if err := p.Close(); err != nil {
			d.Error(err)
		}
	})
	return p
}

func named(n int) string { return fmt.Sprintf("20260101T00000%dZ-000000000000000%d", n, n) }

// The newest are kept, as far as each limit goes; sessions go with their last job.
func TestRetentionOfThePast(t *testing.T) {
	const most = 1 << 40
	for _, c := range []struct {
		keep Retention
		want []string
	}{
		{Retention{100, 100 * 24 * time.Hour, most}, []string{"1/1", "1/2", "2/1", "2/3", "3/1"}},
		{Retention{3, 100 * 24 * time.Hour, most}, []string{"2/1", "2/3", "3/1"}},
		{Retention{100, 5 * 24 * time.Hour, most}, []string{"2/3", "3/1"}},
		{Retention{100, 100 * 24 * time.Hour, 2500}, []string{"2/3", "3/1"}},
		{Retention{0, 100 * 24 * time.Hour, most}, nil},
		{Retention{100, 100 * 24 * time.Hour, 0}, nil},
		{Retention{100, 0, most}, nil},
	} {
		d := stateDir{t, t.TempDir()}
		d.job(named(1), 1, 1000, 20)
		d.job(named(1), 2, 1000, 15)
		d.job(named(2), 1, 1000, 10)
		d.job(named(2), 3, 1000, 2)
		d.job(named(3), 1, 1000, 1)
		var log bytes.Buffer
		r, err := d.past(&log).Tidy(t.Context(), &c.keep, false)
		if got := d.left(); err != nil || !slices.Equal(got, c.want) || log.Len() > 0 {
			t.Errorf("%+v: left are %v, want %v; %v %s", c.keep, got, c.want, err, &log)
		}
		if want := (TidyReport{Deleted: 5 - len(c.want), Freed: int64(5-len(c.want)) * 1000, Kept: len(c.want)}); r != want {
			t.Errorf("%+v: reported %+v, want %+v", c.keep, r, want)
		}
		entries, err := os.ReadDir(d.dir)
		sessions := map[string]bool{}
		for _, w := range c.want {
			sessions[w[:1]] = true
		}
		if err != nil || len(entries) != len(sessions)+1 { // and the lock
			t.Errorf("%+v: there are %v, %v", c.keep, entries, err)
		}
	}
}

// What a living server has is never touched, nor what is none of ours.
func TestTidyTouchesNoOther(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	live := &Persist{Directory: d.dir, Session: named(9), Encode: encodeForTest}
	a, _, err := openArchive(live, Limits{}.withDefaults(true), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d.put(named(9), 1, "info.json", "1 running")
	if err := os.MkdirAll(filepath.Join(d.dir, "mine", "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.put(named(1), 1, "info.json", "1 running")
	foreign := d.put(named(1), 1, "notes", "precious")
	d.job(named(2), 1, 100, 1)
	var log bytes.Buffer
	p := d.past(&log)
	r, err := p.Tidy(t.Context(), &Retention{}, false)
	if want := (TidyReport{Lost: 1, Deleted: 1, Freed: 100, Kept: 1, Failed: 1}); err != nil || r != want {
		t.Errorf("%+v, want %+v; %v", r, want, err)
	}
	if got := d.left(); !slices.Equal(got, []string{"1/1", "9/1"}) || mustRead(t, foreign) != "precious" {
		t.Errorf("left are %v", got)
	}
	if !strings.Contains(log.String(), "notes is none of shelld's") {
		t.Errorf("the log says %s", &log)
	}
	if got := mustRead(t, filepath.Join(d.dir, named(9), "1", "info.json")); got != "1 running" {
		t.Errorf("a living server's job: %q", got)
	}
	found, err := p.Jobs(t.Context())
	if err != nil || len(found) != 2 || found[0].Live || !found[1].Live || string(found[0].Info) != "1 closed lost map[]" {
		t.Errorf("%+v, %v", found, err)
	}
	if !a.close() {
		t.Error("the server does not end")
	}
}

// Jobs of dead servers are finished once, whatever was being written when they died.
func TestLostJobsAreFinished(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	d.put(named(1), 1, "info.json", "1 running")
	d.put(named(1), 1, "info.json.new", "1 cl")
	d.put(named(1), 1, "stdout.txt", "text")
	d.put(named(1), 1, ".spool-77", "te")
	d.put(named(1), 2, "stderr.txt", "error")
	d.put(named(1), 3, "info.json", "3 closed as it was")
	if err := os.Mkdir(filepath.Join(d.dir, named(1), "4"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p := d.past(&log)
	r, err := p.Tidy(t.Context(), nil, false)
	if r.Lost != 2 || err != nil || log.Len() > 0 {
		t.Errorf("%+v, %v; %s", r, err, &log)
	}
	for id, want := range []string{"", "1 closed lost map[stdout.txt:{4 [{0 4}]}]", "2 closed lost map[stderr.txt:{5 [{0 5}]}]", "3 closed as it was"} {
		if id == 0 {
			continue
		}
		if got := mustRead(t, filepath.Join(d.dir, named(1), fmt.Sprint(id), "info.json")); got != want {
			t.Errorf("%d: %q, want %q", id, got, want)
		}
	}
	checkFolder(t, filepath.Join(d.dir, named(1), "1"), []string{"info.json", "stdout.txt"})
	if r, err := d.past(&log).Tidy(t.Context(), nil, false); !errors.Is(err, ErrBusy) {
		t.Errorf("two at a time: %+v, %v", r, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, named(1), "1", "info.json"), []byte("1 running again"), 0o600); err != nil {
		t.Fatal(err)
	}
	if isThere(filepath.Join(d.dir, named(1), "4")) {
		t.Error("an empty folder is there")
	}
	// The session is finished, and not looked at any more.
	if r, err := d.past(&log).Tidy(t.Context(), nil, true); err != nil || r != (TidyReport{Kept: 3}) {
		t.Errorf("again: %+v, %v", r, err)
	}
}

// Of a recording that its server did not come to write to the end of a line, whole lines are left.
func TestLostRecordingsAreWholeLines(t *testing.T) {
	const header, event = "{\"version\":3}\n", "[0.5,\"o\",\"text\"]\n"
	long := strings.Repeat("x", 200<<10)
	d := stateDir{t, t.TempDir()}
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
		d.put(named(1), i+1, "info.json", fmt.Sprint(i+1, " running"))
		path := d.put(named(1), i+1, "session.cast", c.stored)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	closed := d.put(named(1), 100, "session.cast", "a closed job's is as it is")
	d.put(named(1), 100, "info.json", "100 closed")
	if r, err := d.past(io.Discard).Tidy(t.Context(), nil, false); err != nil || r.Lost != len(cases) {
		t.Errorf("%+v, %v", r, err)
	}
	for i, c := range cases {
		path := filepath.Join(d.dir, named(1), fmt.Sprint(i+1), "session.cast")
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

// What cannot be finished is told, tried again, and deleted when its time has come.
func TestWhatCannotBeFinished(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	d.put(named(1), 1, "info.json", "bad")
	d.put(named(1), 2, "info.json", "2 running")
	for range 2 {
		var log bytes.Buffer
		p := d.past(&log)
		if _, err := p.Tidy(t.Context(), nil, false); err != nil || !strings.Contains(log.String(), "cannot be understood") {
			t.Errorf("%v; the log says %s", err, &log)
		}
		_ = p.Close() // Closing it again is of no effect.
	}
	if r, err := d.past(io.Discard).Tidy(t.Context(), &Retention{}, false); err != nil || r.Deleted != 2 || d.left() != nil {
		t.Errorf("%+v, %v; left are %v", r, err, d.left())
	}
}

// A server that wanted its files deleted has them deleted when it is dead, however young.
func TestTemporarySessions(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	for _, killed := range []bool{false, true} {
		p := &Persist{Directory: d.dir, Session: named(1), Encode: encodeForTest, Temporary: true}
		a, _, err := openArchive(p, Limits{}.withDefaults(true), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		lock := mustRead(t, filepath.Join(d.dir, named(1), "lock"))
		d.put(named(1), 1, "info.json", "1 running")
		if err := os.WriteFile(filepath.Join(d.dir, named(1), "lock"), []byte(lock), 0o600); err != nil {
			t.Fatal(err)
		}
		if killed {
			a.scratch = false // What its death leaves undone. The lock goes as it does then.
		}
		if !a.close() {
			t.Error("the server does not end")
		}
		if got := isThere(filepath.Join(d.dir, named(1))); got != killed {
			t.Errorf("killed %v: its directory is there: %v", killed, got)
		}
	}
	if r, err := d.past(io.Discard).Tidy(t.Context(), &DefaultRetention, false); err != nil || r.Deleted != 1 || isThere(filepath.Join(d.dir, named(1))) {
		t.Errorf("%+v, %v", r, err)
	}
}

// Whoever looks through it can be told to leave it.
func TestTidyIsInterrupted(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	for id := range 5 {
		d.job(named(1), id+1, 100, 1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.past(io.Discard).Tidy(ctx, &Retention{}, false); !errors.Is(err, context.Canceled) || len(d.left()) != 5 {
		t.Errorf("%v; left are %v", err, d.left())
	}
}

// A server looks when it begins, and does not end before it has let go of the directory.
func TestServersLookAtThePast(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	d.put(named(1), 1, "info.json", "1 running")
	d.job(named(1), 2, 100, 20)
	d.job(named(1), 3, 100, 1)
	p := &Persist{Directory: d.dir, Session: named(2), Encode: encodeForTest, Reader: textReader{}}
	a, _, err := openArchive(p, Limits{}.withDefaults(true), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	<-a.tidied
	if got := d.left(); !slices.Equal(got, []string{"1/1", "1/3"}) {
		t.Errorf("left are %v", got)
	}
	if got := mustRead(t, filepath.Join(d.dir, named(1), "1", "info.json")); got != "1 closed lost map[]" {
		t.Errorf("info.json is %q", got)
	}
	if !a.close() {
		t.Error("the server does not end")
	}
	if open := ownFiles(t, d.dir); open != nil {
		t.Errorf("still open: %v", open)
	}
}
