package jobs

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/storedtest"
	"shelld.dev/shelld/jobs/stored"
)

// These tests are about the files that a server leaves to later ones (package stored), and about what it does with the
// files of earlier ones.

// Tidy never touches the files of a living server, nor foreign files.
func TestTidyTouchesNoOther(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	live := &Persist{Directory: d.Path, Session: storedtest.Session(9), Encode: encodeForTest}
	a, _, err := openArchive(live, Limits{}.withDefaults(true), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d.Put(storedtest.Session(9), 1, "info.json", "1 running")
	if err := os.MkdirAll(filepath.Join(d.Path, "mine", "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.Put(storedtest.Session(1), 1, "info.json", "1 running")
	foreign := d.Put(storedtest.Session(1), 1, "notes", "precious")
	d.Job(storedtest.Session(2), 1, 100, 1)
	var log bytes.Buffer
	p := d.Open(&log)
	r, err := p.Tidy(t.Context(), &stored.Retention{}, false)
	if want := (stored.TidyReport{Lost: 1, Deleted: 1, Freed: 100, Kept: 1, Failed: 1}); err != nil || r != want {
		t.Errorf("%+v, want %+v; %v", r, want, err)
	}
	if got := d.Left(); !slices.Equal(got, []string{"1/1", "9/1"}) || mustRead(t, foreign) != "precious" {
		t.Errorf("left are %v", got)
	}
	if !strings.Contains(log.String(), "shelld did not create notes") {
		t.Errorf("the log says %s", &log)
	}
	if got := mustRead(t, filepath.Join(d.Path, storedtest.Session(9), "1", "info.json")); got != "1 running" {
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

// The files of a server with Temporary are deleted when it is dead, however young they are.
func TestTemporarySessions(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	for _, killed := range []bool{false, true} {
		p := &Persist{Directory: d.Path, Session: storedtest.Session(1), Encode: encodeForTest, Temporary: true}
		a, _, err := openArchive(p, Limits{}.withDefaults(true), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		lock := mustRead(t, filepath.Join(d.Path, storedtest.Session(1), "lock"))
		d.Put(storedtest.Session(1), 1, "info.json", "1 running")
		if err := os.WriteFile(filepath.Join(d.Path, storedtest.Session(1), "lock"), []byte(lock), 0o600); err != nil {
			t.Fatal(err)
		}
		if killed {
			a.scratch = false // A killed server does not delete its files. Its lock is released as at its death.
		}
		if !a.close() {
			t.Error("the server does not end")
		}
		if got := isThere(filepath.Join(d.Path, storedtest.Session(1))); got != killed {
			t.Errorf("killed %v: its directory is there: %v", killed, got)
		}
	}
	if r, err := d.Open(io.Discard).Tidy(t.Context(), &stored.DefaultRetention, false); err != nil || r.Deleted != 1 || isThere(filepath.Join(d.Path, storedtest.Session(1))) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A server tidies the directory when it begins, and does not end before it has closed it.
func TestServerTidiesDirectory(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	d.Put(storedtest.Session(1), 1, "info.json", "1 running")
	d.Job(storedtest.Session(1), 2, 100, 20)
	d.Job(storedtest.Session(1), 3, 100, 1)
	p := &Persist{Directory: d.Path, Session: storedtest.Session(2), Encode: encodeForTest, Reader: storedtest.Reader{}}
	a, _, err := openArchive(p, Limits{}.withDefaults(true), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	<-a.tidied
	if got := d.Left(); !slices.Equal(got, []string{"1/1", "1/3"}) {
		t.Errorf("left are %v", got)
	}
	if got := mustRead(t, filepath.Join(d.Path, storedtest.Session(1), "1", "info.json")); got != "1 closed lost map[]" {
		t.Errorf("info.json is %q", got)
	}
	if !a.close() {
		t.Error("the server does not end")
	}
	if open := ownFiles(t, d.Path); open != nil {
		t.Errorf("still open: %v", open)
	}
}

// If a server is killed after it has put a file in order, and before it has written the final info.json, the gap of the
// file is known.
func TestGapOfKilledServer(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	left := map[string]string{} // the files at the time when they are in order and the final info.json is not written
	p := persistIn(filepath.Join(d.Path, "state"))
	p.Encode = func(i Info) ([]byte, error) {
		folder := i.OutputDirectory
		if i.Status == StatusClosed && isThere(filepath.Join(folder, "stderr.txt")) {
			for _, name := range []string{"info.json", "stdout.txt", "stderr.txt"} {
				if b, err := os.ReadFile(filepath.Join(folder, name)); err == nil { // There may be no info.json yet.
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
		kept[files[st.Name]] = j.output.stream(st.Name).spool.Stored()
	}
	if left["stdout.txt"] == "" || left["stderr.txt"] == "" || strings.Contains(left["info.json"], " closed ") {
		t.Fatalf("left are %d files, and of the job %q", len(left), left["info.json"])
	}
	for name, text := range left {
		d.Put(storedtest.Session(1), 1, name, text)
	}
	past := d.Open(io.Discard)
	for _, when := range []string{"when it is looked at", "when it is finished"} {
		for name, want := range kept {
			o, err := past.Output(stored.Job{Session: storedtest.Session(1), Handle: 1}, name)
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

// A server records in info.json that a file is a ring before the file has a mark, whatever else it records meanwhile.
func TestRingIsRecorded(t *testing.T) {
	d := storedtest.Dir{TB: t, Path: t.TempDir()}
	p := persistIn(d.Path)
	p.Session = storedtest.Session(2)
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
	past := d.Open(io.Discard)
	d.CheckFound(past, storedtest.Session(2), int(j.id), all, true)
	for _, name := range []string{"info.json", "stdout.txt"} { // as if the server were killed now
		text := mustRead(t, filepath.Join(d.Path, storedtest.Session(2), fmt.Sprint(j.id), name))
		d.Put(storedtest.Session(1), int(j.id), name, strings.ReplaceAll(text, storedtest.Session(2), storedtest.Session(1)))
	}
	d.CheckFound(past, storedtest.Session(1), int(j.id), all, true)
	if r, err := past.Tidy(t.Context(), nil, false); err != nil || r.Lost != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	d.CheckFound(past, storedtest.Session(1), int(j.id), all, true)
	if text := mustRead(t, filepath.Join(d.Path, storedtest.Session(1), fmt.Sprint(j.id), "stdout.txt")); strings.Count(text, "[shelld: ") != 1 || !strings.HasSuffix(text, "\n149999\nend\n") {
		t.Errorf("it is finished with %q at its end", text[max(len(text)-200, 0):])
	}
}
