package stored_test

import (
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

	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/storedtest"
	"shelld.dev/shelld/jobs/stored"
)

// These tests are about output with a gap whose server was killed: the job itself could have printed the line that stands
// for the gap.

// A Tidy that is killed leaves files whose gaps are known, and the next one continues.
func TestGapOfAnInterruptedTidy(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	path, all := d.Ring(storedtest.Session(1), 1)
	ring := mustRead(t, path)
	info := filepath.Join(filepath.Dir(path), "info.json")
	p := d.Open(io.Discard)
	d.CheckFound(p, storedtest.Session(1), 1, all, true)
	if r, err := p.Tidy(t.Context(), nil, false); err != nil || r.Lost != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	d.CheckFound(p, storedtest.Session(1), 1, all, true)
	ordered, final := mustRead(t, path), mustRead(t, info)
	if ordered == ring || !strings.Contains(final, " closed ") {
		t.Fatalf("it is not finished: %q", final)
	}
	// The same, interrupted after it had written the final record.
	d.Put(storedtest.Session(2), 1, "info.json", "")
	other := filepath.Join(d.Path, storedtest.Session(2), "1")
	ring = strings.ReplaceAll(ring, storedtest.Session(1), storedtest.Session(2))
	if err := errors.Join(os.WriteFile(filepath.Join(other, "stdout.txt"), []byte(ring), 0o600), os.WriteFile(filepath.Join(other, "info.json"), []byte(final), 0o600)); err != nil {
		t.Fatal(err)
	}
	d.CheckFound(p, storedtest.Session(2), 1, all, true)
	_ = p.Close() // only one process tidies at a time
	p = d.Open(io.Discard)
	if r, err := p.Tidy(t.Context(), nil, false); err != nil || r.Lost != 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
	d.CheckFound(p, storedtest.Session(2), 1, all, true)
	if got := mustRead(t, filepath.Join(other, "stdout.txt")); got != ordered {
		t.Errorf("the file has %d bytes that are not in order", len(got))
	}
	if got := mustRead(t, filepath.Join(other, "info.json")); got != final {
		t.Errorf("what is final has become %q", got)
	}
}

