package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// An escaped is a server whose jobs must start within one directory, with an attacker that tries to get them out. All
// files that it can create are in the directory base.
type escaped struct {
	*testing.T
	client        *client.Conn
	pid           int
	uid           int
	base, in, out string
	state         string
	session       string
	wire          wire          // all messages sent and received
	log           *bytes.Buffer // read only after end was called
	end           func()
}

// asUsers runs a test as the current user and, if that is root, also as an unprivileged user.
func asUsers(t *testing.T, test func(t *testing.T, uid int)) {
	needJobs(t)
	for _, uid := range []int{os.Geteuid(), nobody} {
		if uid != os.Geteuid() && os.Geteuid() != 0 {
			continue // Only root can change its user.
		}
		t.Run(fmt.Sprintf("uid %d", uid), func(t *testing.T) { test(t, uid) })
	}
}

// startEscaped starts a server as a user. set changes the parameters of initialize; env is added to its environment.
func startEscaped(t *testing.T, uid int, set func(e *escaped, p object), args, env []string) *escaped {
	t.Helper()
	base, err := os.MkdirTemp("", "shelld-escapes-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) }) // Remaining files do no harm.
	e := &escaped{T: t, uid: uid, base: base, in: base + "/in", out: base + "/out", state: base + "/state", log: &bytes.Buffer{}}
	for _, dir := range []string{base, e.in, e.in + "/sub", e.out, e.out + "/deep"} {
		e.mkdir(dir)
	}
	copyProgram(t, "shelld", base+"/bin/shelld")
	cmd := exec.Command(base+"/bin/shelld", append([]string{"serve"}, args...)...)
	cmd.Dir = base
	cmd.Env = append(append(os.Environ(), "HOME="+base, "XDG_STATE_HOME="+e.state), env...)
	cmd.Stderr = e.log
	if uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	in, out := startPiped(t, cmd)
	e.client, e.pid = client.NewConn(out, in, func(client.Event) {}, e.wire.note), cmd.Process.Pid
	e.end = sync.OnceFunc(func() {
		_ = in.Close() // This ends the server and its jobs.
		<-e.client.Done()
		_ = cmd.Wait() // The status shows only that no client has shut it down.
		if t.Failed() && e.log.Len() > 0 {
			t.Logf("the server logged:\n%s", e.log.Bytes())
		}
	})
	t.Cleanup(e.end)
	p := object{"rootDirectory": e.in, "allowedDirectories": []string{e.in}, "options": object{"events": []string{}}}
	if set != nil {
		set(e, p)
	}
	var r schema.InitializeResult
	e.call("initialize", p, &r)
	e.session = r.SessionID
	return e
}

// mkdir makes a directory that belongs to the server's user.
func (e *escaped) mkdir(dir string) {
	e.Helper()
	e.ok(os.MkdirAll(dir, 0o755))
	e.ok(os.Chmod(dir, 0o755))
	e.ok(os.Chown(dir, e.uid, -1))
}

func (e *escaped) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *escaped) call(method string, params, result any) {
	e.Helper()
	if err := e.client.Call(e.Context(), method, params, result); err != nil {
		e.Fatalf("%s: %v", method, err)
	}
}

// refusal returns the kind and the text of the error of a request; "": no error.
func (e *escaped) refusal(method string, params any) (schema.Kind, string) {
	var refused *client.Error
	switch err := e.client.Call(e.Context(), method, params, nil); {
	case err == nil:
		return "", ""
	case errors.As(err, &refused):
		return refused.Kind, refused.Message
	default:
		e.Errorf("%s: %v", method, err)
		return "", ""
	}
}

