// Package storedtest supports tests of stored output. It fills a state directory with the files of dead servers, and
// reads the info.json files that it writes.
package storedtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/stored"
)

// A Reader reads an info.json that is a line of text: the handle, the status, and of each stream its name, offset and
// ranges.
type Reader struct{}

// Closed implements [stored.InfoReader].
func (Reader) Closed(info []byte) bool { return bytes.Contains(info, []byte(" closed")) }

// Finish implements [stored.InfoReader]. It refuses a text with the word bad.
func (Reader) Finish(info []byte, l stored.Leftover) ([]byte, error) {
	if bytes.Contains(info, []byte("bad")) {
		return nil, errors.New("it cannot be understood")
	}
	return fmt.Appendf(nil, "%d closed lost %v", l.Handle, l.Files), nil
}

// A Dir is a state directory in which a test puts the files of dead servers.
type Dir struct {
	testing.TB
	Path string
}

// Put writes a file of a job of a dead server, and returns its path.
func (d Dir) Put(session string, id int, name, content string) string {
	d.Helper()
	folder := filepath.Join(d.Path, session, fmt.Sprint(id))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		d.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(folder, name): content, filepath.Join(d.Path, session, "lock"): ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			d.Fatal(err)
		}
	}
	return filepath.Join(folder, name)
}

// Job writes the files of a job that was closed some days ago, size bytes in all.
func (d Dir) Job(session string, id, size, days int) {
	d.Helper()
	info := d.Put(session, id, "info.json", fmt.Sprint(id, " closed"))
	d.Put(session, id, "stdout.txt", strings.Repeat("x", size-len(fmt.Sprint(id, " closed"))))
	at := time.Now().Add(-time.Duration(days)*24*time.Hour - time.Duration(1000-id)*time.Second)
	if err := os.Chtimes(info, at, at); err != nil {
		d.Fatal(err)
	}
}

// Left returns the jobs that have an info.json, as session/job.
func (d Dir) Left() (all []string) {
	d.Helper()
	paths, err := filepath.Glob(filepath.Join(d.Path, "*", "*", "info.json"))
	if err != nil {
		d.Fatal(err)
	}
	for _, p := range paths {
		rel, _ := filepath.Rel(d.Path, filepath.Dir(p))
		all = append(all, filepath.ToSlash(rel[len("20260101T000000Z-000000000000000"):]))
	}
	return all
}

// Open opens the directory for the duration of the test.
func (d Dir) Open(log io.Writer) *stored.Directory {
	d.Helper()
	p, err := stored.Open(d.Path, Reader{}, slog.New(slog.NewTextHandler(log, nil)))
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

// Session returns the name of the n-th session, n below 10.
func Session(n int) string { return fmt.Sprintf("20260101T00000%dZ-000000000000000%d", n, n) }

var storedStream = regexp.MustCompile(`(stdout|stderr|pty)(?:\.txt)?(?: |:\{)(\d+) \[([^\]]*)\]`)

// Files implements [stored.InfoReader].
func (Reader) Files(info []byte) map[string]stored.File {
	var all map[string]stored.File
	for _, m := range storedStream.FindAllStringSubmatch(string(info), -1) {
		if all == nil {
			all = map[string]stored.File{}
		}
		var f stored.File
		f.NextOffset, _ = strconv.ParseInt(m[2], 10, 64)
		for text := m[3]; text != ""; {
			var r spool.Range
			if n, _ := fmt.Sscanf(text, "{%d %d}", &r.From, &r.To); n != 2 {
				break
			}
			f.Kept = append(f.Kept, r)
			_, text, _ = strings.Cut(text, "} ")
		}
		all[fileOf(m[1])] = f
	}
	return all
}

// Ring writes the files of a job. Its server was killed after some of its output had been dropped. Ring returns the
// path of the output file and all output.
func (d Dir) Ring(session string, id int) (path string, all []byte) {
	d.Helper()
	d.Put(session, id, "info.json", fmt.Sprint(id, " running stdout 5 [{0 5}]"))
	path = filepath.Join(d.Path, session, fmt.Sprint(id), "stdout.txt")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		d.Fatal(err)
	}
	var s *spool.Spool
	s = spool.Open(spool.Options{
		Memory: 1 << 10, File: file, DiskHead: 10_000, DiskTail: 200_000,
		Tag: stored.Tag(session, int64(id), "stdout.txt"),
		Wraps: func() error {
			kept, end := s.Placed()
			d.Put(session, id, "info.json", fmt.Sprintf("%d running stdout %d %v", id, end, kept))
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

// CheckFound checks that p finds the output all in the file of a job: complete or, with gap, in two ranges.
func (d Dir) CheckFound(p *stored.Directory, session string, id int, all []byte, gap bool) {
	d.Helper()
	o, err := p.Output(stored.Job{Session: session, Handle: int64(id)}, "stdout.txt")
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

func fileOf(stream string) string {
	if stream == "stderr" {
		return stored.StderrFile
	}
	return stored.StdoutFile
}

// CheckFolder checks the names of the files in a job's folder, and that only the owner has access to the files, the
// folder and the folder's parent.
func CheckFolder(t testing.TB, folder string, want []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("the directory holds %v, not %v", names, want)
	}
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o700 || !info.IsDir() {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}
