//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"shelld.dev/shelld/internal/safedir"
)

// stranger is the uid of a user who is neither this user nor root.
const stranger = 12345

// A shared is a directory such as /tmp, with a directory outside of it in which nothing must be created.
type shared struct {
	t            *testing.T
	dir, outside string
}

func newShared(t *testing.T) *shared {
	if os.Geteuid() != 0 {
		t.Skip("only root can play another user")
	}
	s := &shared{t, filepath.Join(t.TempDir(), "tmp"), t.TempDir()}
	s.mkdir(s.dir, 0o777|fs.ModeSticky)
	s.give(s.outside)
	return s
}

func (s *shared) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shared) mkdir(path string, mode fs.FileMode) {
	s.t.Helper()
	s.ok(os.Mkdir(path, 0o700))
	s.ok(os.Chmod(path, mode))
}

// give changes the owner of a file to stranger.
func (s *shared) give(path string) {
	s.t.Helper()
	s.ok(os.Lchown(path, stranger, stranger))
}

func TestSharedPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		make  func(s *shared, state string) // creates the files that exist before
		below string                        // path below state of the directory for sessions
		want  string                        // the error; "": none
		at    string                        // the path in the shared directory that the error names
	}{
		"nothing":                 {},
		"nothing, and more below": {below: "shelld/io"},
		"a directory of another":  {make: func(s *shared, p string) { s.mkdir(p, 0o777); s.give(p) }, want: "another user"},
		"one of another above": {
			make: func(s *shared, p string) { s.mkdir(p, 0o755); s.mkdir(p+"/shelld", 0o700); s.give(p) }, below: "shelld", want: "another user",
		},
		"a sticky one of another": {make: func(s *shared, p string) { s.mkdir(p, 0o777|fs.ModeSticky); s.give(p) }, want: "another user"},
		"a link of another":       {make: func(s *shared, p string) { s.ok(os.Symlink(s.outside, p)); s.give(p) }, want: "another user"},
		"a link of another to a place of ours": {
			make: func(s *shared, p string) { s.mkdir(s.dir+"/ours", 0o700); s.ok(os.Symlink("ours", p)); s.give(p) }, want: "another user",
		},
		"a link of another to nothing": {make: func(s *shared, p string) { s.ok(os.Symlink(s.outside+"/new", p)); s.give(p) }, want: "another user"},
		"a link of ours to another's":  {make: func(s *shared, p string) { s.ok(os.Symlink(s.outside, p)) }, want: "another user", at: "-outside"},
		"a FIFO of another":            {make: func(s *shared, p string) { s.ok(syscall.Mkfifo(p, 0o666)); s.give(p) }, want: "not a directory"},
		"a file of another":            {make: func(s *shared, p string) { s.ok(os.WriteFile(p, nil, 0o666)); s.give(p) }, want: "not a directory"},
		"a file of ours above":         {make: func(s *shared, p string) { s.ok(os.WriteFile(p, nil, 0o600)) }, below: "shelld", want: "not a directory"},
		"a world-writable directory":   {make: func(s *shared, p string) { s.mkdir(p, 0o777) }, want: "any user may rename"},
		"such a one above": {
			make: func(s *shared, p string) { s.mkdir(p, 0o777); s.mkdir(p+"/shelld", 0o700) }, below: "shelld", want: "any user may rename",
		},
		"links in a circle":       {make: func(s *shared, p string) { s.ok(os.Symlink(p, p)) }, want: "too many levels"},
		"one of ours":             {make: func(s *shared, p string) { s.mkdir(p, 0o700) }},
		"one that others may see": {make: func(s *shared, p string) { s.mkdir(p, 0o755) }},
		"one of our group":        {make: func(s *shared, p string) { s.mkdir(p, 0o775) }, below: "shelld"},
		"one like /tmp":           {make: func(s *shared, p string) { s.mkdir(p, 0o777|fs.ModeSticky) }},
		"a link of ours":          {make: func(s *shared, p string) { s.mkdir(s.dir+"/ours", 0o700); s.ok(os.Symlink("ours", p)) }, below: "shelld"},
		"a link of ours to nothing": {
			make: func(s *shared, p string) { s.ok(os.Symlink(s.dir+"/./ours/../new/", p)); s.mkdir(s.dir+"/ours", 0o700) }, below: "shelld",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t)
			state := s.dir + "/state"
			if c.make != nil {
				c.make(s, state)
			}
			checked := safedir.Check(filepath.Join(state, c.below))
			session, err := Open(filepath.Join(state, c.below), "session")
			if fmt.Sprint(checked) != fmt.Sprint(err) {
				t.Errorf("the check beforehand says %v, and then it is %v", checked, err)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err == nil {
				s.private(session, filepath.Join(state, c.below, "session"))
				s.ok(session.Close())
			} else if p, ok := errors.AsType[*fs.PathError](err); !ok || !strings.HasPrefix(p.Path, state) && c.at == "" {
				t.Errorf("%v does not name what is wrong", err)
			}
			if entries, err := os.ReadDir(s.outside); err != nil || len(entries) > 0 {
				t.Errorf("outside there are %v, %v", entries, err)
			}
		})
	}
}