// where returns the directory in which a job runs, and its PWD; false: the job does not run.
func (e *escaped) where(cwd string) (real, pwd string, runs bool) {
	var r schema.JobRunResult
	err := e.client.Call(e.Context(), "job/run", object{"argv": []string{"sh", "-c", `/bin/pwd -P; echo "$PWD"`}, "cwd": cwd}, &r)
	var refused *client.Error
	if errors.As(err, &refused) {
		return "", "", false
	}
	e.ok(err)
	if r.Stdout == nil {
		e.Fatalf("cwd %s: the job says nothing: %+v", cwd, r)
	}
	real, pwd, _ = strings.Cut(strings.TrimSuffix(*r.Stdout, "\n"), "\n")
	return real, pwd, true
}

// noDirectory checks that the server holds no directory of its jobs open except the allowed one.
func (e *escaped) noDirectory() {
	e.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", e.pid))
	e.ok(err)
	for _, fd := range fds {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", e.pid, fd.Name()))
		if err == nil && to != e.in && (strings.HasPrefix(to, e.in) || strings.HasPrefix(to, e.out)) {
			e.Errorf("the server holds %s", to)
		}
	}
}

func TestEscapesByDirectory(t *testing.T) {
	asUsers(t, func(t *testing.T, uid int) {
		e := startEscaped(t, uid, nil, nil, nil)
		for name, to := range map[string]string{
			"link": e.out, "up": "..", "back": "sub", "loop": "loop", "nowhere": "missing", "cwd": "/proc/self/cwd", "root": "/proc/self/root",
		} {
			e.ok(os.Symlink(to, e.in+"/"+name))
		}
		e.ok(os.Symlink(e.in+"/sub", e.out+"/home"))
		e.ok(os.WriteFile(e.in+"/file", nil, 0o644))
		e.ok(unix.Mkfifo(e.in+"/fifo", 0o666))
		e.mkdir(e.in + "/shut")
		e.ok(os.Chmod(e.in+"/shut", 0))
		const bad, outside = schema.KindBadWorkingDirectory, schema.KindDirectoryNotAllowed
		for cwd, want := range map[string]schema.Kind{
			"..": outside, "../out": outside, "sub/../..": outside, "link": outside, "link/deep": outside, "up": outside, "/": outside,
			"link/..": outside, e.out + "/home/../..": outside, e.in + "/../out": outside, "up/out": outside, "./.././out/./deep": outside,
			"missing": bad, "missing/..": bad, "file": bad, "file/..": bad, "fifo": bad, "loop": bad, "nowhere": bad, e.in + "x": bad,
			"/proc/self/cwd": bad, "/proc/self/cwd/in": bad, "cwd": bad, "cwd/in": bad, "/proc/thread-self/cwd": bad,
			"/proc/self/root": bad, "/proc/self/root" + e.in: bad, "root" + e.in: bad, "/proc/self": bad, "/proc/self/task": bad,
			fmt.Sprintf("/proc/%d/cwd", e.pid): bad, fmt.Sprintf("/proc/%d/root%s", e.pid, e.in): bad, "/proc/1/root": bad,
			"/dev/fd": bad, "/dev/fd/3": bad, "/proc": outside, "~": bad, "$HOME": bad, "file:///": bad,
			strings.Repeat("x", 256): bad, strings.Repeat("x/", 2500): bad, strings.Repeat("sub/../", 714): bad, strings.Repeat("ü", 128): bad,
			"a\x00b": schema.KindInvalidParams, "": schema.KindInvalidParams, "sub\n": bad, "\u2024\u2024/out": bad, "．．/out": bad, "sub\\..\\..": bad,
		} {
			kind, message := e.refusal("job/run", object{"argv": []string{"true"}, "cwd": cwd})
			if kind != want {
				t.Errorf("cwd %.100q: %q (%.300s), want %q", cwd, kind, message, want)
			}
		}
		for fd := range 64 { // any descriptor that the server may have open
			if kind, _ := e.refusal("job/run", object{"argv": []string{"true"}, "cwd": fmt.Sprintf("/proc/self/fd/%d", fd)}); kind != bad {
				t.Errorf("descriptor %d of the server: %q", fd, kind)
			}
		}
		if kind, message := e.refusal("job/run", object{"argv": []string{"true"}, "cwd": "shut"}); uid != 0 && (kind != bad || !strings.Contains(message, "permission denied")) {
			t.Errorf("one that may not be entered: %q (%s)", kind, message)
		}
		for cwd, want := range map[string]string{".": "", "sub": "/sub", "back": "/sub", "back/..": "", e.out + "/home": "/sub", "../in/sub": "/sub", "up/in": ""} {
			if real, pwd, runs := e.where(cwd); !runs || real != e.in+want || pwd != real {
				t.Errorf("cwd %s: the job is in %q, and PWD says %q", cwd, real, pwd)
			}
		}
		e.noDirectory()
	})
}

