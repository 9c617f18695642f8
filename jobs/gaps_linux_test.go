package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shelld/jobs/internal/spool"
)

// These tests are about what is found of output of which something was dropped, where its server
// has been killed: the line that stands in its place could have been printed by anybody.

var storedStream = regexp.MustCompile(`(stdout|stderr|pty)(?:\.txt)?(?: |:\{)(\d+) \[([^\]]*)\]`)

func (textReader) Files(stored []byte) map[string]StoredFile {
	var all map[string]StoredFile
	for _, m := range storedStream.FindAllStringSubmatch(string(stored), -1) {
		if all == nil {
			all = map[string]StoredFile{}
		}
		var f StoredFile
		f.NextOffset, _ = strconv.ParseInt(m[2], 10, 64)
		for text := m[3]; text != ""; {
			var r Range
			if n, _ := fmt.Sscanf(text, "{%d %d}", &r.From, &r.To); n != 2 {
				break
			}
			f.Kept = append(f.Kept, r)
			_, text, _ = strings.Cut(text, "} ")
		}
		all[files[Stream(m[1])]] = f
	}
	return all
}

// ring is a file as a server leaves it that is killed while it has dropped output, with what it
// has written down when that began.
func (d stateDir) ring(session string, id int) (path string, all []byte) {
	d.Helper()
	d.put(session, id, "info.json", fmt.Sprint(id, " running stdout 5 [{0 5}]"))
	path = filepath.Join(d.dir, session, fmt.Sprint(id), "stdout.txt")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		d.Fatal(err)
	}
	var s *spool.Spool
	s = spool.Open(spool.Options{
		Memory: 1 << 10, File: file, DiskHead: 10_000, DiskTail: 200_000,
		Tag: streamTag(session, ID(id), "stdout.txt"),
		Wraps: func() error {
			kept, end := s.Placed()
			d.put(session, id, "info.json", fmt.Sprintf("%d running stdout %d %v", id, end, kept))
			return nil
		},
	})
	for i := range 400 {
		all = fmt.Appendf(all, "%06d%s\n", i, strings.Repeat("x", 993))
		s.Append(all[i*1000:])
	}
	if err := s.Close(); err != nil {
		d.Fatal(err)
	}
	return path, all
}

// checkFound looks at the file of a job as it is read after its server's death.
func (d stateDir) checkFound(p *Past, session string, id int, all []byte, gap bool) {
	d.Helper()
	o, err := p.Output(PastJob{Session: session, Handle: ID(id)}, "stdout.txt")
	if err != nil {
		d.Error(err)
		return
	}
	defer o.Close()
	if o.NextOffset != int64(len(all)) || len(o.Kept) == 0 || (len(o.Kept) == 2) != gap {
		d.Errorf("%s/%d: kept %v of %d, not of %d", session, id, o.Kept, o.NextOffset, len(all))
		return
	}
	for _, r := range o.Kept {
		b := make([]byte, r.To-r.From)
		if n, at, err := o.Read(b, r.From); n != len(b) || at != r.From || err != nil || !bytes.Equal(b, all[r.From:r.To]) {
			d.Errorf("%s/%d: what is found of %v is wrong: %d bytes from %d on, %v", session, id, r, n, at, err)
		}
	}
}

