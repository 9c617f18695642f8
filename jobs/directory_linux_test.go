package jobs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A yard has a directory in which jobs may start, and one in which they may not.
type yard struct {
	t       *testing.T
	in, out string
}

func newYard(t *testing.T) *yard {
	y := &yard{t, t.TempDir(), t.TempDir()}
	for _, dir := range []string{y.in + "/sub/deep", y.out + "/deep"} {
		y.ok(os.MkdirAll(dir, 0o755))
	}
	return y
}

func (y *yard) ok(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatal(err)
	}
}

// link replaces whatever is at a path by a symlink.
func (y *yard) link(name, to string) {
	y.t.Helper()
	y.ok(os.RemoveAll(name))
	y.ok(os.Symlink(to, name))
}

func (y *yard) start(o Options) *Manager {
	y.t.Helper()
	o.Root, o.AllowedDirs = y.in, []string{y.in}
	return startReal(y.t, o)
}

// where starts a job that prints its directory, the value of PWD, and its open files except for the standard
// descriptors.
func where(t *testing.T, m *Manager, s Spec) (real, pwd, fds string) {
	t.Helper()
	s.Argv = []string{"sh", "-c", `/bin/pwd -P; echo "$PWD"; for n in 3 4 5 6 7 8 9 10 11 12 13 14 15; do readlink /proc/self/fd/$n; done`}
	out := printed(t, m, s)
	lines := strings.SplitN(out, "\n", 3)
	if len(lines) != 3 {
		t.Fatalf("the job says %q", out)
	}
	return lines[0], lines[1], lines[2]
}

// starters are the ways in which a program can be started in its directory.
var starters = map[string]struct {
	o      Options
	limits JobLimits
}{
	"keeper":         {},
	"limiter":        {limits: JobLimits{OpenFiles: 64}},
	"without keeper": {o: Options{WithoutKeepers: true}},
}

// If the directory at a path is replaced between the check and the start, the job still starts in the one that was
// checked. The job does not inherit a descriptor of it, and the server keeps none.
func TestDirectoryIsSwappedBeforeTheStart(t *testing.T) {
	for name, way := range starters {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			m := y.start(way.o)
			name := y.in + "/name"
			for what, swap := range map[string]func(){
				"a link":        func() { y.link(name, y.out) },
				"nothing":       func() { y.ok(os.RemoveAll(name)) },
				"a file":        func() { y.ok(os.RemoveAll(name)); y.ok(os.WriteFile(name, nil, 0o600)) },
				"one elsewhere": func() { y.link(name, "/") },
			} {
				y.link(name, y.in+"/sub")
				m.system.plan = func(s *Spec) (plan, *Error) {
					p, err := m.resolve(s)
					swap()
					return p, err
				}
				real, pwd, fds := where(t, m, Spec{Cwd: "name", Limits: way.limits})
				if real != y.in+"/sub" || pwd != real {
					t.Errorf("%s: the job is in %s, and PWD says %s", what, real, pwd)
				}
				if fds != "" {
					t.Errorf("%s: the job has the descriptors %s", what, fds)
				}
			}
			if held := heldBelow(t, y.in); len(held) != 1 || held[0] != y.in {
				t.Errorf("after the starts the server holds %v, which should be the allowed directory alone", held)
			}
		})
	}
}

// heldBelow returns the files below a directory that this process has open.
func heldBelow(t *testing.T, dir string) (held []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			held = append(held, to)
		}
	}
	return held
}

// A refused start closes its directory too, at whatever step it is refused.
func TestRefusedStartsHoldNoDirectory(t *testing.T) {
	y := newYard(t)
	m := y.start(Options{Commands: CommandPolicy{Deny: []string{"rm"}}})
	for _, s := range []Spec{
		{Argv: []string{"no-such-program"}}, {Argv: []string{"rm"}}, {Command: new("true"), Shell: "no-such-shell"},
		{Argv: []string{"true"}, Mode: ModePipe, StdinFile: "missing"}, {Argv: []string{y.in}},
	} {
		s.Cwd = "sub"
		_, p, err := m.Start(s)
		if err != nil {
			continue // It was refused before the directory was opened.
		}
		if r := <-p.C; r.Err == nil {
			t.Errorf("%+v: it runs", s)
		}
	}
	if held := heldBelow(t, y.in); len(held) != 1 {
		t.Errorf("the server holds %v", held)
	}
}