// TestEscapesByRace has a program swap a link between the allowed directory and another one as fast as it can, while
// jobs are started there: each job that runs must run inside.
func TestEscapesByRace(t *testing.T) {
	starts := scaled(2000, 500, 100)
	asUsers(t, func(t *testing.T, uid int) {
		e := startEscaped(t, uid, nil, nil, nil)
		name, other := e.in+"/name", e.in+"/other"
		e.ok(os.Symlink(e.in+"/sub", name))
		e.ok(os.Symlink(e.out, other))
		stop := make(chan struct{})
		var swapper, askers sync.WaitGroup
		swapper.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
					return
				}
			}
		})
		var mu sync.Mutex
		ran, refused := 0, 0
		const atOnce = 4
		for range atOnce {
			askers.Go(func() {
				for range starts / atOnce {
					real, pwd, runs := e.where("name")
					if runs && (real != e.in+"/sub" || pwd != real) {
						t.Errorf("a job runs in %s, and PWD says %s", real, pwd)
					}
					mu.Lock()
					if runs {
						ran++
					} else {
						refused++
					}
					mu.Unlock()
				}
			})
		}
		askers.Wait()
		close(stop)
		swapper.Wait()
		t.Logf("%d ran, %d were refused", ran, refused)
		// Both results must be possible, whatever the race has produced.
		for to, want := range map[string]bool{e.in + "/sub": true, e.out: false} {
			e.ok(os.Remove(name))
			e.ok(os.Symlink(to, name))
			if real, _, runs := e.where("name"); runs != want {
				t.Errorf("with a link to %s it is %v that a job runs, in %q", to, runs, real)
			}
		}
		e.noDirectory()
	})
}