// A server that is killed after it has put a file in order, and before it has written what is
// final, leaves a file whose gap is known.
func TestGapOfAKilledServer(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	left := map[string]string{} // when the first job's files were in order, and nothing was final
	p := persistIn(filepath.Join(d.dir, "state"))
	p.Encode = func(i Info) ([]byte, error) {
		folder := i.OutputDirectory
		if i.Status == StatusClosed && isThere(filepath.Join(folder, "stderr.txt")) {
			for _, name := range []string{"info.json", "stdout.txt", "stderr.txt"} {
				if b, err := os.ReadFile(filepath.Join(folder, name)); err == nil { // info.json may not be there yet
					left[name] = string(b)
				}
			}
		}
		return encodeForTest(i)
	}
	m := startReal(t, Options{Limits: Limits{SpoolDisk: 100_000}, Persist: p})
	s := sh("i=1000; while [ $i -lt 9999 ]; do echo $i-$i-$i-$i-$i-$i-$i-$i; i=$((i+1)); done; seq 1000 99999 >&2")
	s.Mode = ModePipe
	j := mustStart(t, m, s)
	awaitClosedSoon(t, j)
	kept := map[string][]Range{}
	for _, st := range must(t, j.Info()).Streams {
		kept[files[st.Name]] = j.stream(st.Name).spool.Stored()
	}
	if left["stdout.txt"] == "" || left["stderr.txt"] == "" || strings.Contains(left["info.json"], " closed ") {
		t.Fatalf("left are %d files, and of the job %q", len(left), left["info.json"])
	}
	for name, text := range left {
		d.put(named(1), 1, name, text)
	}
	past := d.past(io.Discard)
	for _, when := range []string{"when it is looked at", "when it is finished"} {
		for name, want := range kept {
			o, err := past.Output(PastJob{Session: named(1), Handle: 1}, name)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(o.Kept, want) || len(want) != 2 {
				t.Errorf("%s, %s has %v, not %v", when, name, o.Kept, want)
			}
			_ = o.Close() // It was only read.
		}
		if when == "when it is looked at" {
			if _, err := past.Tidy(t.Context(), nil, false); err != nil {
				t.Error(err)
			}
		}
	}
}

// Whoever finishes what a dead server has left, and is killed at it, leaves files whose gaps are
// known as well; the next one goes on.
func TestGapOfAnInterruptedTidy(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	path, all := d.ring(named(1), 1)
	ring := mustRead(t, path)
	info := filepath.Join(filepath.Dir(path), "info.json")
	p := d.past(io.Discard)
	d.checkFound(p, named(1), 1, all, true)
	if r, err := p.Tidy(t.Context(), nil, false); err != nil || r.Lost != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	d.checkFound(p, named(1), 1, all, true)
	ordered, final := mustRead(t, path), mustRead(t, info)
	if ordered == ring || !strings.Contains(final, " closed ") {
		t.Fatalf("it is not finished: %q", final)
	}
	// When it was interrupted, all that could be done was what is final.
	d.put(named(2), 1, "info.json", "")
	other := filepath.Join(d.dir, named(2), "1")
	ring = strings.ReplaceAll(ring, named(1), named(2))
	if err := errors.Join(os.WriteFile(filepath.Join(other, "stdout.txt"), []byte(ring), 0o600), os.WriteFile(filepath.Join(other, "info.json"), []byte(final), 0o600)); err != nil {
		t.Fatal(err)
	}
	d.checkFound(p, named(2), 1, all, true)
	_ = p.Close() // Only one at a time tidies up.
	p = d.past(io.Discard)
	if r, err := p.Tidy(t.Context(), nil, false); err != nil || r.Lost != 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
	d.checkFound(p, named(2), 1, all, true)
	if got := mustRead(t, filepath.Join(other, "stdout.txt")); got != ordered {
		t.Errorf("the file has %d bytes that are not in order", len(got))
	}
	if got := mustRead(t, filepath.Join(other, "info.json")); got != final {
		t.Errorf("what is final has become %q", got)
	}
}