func refuseCwd(t *testing.T, m *Manager, cwd string) *Error {
	t.Helper()
	_, p, err := m.Start(Spec{Argv: []string{"true"}, Mode: ModePipe, Cwd: cwd})
	if err != nil {
		return err
	}
	r := <-p.C
	e, _ := r.Err.(*Error)
	if e == nil {
		t.Errorf("cwd %.100q: it runs in %s", cwd, r.Value.Info.Cwd)
		return &Error{}
	}
	return e
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	y := newYard(t)
	y.link(y.in+"/out", y.out)
	y.link(y.out+"/back", y.in+"/sub/deep")
	y.link(y.in+"/loop", "loop")
	y.link(y.in+"/nowhere", "missing")
	y.link(y.in+"/cwd", "/proc/self/cwd")
	y.ok(os.WriteFile(y.in+"/file", nil, 0o600))
	y.ok(os.Mkdir(y.in+"/shut", 0))
	y.ok(unix.Mkfifo(y.in+"/fifo", 0o600))
	fd, err := unix.Open(y.in, unix.O_PATH|unix.O_CLOEXEC, 0)
	y.ok(err)
	defer unix.Close(fd)
	m := y.start(Options{})
	for _, c := range []struct {
		cwd   string
		code  Code
		errno string // the system's error in the message
	}{
		{"..", CodeDirectoryNotAllowed, ""},
		{"../" + filepath.Base(y.in) + "/../", CodeDirectoryNotAllowed, ""},
		{"out", CodeDirectoryNotAllowed, "which is " + y.out},
		{"out/deep", CodeDirectoryNotAllowed, y.out + "/deep"},
		{"sub/../../" + filepath.Base(y.out), CodeDirectoryNotAllowed, ""},
		// The spelling of these paths looks as if they led outside, and they lead inside, or the other way round.
		{"out/..", CodeDirectoryNotAllowed, ""},
		{y.in + "/out/deep/../..", CodeDirectoryNotAllowed, ""},
		{y.in + "x", CodeBadWorkingDirectory, "no such file or directory"},
		{y.in + "/../" + filepath.Base(y.in) + "x", CodeBadWorkingDirectory, "no such file or directory"},
		{"missing", CodeBadWorkingDirectory, "no such file or directory"},
		{"nowhere", CodeBadWorkingDirectory, "no such file or directory"},
		{"missing/..", CodeBadWorkingDirectory, "no such file or directory"},
		{"file", CodeBadWorkingDirectory, "not a directory"},
		{"file/..", CodeBadWorkingDirectory, "not a directory"},
		{"fifo", CodeBadWorkingDirectory, "not a directory"},
		{"loop", CodeBadWorkingDirectory, "too many levels of symbolic links"},
		{strings.Repeat("x", 256), CodeBadWorkingDirectory, "file name too long"},
		{strings.Repeat("x/", 2500), CodeBadWorkingDirectory, "file name too long"},
		{strings.Repeat("sub/../", 800), CodeBadWorkingDirectory, "file name too long"},
		{"/proc/self/cwd", CodeBadWorkingDirectory, "/proc"},
		{"cwd", CodeBadWorkingDirectory, "/proc"},
		{"/proc/self/root", CodeBadWorkingDirectory, "/proc"},
		{"/proc/self/root" + y.in, CodeBadWorkingDirectory, "/proc"},
		{fmt.Sprintf("/proc/self/fd/%d", fd), CodeBadWorkingDirectory, "/proc"},
		{fmt.Sprintf("/proc/%d/fd/%d/sub", os.Getpid(), fd), CodeBadWorkingDirectory, "/proc"},
		{fmt.Sprintf("/dev/fd/%d", fd), CodeBadWorkingDirectory, "/proc"},
		{"/proc/thread-self/cwd", CodeBadWorkingDirectory, "/proc"},
		{"/proc/self", CodeBadWorkingDirectory, "/proc"},
		{"/proc/self/task", CodeBadWorkingDirectory, "/proc"},
		{"/proc", CodeDirectoryNotAllowed, ""},
		{"\x00", CodeInvalidParams, "NUL"},
	} {
		e := refuseCwd(t, m, c.cwd)
		if e.Code != c.code || !strings.Contains(e.Message, c.errno) {
			t.Errorf("cwd %.100q: %v, want code %v with %q", c.cwd, e, c.code, c.errno)
		}
	}
	for cwd, real := range map[string]string{
		"": "", ".": "", "sub": "/sub", "sub/..": "", "sub/./deep/": "/sub/deep", y.in: "", "../" + filepath.Base(y.in): "",
		y.out + "/back": "/sub/deep", y.out + "/back/..": "/sub", "out/back/../..": "",
	} {
		if got, pwd, _ := where(t, m, Spec{Cwd: cwd}); got != y.in+real || pwd != got {
			t.Errorf("cwd %q: the job is in %s, and PWD says %s", cwd, got, pwd)
		}
	}
}

