package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func open(t *testing.T) *Session {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "state", "io"), "session")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // Most tests have closed it.
	return s
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err) // Some systems allow it only for some users.
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestNamesAndModes(t *testing.T) {
	s := open(t)
	f := s.Folder("7")
	if exists(f.Path()) {
		t.Error("the folder is there before anything is in it")
	}
	file, err := f.Create("stdout.txt")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(s.Path(), "7", "stdout.txt"); file.Name() != want {
		t.Errorf("the file is called %s, not %s", file.Name(), want)
	}
	if _, err := file.WriteString("text"); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"first", "second"} {
		if err := f.Replace("info.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, filepath.Join(f.Path(), "info.json")); got != text {
			t.Errorf("info.json is %q", got)
		}
	}
	for path, want := range map[string]fs.FileMode{
		filepath.Dir(s.Path()): 0o700, s.Path(): 0o700, f.Path(): 0o700, file.Name(): 0o600, filepath.Join(f.Path(), "info.json"): 0o600,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s: mode %o, not %o", path, info.Mode().Perm(), want)
		}
	}
	entries, err := os.ReadDir(f.Path())
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// A name that is taken, by whatever kind of file, is not used. The error has its full path.
func TestTakenNames(t *testing.T) {
	outside := t.TempDir()
	target := filepath.Join(outside, "target")
	write(t, target, "precious")
	for name, take := range map[string]func(t *testing.T, path string){
		"a link to a directory": func(t *testing.T, path string) { link(t, outside, path) },
		"a link to a file":      func(t *testing.T, path string) { link(t, target, path) },
		"a link to nothing":     func(t *testing.T, path string) { link(t, filepath.Join(outside, "nothing"), path) },
		"a file":                func(t *testing.T, path string) { write(t, path, "") },
		"a directory": func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			take(t, filepath.Join(state, "session"))
			if s, err := Open(state, "session"); err == nil {
				t.Errorf("the session is %s", s.Path())
			}
			s := open(t)
			f := s.Folder("1")
			take(t, f.Path())
			refusedAt(t, f.Path())(f.Create("stdout.txt"))
			f = s.Folder("2")
			if err := f.Replace("info.json", nil); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(f.Path(), "stdout.txt")
			take(t, file)
			refusedAt(t, file)(f.Create("stdout.txt"))
		})
	}
	if entries, err := os.ReadDir(outside); len(entries) != 1 || content(t, target) != "precious" {
		t.Errorf("outside there are %v now, %v", entries, err)
	}
}

func refusedAt(t *testing.T, path string) func(*os.File, error) {
	t.Helper()
	return func(f *os.File, err error) {
		t.Helper()
		p, ok := errors.AsType[*fs.PathError](err)
		if f != nil || !ok || p.Path != path {
			t.Errorf("%v, which does not name %s", err, path)
		}
	}
}

// If there is a link at the path of the file, Replace replaces the link itself.
func TestReplaceFollowsNoLink(t *testing.T) {
	s := open(t)
	f := s.Folder("1")
	if err := f.Replace("info.json", []byte("old")); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "target")
	write(t, target, "precious")
	info := filepath.Join(f.Path(), "info.json")
	if err := os.Remove(info); err != nil {
		t.Fatal(err)
	}
	link(t, target, info)
	if err := f.Replace("info.json", []byte("new")); err != nil {
		t.Error(err)
	}
	if got := content(t, target); got != "precious" {
		t.Errorf("the link was followed: %q", got)
	}
	if got, err := os.Lstat(info); err != nil || !got.Mode().IsRegular() || content(t, info) != "new" {
		t.Errorf("info.json: %v, %v", got.Mode(), err)
	}
	link(t, target, info+fresh)
	if err := f.Replace("info.json", []byte("newer")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link where the new one is written: %v", err)
	}
	if got := content(t, target); got != "precious" {
		t.Errorf("the link was followed: %q", got)
	}
}

// Another process replaces a directory of the session.
func TestSwappedDirectories(t *testing.T) {
	s := open(t)
	outside := t.TempDir()
	f := s.Folder("1")
	if err := f.Replace("info.json", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(f.Path(), f.Path()+"-moved"); err != nil {
		t.Fatal(err)
	}
	for _, put := range []func() error{
		func() error { return os.Symlink(outside, f.Path()) },
		func() error { return os.Symlink("1-moved", f.Path()) },
		func() error { return os.Mkdir(f.Path(), 0o700) },
	} {
		if err := put(); err != nil {
			t.Skip(err)
		}
		// If a link within the session leads to the moved directory, that is still the one that was created.
		_, err := f.Create("stdout.txt")
		if _, lerr := os.Readlink(f.Path()); err == nil && lerr != nil {
			t.Error("a file was made in another directory")
		}
		if err := os.Remove(f.Path()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(s.Path(), s.Path()+"-moved"); err != nil {
		t.Fatal(err)
	}
	link(t, outside, s.Path())
	if _, err := s.Folder("2").Create("stdout.txt"); err != nil {
		t.Errorf("in the session that was moved: %v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside there are %v, %v", entries, err)
	}
	if err := s.Close(); err != nil || !exists(s.Path()) {
		t.Errorf("closed: %v; the link is there: %v", err, exists(s.Path()))
	}
}

func TestRemove(t *testing.T) {
	s := open(t)
	if err := s.Folder("1").Remove("info.json"); err != nil {
		t.Errorf("a folder that was never made: %v", err)
	}
	f := s.Folder("2")
	if err := f.Replace("info.json", nil); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.Path(), "mine"), "")
	if err := f.Remove("info.json"); err != nil || !exists(f.Path()) || exists(filepath.Join(f.Path(), "info.json")) {
		t.Errorf("%v; a stranger's file must stay, and ours go", err)
	}
	if err := os.Remove(filepath.Join(f.Path(), "mine")); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove("info.json"); err != nil || exists(f.Path()) {
		t.Errorf("%v; the empty folder is there: %v", err, exists(f.Path()))
	}
	if err := f.Remove("info.json"); err != nil {
		t.Errorf("a folder that is gone: %v", err)
	}
	if err := s.Close(); err != nil || exists(s.Path()) {
		t.Errorf("%v; the empty session is there: %v", err, exists(s.Path()))
	}
}

func TestCloseKeepsWhatIsThere(t *testing.T) {
	s := open(t)
	f := s.Folder("1")
	if err := f.Replace("info.json", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || !exists(filepath.Join(f.Path(), "info.json")) {
		t.Errorf("%v", err)
	}
}

func TestNoPlaceForASession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for _, state := range []string{file, filepath.Join(file, "below")} {
		if _, err := Open(state, "session"); err == nil {
			t.Errorf("a session in %s", state)
		}
	}
}

func TestPlace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the places of Linux")
	}
	for _, c := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/shelld/io"},
		{"", "/h", "/h/.local/state/shelld/io"},
		{"relative", "/h", "/h/.local/state/shelld/io"},
		{"", "", ""},
		{"", "relative", ""},
	} {
		t.Setenv("XDG_STATE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		got, err := Place()
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