// A tidying that cannot put a file in order leaves it to the next one.
func TestTidyIsInterruptedInAFile(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	path, all := d.ring(named(1), 1)
	ring := mustRead(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	p := d.past(io.Discard)
	p.reader = finishing{cancel}
	if _, err := p.Tidy(ctx, nil, false); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if mustRead(t, path) != ring {
		t.Error("the file was put in order all the same")
	}
	d.checkFound(p, named(1), 1, all, true)
	_ = p.Close() // Only one at a time tidies up.
	p = d.past(io.Discard)
	if _, err := p.Tidy(t.Context(), nil, false); err != nil || mustRead(t, path) == ring {
		t.Errorf("the next one has left it: %v", err)
	}
	d.checkFound(p, named(1), 1, all, true)
}

// A finishing reader interrupts who finishes.
type finishing struct{ interrupt func() }

func (finishing) Closed(stored []byte) bool                 { return textReader{}.Closed(stored) }
func (finishing) Files(stored []byte) map[string]StoredFile { return textReader{}.Files(stored) }

func (f finishing) Finish(stored []byte, l Leftover) ([]byte, error) {
	f.interrupt()
	return textReader{}.Finish(stored, l)
}

// What looks like our line is output where it was not written down that it is ours, whatever is
// known of the job; a version that has not written such things down is believed.
func TestForgedGap(t *testing.T) {
	const text = "abc\n[shelld: 6 bytes omitted here, offsets 3 to 9]\nx"
	for info, gap := range map[string]bool{
		"":                                  false, // killed before anything was stored of it
		"1 running":                         false,
		"1 running stdout 3 [{0 3}]":        false,
		"1 exited stdout 52 [{0 52}]":       false,
		"1 closed stdout 52 [{0 52}]":       false,
		"1 exited stdout 10 [{0 3} {9 10}]": true,
		"1 closed stdout 10 [{0 3} {9 10}]": true,
		"1 closed":                          true, // by an earlier version
	} {
		d := stateDir{t, t.TempDir()}
		d.put(named(1), 1, "stdout.txt", text)
		if info != "" {
			d.put(named(1), 1, "info.json", info)
		}
		all := []byte(text)
		if gap {
			all = []byte("abc......x")
		}
		p := d.past(io.Discard)
		d.checkFound(p, named(1), 1, all, gap)
		if _, err := p.Tidy(t.Context(), nil, false); err != nil {
			t.Error(err)
		}
		d.checkFound(p, named(1), 1, all, gap)
	}
}

// printedMark is the mark of a ring as a job can print it, which knows its name from its directory.
func printedMark(session string, id int, head, end, room int64) string {
	return fmt.Sprintf("\n[shelld: output of %s/%d/stdout.txt that goes on: head %019d, end %019d, room %019d]\n", session, id, head, end, room)
}

// What looks like the mark of a ring is output where nobody has written down that there is one, and
// never costs a byte of what was printed before it.
func TestForgedMark(t *testing.T) {
	for _, head := range []int64{0, 1, 1000} {
		text := strings.Repeat("important\n", 800) + strings.Repeat("x", 192) + printedMark(named(1), 1, head, 9_000_000, 8192)
		size := len(text)
		for _, info := range []string{
			"", // killed before anything was stored of it
			"1 running",
			"1 running stdout 0 []",
			"1 running stdout 1000 [{0 1000}]",
			fmt.Sprintf("1 exited stdout %d [{0 %d}]", size, size),
			fmt.Sprintf("1 closed stdout %d [{0 %d}]", size, size),
			"1 closed stdout 9000000 [{0 999} {8999000 9000000}]", // contradicts any of them
			"1 closed", // by an earlier version
		} {
			d := stateDir{t, t.TempDir()}
			path := d.put(named(1), 1, "stdout.txt", text)
			if info != "" {
				d.put(named(1), 1, "info.json", info)
			}
			p := d.past(io.Discard)
			d.checkFound(p, named(1), 1, []byte(text), false)
			if _, err := p.Tidy(t.Context(), nil, false); err != nil {
				t.Error(err)
			}
			if mustRead(t, path) != text {
				t.Errorf("%q and a head of %d: the output is changed", info, head)
			}
		}
	}
}

// The mark of another stream's ring is output, though this one's info.json tells of a gap behind the
// same head: of a job that has printed a stored file.
func TestMarkOfAnotherStream(t *testing.T) {
	for _, mark := range []string{
		printedMark(named(1), 2, 1000, 9_000_000, 8192),
		printedMark(named(2), 1, 1000, 9_000_000, 8192),
		strings.Replace(printedMark(named(1), 1, 1000, 9_000_000, 8192), "stdout", "stderr", 1),
	} {
		text := strings.Repeat("important\n", 800) + strings.Repeat("x", 192) + mark
		d := stateDir{t, t.TempDir()}
		path := d.put(named(1), 1, "stdout.txt", text)
		d.put(named(1), 1, "info.json", "1 running stdout 9000000 [{0 1000} {8999000 9000000}]")
		p := d.past(io.Discard)
		d.checkFound(p, named(1), 1, []byte(text), false)
		if _, err := p.Tidy(t.Context(), nil, false); err != nil {
			t.Error(err)
		}
		if mustRead(t, path) != text {
			t.Errorf("%q: the output is changed", mark)
		}
	}
}

// A server has written down that a file is a ring before anybody can read that in it, whatever else
// it writes down of the job meanwhile.
func TestRingIsWrittenDown(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	p := persistIn(d.dir)
	p.Session = named(2)
	isMarked := func(folder string) bool {
		b, err := os.ReadFile(filepath.Join(folder, "stdout.txt"))
		return err == nil && bytes.HasSuffix(b, []byte("]\n")) && bytes.Contains(b, []byte("that goes on: head "))
	}
	p.Encode = func(i Info) ([]byte, error) {
		if isMarked(i.OutputDirectory) {
			if b, err := os.ReadFile(filepath.Join(i.OutputDirectory, "info.json")); err != nil || !bytes.Contains(b, []byte("} {")) {
				t.Errorf("it is marked, and written down is %q, %v", b, err)
			}
		}
		return encodeForTest(i)
	}
	m := startReal(t, Options{Limits: Limits{SpoolDisk: 100_000}, Persist: p})
	s := sh("i=100000; while [ $i -lt 150000 ]; do echo $i; i=$((i+1)); done; echo end; read x")
	s.Mode, s.OpenStdin = ModePipe, true
	j := mustStart(t, m, s)
	await(t, j, pattern("\nend\n"))
	var all []byte
	for i := range 50_000 {
		all = fmt.Appendln(all, 100_000+i)
	}
	all = append(all, "end\n"...)
	past := d.past(io.Discard)
	d.checkFound(past, named(2), int(j.id), all, true)
	for _, name := range []string{"info.json", "stdout.txt"} { // as if it were killed now
		text := mustRead(t, filepath.Join(d.dir, named(2), fmt.Sprint(j.id), name))
		d.put(named(1), int(j.id), name, strings.ReplaceAll(text, named(2), named(1)))
	}
	d.checkFound(past, named(1), int(j.id), all, true)
	if r, err := past.Tidy(t.Context(), nil, false); err != nil || r.Lost != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	d.checkFound(past, named(1), int(j.id), all, true)
	if text := mustRead(t, filepath.Join(d.dir, named(1), fmt.Sprint(j.id), "stdout.txt")); strings.Count(text, "[shelld: ") != 1 || !strings.HasSuffix(text, "\n149999\nend\n") {
		t.Errorf("it is finished with %q at its end", text[max(len(text)-200, 0):])
	}
}

// A file that its server could not put in order at the end, for want of room, is put in order by the
// next that looks, with all that is final of it.
func TestRingThatStayed(t *testing.T) {
	d := stateDir{t, t.TempDir()}
	path, all := d.ring(named(1), 1)
	const room = 210_000
	want := []Range{{From: 0, To: 10_000}, {From: int64(len(all)) - room + 10_000, To: int64(len(all))}}
	final := fmt.Sprintf("1 closed stdout %d %v", len(all), want)
	d.put(named(1), 1, "info.json", final)
	p := d.past(io.Discard)
	for _, when := range []string{"when it is looked at", "when it is finished"} {
		d.checkFound(p, named(1), 1, all, true)
		o, err := p.Output(PastJob{Session: named(1), Handle: 1}, "stdout.txt")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(o.Kept, want) {
			t.Errorf("%s: kept %v, not %v", when, o.Kept, want)
		}
		_ = o.Close() // It was only read.
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