// private checks that a session is at its reported path, and that its directory belongs to this user alone.
func (s *shared) private(session *Session, path string) {
	s.t.Helper()
	real, err := filepath.EvalSymlinks(session.Path())
	if session.Path() != path || err != nil || !strings.HasPrefix(real, s.dir+"/") {
		s.t.Errorf("the session is %s, which is %s, %v; want %s", session.Path(), real, err, path)
	}
	folder := session.Folder("1")
	s.ok(folder.Replace("info.json", nil))
	s.isOurs(path)
	s.ok(folder.Remove("info.json"))
}

// isOurs checks that a session's directory belongs to this user, and that no one else has access.
func (s *shared) isOurs(path string) {
	s.t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeDir|0o700 || !safedir.Ours(info) {
		s.t.Errorf("the session's directory %s is %v, %v", path, info, err)
	}
}

// If another user keeps creating the directory first, Open either refuses it, or creates a session of this user at the
// reported path.
func TestRaceForAPlace(t *testing.T) {
	s := newShared(t)
	name, link := s.dir+"/state", s.dir+"/link"
	s.ok(os.Symlink(s.outside, link))
	s.give(link)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			// The other user may create a link if nothing is there, and remove that link.
			if os.Link(link, name) == nil {
				_ = os.Remove(name)
			}
		}
	})
	for i := range 300 {
		session, err := Open(name, fmt.Sprint(i))
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(session.Path())
		if err != nil || real != session.Path() {
			t.Errorf("the session %s is %s, %v", session.Path(), real, err)
		}
		s.ok(session.Close())
		s.ok(os.Remove(name))
	}
	close(stop)
	wg.Wait()
	if entries, err := os.ReadDir(s.outside); err != nil || len(entries) > 0 {
		t.Errorf("outside there are %v, %v", entries, err)
	}
}

// safedir.Make resolves the parts of a path as the kernel does.
func TestWay(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(base+"/a/b", 0o700); err != nil {
		t.Fatal(err)
	}
	link(t, "a/b", base+"/link")
	for path, want := range map[string]string{
		"/link/../new": "/a/new", "/link": "/a/b", "/./a//b/.": "/a/b", "/link/c/d": "/a/b/c/d", "/a/../../" + filepath.Base(base): "",
	} {
		if got, err := safedir.Make(base+path, false); got != base+want || err != nil {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "/a"} {
		if s, err := Open(base, name); err == nil {
			t.Errorf("a session of the name %q: %s", name, s.Path())
		}
	}
	if fds := countFDs(t, base); fds != 0 {
		t.Errorf("%d descriptors are left", fds)
	}
}

// countFDs returns the number of descriptors that lead into a directory, or 0 if the system does not report them.
func countFDs(t *testing.T, dir string) (n int) {
	entries, _ := os.ReadDir("/proc/self/fd") // After an error there are no entries.
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}