// TestEscapesByName checks that the names of jobs create no files and refer to none.
func TestEscapesByName(t *testing.T) {
	asUsers(t, func(t *testing.T, uid int) {
		e := startEscaped(t, uid, nil, nil, nil)
		if !regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(e.session) {
			t.Errorf("the session is called %q", e.session)
		}
		before := everything(t, e.base)
		bad := []string{
			"", ".", "..", "../x", "/etc/passwd", e.out + "/x", "a/b", `a\b`, "a\x00b", "a\n", "\na", "a b", "-x", "~", "ä", "１", "a\u202eb", "a%2fb",
			"1", "a:b", "$(touch x)", strings.Repeat("x", 65), strings.Repeat("x", 10<<10), strings.Repeat("../", 3400), strings.Repeat("ü", 5<<10),
		}
		for _, name := range bad {
			for method, params := range map[string]object{
				"job/start": {"argv": []string{"true"}, "name": name}, "job/get": {"handle": name}, "job/read": {"handle": name},
				"job/remove": {"handle": name}, "job/kill": {"handle": name},
			} {
				if kind, message := e.refusal(method, params); kind != schema.KindInvalidParams && kind != schema.KindJobNotFound {
					t.Errorf("%s of %.60q: %q (%.200s)", method, name, kind, message)
				}
			}
		}
		for _, handle := range []any{-1, 0, 1 << 40, 1.5, "1/../2", "../1", []int{1}, object{"x": 1}, true} {
			if kind, _ := e.refusal("job/get", object{"handle": handle}); kind != schema.KindInvalidParams && kind != schema.KindJobNotFound {
				t.Errorf("the handle %v: %q", handle, kind)
			}
		}
		// These are valid names, with groups and descriptions, which are free text.
		for _, name := range []string{"a..b", "x.", "A-_.", "con", "stdout.txt", strings.Repeat("x", 64)} {
			group := "../../" + name
			e.call("job/run", object{"argv": []string{"echo", "x"}, "name": name, "group": group, "description": "/../" + name}, nil)
			e.call("job/remove", object{"handle": name, "keepFiles": true}, nil)
		}
		io, session := regexp.QuoteMeta(e.state+"/shelld/io/"), regexp.QuoteMeta(e.session)
		ours := regexp.MustCompile(`^` + io + `(` + session + `(/\d+(/(stdout\.txt|stderr\.txt|info\.json))?|/lock)?|\.lock-` + strconv.Itoa(uid) + `)$`)
		made := 0
		for _, path := range everything(t, e.base) {
			switch {
			case slices.Contains(before, path), path == e.state, path == e.state+"/shelld", path == e.state+"/shelld/io":
			case !ours.MatchString(path):
				t.Errorf("%s was made", path)
			default:
				made++
				e.private(path)
			}
		}
		if made == 0 {
			t.Error("no output file was made")
		}
	})
}

// private checks that a file belongs to the server's user, and that no other user has access.
func (e *escaped) private(path string) {
	info, err := os.Lstat(path)
	e.ok(err)
	if info.Mode().Perm()&0o077 != 0 || int(info.Sys().(*syscall.Stat_t).Uid) != e.uid || !info.IsDir() && !info.Mode().IsRegular() {
		e.Errorf("%s has the mode %v and belongs to %d", path, info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
	}
}

// everything returns the paths of all files below a directory.
func everything(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEscapesByStateDirectory checks that a state directory that another user could have made is not used: the default
// one is skipped, and one named by the client is rejected.
func TestEscapesByStateDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can play two users")
	}
	e := startEscaped(t, nobody, func(e *escaped, p object) {
		e.ok(os.Mkdir(e.state, 0o777))
		e.ok(os.Chmod(e.state, 0o777|fs.ModeSticky))
		const stranger = 12345
		for name, take := range map[string]func(path string) error{
			"dir":  func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) },
			"link": func(path string) error { return os.Symlink(e.out, path) },
			"fifo": func(path string) error { return unix.Mkfifo(path, 0o666) },
			"file": func(path string) error { return os.WriteFile(path, nil, 0o666) },
		} {
			e.ok(take(e.state + "/" + name))
			e.ok(os.Lchown(e.state+"/"+name, stranger, stranger))
		}
		for _, name := range []string{"dir", "link", "fifo", "file", "dir/below", "link/below"} {
			p["options"] = object{"persist": object{"directory": e.state + "/" + name}}
			kind, message := e.refusal("initialize", p)
			if kind != schema.KindOutputFileError || !strings.Contains(message, e.state) {
				t.Errorf("%s: %q (%s)", name, kind, message)
			}
		}
		e.ok(os.Symlink(e.out, e.state+"/shelld")) // the default directory
		e.ok(os.Lchown(e.state+"/shelld", stranger, stranger))
		p["options"] = object{"events": []string{}}
	}, nil, nil)
	if real, _, runs := e.where("."); !runs || real != e.in {
		t.Errorf("a job whose output is in memory: %q", real)
	}
	if found := everything(t, e.out); len(found) != 2 {
		t.Errorf("outside there is %v", found)
	}
	e.end()
	if !strings.Contains(e.log.String(), "belongs to another user") {
		t.Errorf("the log does not say that output is kept in memory: %s", e.log)
	}
}