// A Tidy that is cancelled before a file is in order leaves the file to the next one.
func TestTidyCanceledInAFile(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	path, all := d.Ring(storedtest.Session(1), 1)
	ring := mustRead(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := stored.Open(d.Path, finishing{cancel}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Tidy(ctx, nil, false); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if mustRead(t, path) != ring {
		t.Error("the file was put in order all the same")
	}
	d.CheckFound(p, storedtest.Session(1), 1, all, true)
	_ = p.Close() // only one process tidies at a time
	p = d.Open(io.Discard)
	if _, err := p.Tidy(t.Context(), nil, false); err != nil || mustRead(t, path) == ring {
		t.Errorf("the next one has left it: %v", err)
	}
	d.CheckFound(p, storedtest.Session(1), 1, all, true)
}

// A finishing reader calls interrupt when a job is finished.
type finishing struct{ interrupt func() }

func (finishing) Closed(info []byte) bool { return storedtest.Reader{}.Closed(info) }
func (finishing) Files(info []byte) map[string]stored.File {
	return storedtest.Reader{}.Files(info)
}

func (f finishing) Finish(info []byte, l stored.Leftover) ([]byte, error) {
	f.interrupt()
	return storedtest.Reader{}.Finish(info, l)
}

// A line that looks like a gap is output unless info.json records the gap. Only an info.json of a version that did not
// record gaps is trusted.
func TestForgedGap(t *testing.T) {
	const text = "abc\n[shelld: 6 bytes omitted here, offsets 3 to 9]\nx"
	for info, gap := range map[string]bool{
		"":                                  false, // killed before anything was recorded
		"1 running":                         false,
		"1 running stdout 3 [{0 3}]":        false,
		"1 exited stdout 52 [{0 52}]":       false,
		"1 closed stdout 52 [{0 52}]":       false,
		"1 exited stdout 10 [{0 3} {9 10}]": true,
		"1 closed stdout 10 [{0 3} {9 10}]": true,
		"1 closed":                          true, // of an earlier version
	} {
		d := storedtest.Dir{TB: t, Path: t.TempDir()}
		d.Put(storedtest.Session(1), 1, "stdout.txt", text)
		if info != "" {
			d.Put(storedtest.Session(1), 1, "info.json", info)
		}
		all := []byte(text)
		if gap {
			all = []byte("abc......x")
		}
		p := d.Open(io.Discard)
		d.CheckFound(p, storedtest.Session(1), 1, all, gap)
		if _, err := p.Tidy(t.Context(), nil, false); err != nil {
			t.Error(err)
		}
		d.CheckFound(p, storedtest.Session(1), 1, all, gap)
	}
}

// printedMark returns the mark of a ring as a job could print it: it knows its session and handle from its directory.
func printedMark(session string, id int, head, end, room int64) string {
	return fmt.Sprintf("\n[shelld: output of %s/%d/stdout.txt that goes on: head %019d, end %019d, room %019d]\n", session, id, head, end, room)
}

// A text that looks like the mark of a ring is output unless info.json records a ring, and no output before it is lost.
func TestForgedMark(t *testing.T) {
	for _, head := range []int64{0, 1, 1000} {
		text := strings.Repeat("important\n", 800) + strings.Repeat("x", 192) + printedMark(storedtest.Session(1), 1, head, 9_000_000, 8192)
		size := len(text)
		for _, info := range []string{
			"", // killed before anything was recorded
			"1 running",
			"1 running stdout 0 []",
			"1 running stdout 1000 [{0 1000}]",
			fmt.Sprintf("1 exited stdout %d [{0 %d}]", size, size),
			fmt.Sprintf("1 closed stdout %d [{0 %d}]", size, size),
			"1 closed stdout 9000000 [{0 999} {8999000 9000000}]", // contradicts any of them
			"1 closed", // of an earlier version
		} {
			d := storedtest.Dir{TB: t, Path: t.TempDir()}
			path := d.Put(storedtest.Session(1), 1, "stdout.txt", text)
			if info != "" {
				d.Put(storedtest.Session(1), 1, "info.json", info)
			}
			p := d.Open(io.Discard)
			d.CheckFound(p, storedtest.Session(1), 1, []byte(text), false)
			if _, err := p.Tidy(t.Context(), nil, false); err != nil {
				t.Error(err)
			}
			if mustRead(t, path) != text {
				t.Errorf("%q and a head of %d: the output is changed", info, head)
			}
		}
	}
}

// The mark of another stream's ring is output, even if info.json records a gap behind the same head: the job has printed
// a stored file.
func TestMarkOfAnotherStream(t *testing.T) {
	for _, mark := range []string{
		printedMark(storedtest.Session(1), 2, 1000, 9_000_000, 8192),
		printedMark(storedtest.Session(2), 1, 1000, 9_000_000, 8192),
		strings.Replace(printedMark(storedtest.Session(1), 1, 1000, 9_000_000, 8192), "stdout", "stderr", 1),
	} {
		text := strings.Repeat("important\n", 800) + strings.Repeat("x", 192) + mark
		d := storedtest.Dir{TB: t, Path: t.TempDir()}
		path := d.Put(storedtest.Session(1), 1, "stdout.txt", text)
		d.Put(storedtest.Session(1), 1, "info.json", "1 running stdout 9000000 [{0 1000} {8999000 9000000}]")
		p := d.Open(io.Discard)
		d.CheckFound(p, storedtest.Session(1), 1, []byte(text), false)
		if _, err := p.Tidy(t.Context(), nil, false); err != nil {
			t.Error(err)
		}
		if mustRead(t, path) != text {
			t.Errorf("%q: the output is changed", mark)
		}
	}
}

// A file that its server could not put in order, for lack of disk space, is put in order by the next Tidy, as its final
// record says.
func TestTidyOrdersFileOfClosedJob(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	path, all := d.Ring(storedtest.Session(1), 1)
	const room = 210_000
	want := []spool.Range{{From: 0, To: 10_000}, {From: int64(len(all)) - room + 10_000, To: int64(len(all))}}
	final := fmt.Sprintf("1 closed stdout %d %v", len(all), want)
	d.Put(storedtest.Session(1), 1, "info.json", final)
	p := d.Open(io.Discard)
	for _, when := range []string{"when it is looked at", "when it is finished"} {
		d.CheckFound(p, storedtest.Session(1), 1, all, true)
		o, err := p.Output(stored.Job{Session: storedtest.Session(1), Handle: 1}, "stdout.txt")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(o.Kept, want) {
			t.Errorf("%s: kept %v, not %v", when, o.Kept, want)
		}
		_ = o.Close() // it was only read
		if when == "when it is looked at" {
			if _, err := p.Tidy(t.Context(), nil, false); err != nil {
				t.Error(err)
			}
		}
	}
	if text := mustRead(t, path); strings.Contains(text, "that goes on") || len(text) < room {
		t.Errorf("it is not in order: %d bytes", len(text))
	}
	if got := mustRead(t, filepath.Join(filepath.Dir(path), "info.json")); got != final {
		t.Errorf("what is final has become %q", got)
	}
}
