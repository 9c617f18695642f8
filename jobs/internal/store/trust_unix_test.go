//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"shelld.dev/shelld/internal/safedir"
)

// A ".." behind a symlink is the parent of the directory that the link leads to. The files are created there, and that
// directory is reported and checked.
func TestParentOfALink(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(base+"/a/b", 0o700); err != nil {
		t.Fatal(err)
	}
	link(t, "a/b", base+"/link")
	for path, want := range map[string]string{
		"/link/../state": "/a/state", "/a/b/..": "/a", "/link/state": "/link/state", "/./a//state/": "/a/state",
	} {
		s, err := Open(base+path, "session")
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if s.State() != base+want || s.Path() != base+want+"/session" {
			t.Errorf("%s: told are %s and %s, want %s", path, s.State(), s.Path(), base+want)
		}
		f := s.Folder("1")
		file, err := f.Create("stdout.txt")
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = file.Close() // Nothing was written.
		if _, err := os.Stat(filepath.Join(f.Path(), "stdout.txt")); err != nil {
			t.Errorf("%s: where the file is told to be: %v", path, err)
		}
		if err := errors.Join(f.Remove("stdout.txt"), s.Close()); err != nil {
			t.Error(err)
		}
		p, err := OpenPast(base + path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if info, err := os.Stat(p.Dir()); err != nil || p.Dir() != filepath.Clean(p.Dir()) {
			t.Errorf("%s: what is left is told to be in %s: %v, %v", path, p.Dir(), info, err)
		}
		_ = p.Close() // Nothing was written in it.
	}
}

// OpenTrusting trusts users who can change the way. The session's own directory still belongs to this user alone.
func TestTrustedWay(t *testing.T) {
	s := newShared(t)
	s.mkdir(s.dir+"/foreign", 0o755)
	s.give(s.dir + "/foreign")
	s.mkdir(s.dir+"/open", 0o777)
	s.ok(os.Symlink(s.outside, s.dir+"/link"))
	s.give(s.dir + "/link")
	for _, name := range []string{"foreign", "foreign/state", "open", "open/state", "link/state"} {
		path := s.dir + "/" + name
		_, err := Open(path, "session")
		if err == nil || !safedir.IsUnsafe(err) {
			t.Errorf("%s: not trusted, %v", name, err)
		}
		session, err := OpenTrusting(path, "session")
		s.ok(err)
		s.isOurs(path + "/session")
		s.ok(session.Folder("1").Replace("info.json", nil))
		s.ok(session.Folder("2").Replace("info.json", nil))
		if _, err := OpenTrusting(path, "session"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: a name that is taken: %v", name, err)
		}
		s.ok(session.Close())
	}
	s.ok(os.WriteFile(s.dir+"/file", nil, 0o600))
	if _, err := OpenTrusting(s.dir+"/file", "session"); err == nil || safedir.IsUnsafe(err) {
		t.Errorf("a file: %v", err)
	}
}