// If the kernel does not allow the job to enter its directory, the start fails with the kernel's error.
func TestDirectoryThatMayNotBeEntered(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may enter any directory; the test of escapes in cmd/shelld has another user")
	}
	y := newYard(t)
	y.ok(os.Mkdir(y.in+"/shut", 0))
	if e := refuseCwd(t, y.start(Options{}), "shut"); e.Code != CodeBadWorkingDirectory || e.Errno != "permission denied" {
		t.Error(e)
	}
}

// The allowed directories are those that existed at the beginning. A directory that replaces one of them at its path is
// not allowed.
func TestAllowedDirectoryIsSwapped(t *testing.T) {
	y := newYard(t)
	base := t.TempDir()
	name, moved := base+"/name", base+"/moved"
	y.ok(os.Mkdir(name, 0o755))
	m := startReal(t, Options{Root: "/", AllowedDirs: []string{name, y.in}})
	file := Spec{Argv: []string{"cat"}, Mode: ModePipe, StdinFile: name + "/text", Cwd: y.in}
	for what, swap := range map[string]func(){
		"a link to somewhere else": func() { y.ok(os.Symlink(y.out, name)) },
		"another directory":        func() { y.ok(os.Mkdir(name, 0o755)) },
		"nothing":                  func() {},
		"itself through a link":    func() { y.ok(os.Symlink(moved, name)) },
	} {
		y.ok(os.WriteFile(name+"/text", nil, 0o600))
		if got, _, _ := where(t, m, Spec{Cwd: name}); got != name {
			t.Fatalf("%s: the job is in %s", what, got)
		}
		awaitClosed(t, mustStart(t, m, file))
		y.ok(os.Rename(name, moved))
		swap()
		_ = os.WriteFile(name+"/text", nil, 0o600) // There may be no such directory.
		for _, cwd := range []string{name, moved} {
			if e := refuseCwd(t, m, cwd); e.Code != CodeDirectoryNotAllowed && e.Code != CodeBadWorkingDirectory {
				t.Errorf("%s, cwd %s: %v", what, cwd, e)
			} else if cwd == name && what == "another directory" && !strings.Contains(e.Message, "moved, removed or mounted over") {
				t.Errorf("%s: what has happened is not told: %v", what, e)
			}
		}
		_, p, err := m.Start(file)
		if err != nil {
			t.Fatal(err)
		}
		if r := <-p.C; r.Err == nil {
			t.Errorf("%s: the job is given the file %s", what, file.StdinFile)
		}
		y.ok(os.RemoveAll(name))
		y.ok(os.Rename(moved, name))
	}
}

// If an allowed directory cannot be opened, Configure returns the error.
func TestAllowedDirectoriesMustBeThere(t *testing.T) {
	y := newYard(t)
	y.ok(os.WriteFile(y.in+"/file", nil, 0o600))
	m := startReal(t, Options{})
	for _, dir := range []string{y.in + "/missing", y.in + "/file", "/proc/self/cwd"} {
		var e *Error
		if err := m.Configure(Options{AllowedDirs: []string{y.in, dir}}); !errors.As(err, &e) || e.Code != CodeBadWorkingDirectory || e.Path != dir {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if held := heldBelow(t, y.in); len(held) != 0 {
		t.Errorf("what was refused holds %v", held)
	}
}

// If directories are not restricted, PWD has the path of the start request, as in a shell, provided that this path
// leads to the job's directory.
func TestNameOfADirectory(t *testing.T) {
	y := newYard(t)
	y.link(y.in+"/link", y.in+"/sub/deep")
	m := startReal(t, Options{Root: y.in})
	for cwd, want := range map[string][2]string{
		"link":           {"/sub/deep", "/link"},
		"link/../deep/.": {"/sub/deep", "/sub/deep"}, // the shortened path would lead elsewhere
		"sub/../link":    {"/sub/deep", "/link"},
		"link/..":        {"/sub", "/sub"},
	} {
		real, pwd, _ := where(t, m, Spec{Cwd: cwd})
		if real != y.in+want[0] || pwd != y.in+want[1] {
			t.Errorf("cwd %s: the job is in %s, and PWD says %s", cwd, real, pwd)
		}
	}
	y.ok(os.WriteFile(y.in+"/sub/program", []byte("#!/bin/sh\necho sub\n"), 0o755))
	if out := printed(t, m, Spec{Argv: []string{"../program"}, Cwd: "link"}); out != "sub\n" {
		t.Errorf("../program is looked for by the name of the directory, not by its place: %q", out)
	}
}

// If the root directory was removed, jobs cannot start in it, since it has no path any more.
func TestRemovedRootDirectory(t *testing.T) {
	y := newYard(t)
	m := startReal(t, Options{Root: y.in + "/sub"})
	y.ok(os.RemoveAll(y.in + "/sub"))
	if e := refuseCwd(t, m, "."); e.Code != CodeBadWorkingDirectory || e.Errno != syscall.ENOENT.Error() {
		t.Error(e)
	}
}

// If the directory is replaced while a person is asked about a start, the start is refused: the answer counts only for
// the directory in the question.
func TestDirectoryIsSwappedDuringConfirmation(t *testing.T) {
	y := newYard(t)
	y.ok(os.Mkdir(y.in+"/other", 0o755))
	name := y.in + "/name"
	for to, want := range map[string]Code{y.in + "/sub": 0, y.in + "/other": CodeBadWorkingDirectory, y.out: CodeDirectoryNotAllowed} {
		y.link(name, y.in+"/sub")
		questions := make(chan *Question, 1)
		m := y.start(Options{Confirm: ConfirmPolicy{Start: VerdictAsk, Ask: func(q *Question) func() {
			questions <- q
			return func() {}
		}}})
		_, p, err := m.Start(Spec{Argv: []string{"true"}, Mode: ModePipe, Cwd: "name"})
		if err != nil {
			t.Fatal(err)
		}
		q := <-questions
		if q.Cwd != y.in+"/sub" {
			t.Errorf("asked about %s", q.Cwd)
		}
		y.link(name, to)
		q.Answer(AnswerOnce)
		r := <-p.C
		if e, _ := r.Err.(*Error); (e == nil) != (want == 0) || e != nil && e.Code != want {
			t.Errorf("swapped for %s: %v", to, r.Err)
		}
		if held := heldBelow(t, y.in); len(held) != 1 {
			t.Errorf("swapped for %s, the server holds %v", to, held)
		}
		m.Shutdown()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkDirectory measures opening and closing a job's directory.
func BenchmarkDirectory(b *testing.B) {
	base := b.TempDir()
	if err := os.MkdirAll(base+"/a/b/c", 0o755); err != nil {
		b.Fatal(err)
	}
	for _, allowed := range []int{0, 1, 1000} {
		b.Run(fmt.Sprintf("allowed=%d", allowed), func(b *testing.B) {
			o := Options{Root: base}
			for i := range allowed {
				dir := fmt.Sprintf("%s/allowed/%d", base, i)
				if err := os.MkdirAll(dir, 0o755); err != nil {
					b.Fatal(err)
				}
				o.AllowedDirs = append(o.AllowedDirs, dir)
			}
			if allowed > 0 {
				o.AllowedDirs[allowed-1] = base
			}
			m := newManager(slog.New(slog.DiscardHandler))
			if err := m.Configure(o); err != nil {
				b.Fatal(err)
			}
			defer closeDirectories(m.settings.allowed)
			for b.Loop() {
				d, _, err := m.directory("a/b/c")
				if err != nil {
					b.Fatal(err)
				}
				d.Close()
			}
		})
	}
}

// Allowed directories must leave descriptors for jobs. One that is named twice is opened once.
func TestAllowedDirectoriesLeaveRoom(t *testing.T) {
	y := newYard(t)
	m := y.start(Options{})
	if err := m.Configure(Options{AllowedDirs: []string{y.in, y.in, y.in + "/."}}); err != nil {
		t.Fatal(err)
	}
	if held := heldBelow(t, y.in); len(held) != 1 {
		t.Errorf("the server holds %v", held)
	}
	free, err := os.Open(os.DevNull)
	y.ok(err)
	undo := withDescriptors(t, uint64(free.Fd())+6)
	y.ok(free.Close())
	err = m.Configure(Options{AllowedDirs: []string{y.in, y.out}})
	undo()
	if e, is := err.(*Error); !is || e.Code != CodeResourceUnavailable || !strings.Contains(e.Message, "ulimit -n") {
		t.Errorf("with descriptors for few more: %v", err)
	}
	if held := heldBelow(t, y.out); len(held) != 0 {
		t.Errorf("what was refused holds %v", held)
	}
}

// If an allowed directory cannot be examined, the error does not say that it was moved.
func TestAllowedDirectoryOutOfSight(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can take rights from a thread and give them back")
	}
	y := newYard(t)
	shut := y.in + "/shut"
	y.ok(os.MkdirAll(shut+"/allowed", 0o700))
	m := startReal(t, Options{Root: y.in, AllowedDirs: []string{shut + "/allowed"}})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 12345
	y.ok(unix.Setfsuid(nobody))
	allowed := m.isAllowed(shut + "/allowed")
	e := m.notAllowed("directory", shut+"/allowed", shut+"/allowed")
	y.ok(unix.Setfsuid(0))
	if allowed || !strings.Contains(e.Message, "permission denied") || !strings.Contains(e.Message, "try again") {
		t.Errorf("allowed: %v, %v", allowed, e)
	}
	if !m.isAllowed(shut + "/allowed") {
		t.Error("it is not allowed any more")
	}
}
