package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	oneSession     = "20260102T030405Z-0123456789abcdef"
	anotherSession = "20260102T030406Z-0123456789abcdef"
)

// die closes all files of a server, as its death does.
func die(t *testing.T, s *Session) {
	t.Helper()
	if err := errors.Join(s.lock.Close(), s.root.Close()); err != nil {
		t.Fatal(err)
	}
}

func hold(t *testing.T, state, name string, temporary bool) *Session {
	t.Helper()
	s, err := Open(state, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Hold(temporary); err != nil {
		t.Fatal(err)
	}
	return s
}

func past(t *testing.T, state string) *Past {
	t.Helper()
	p, err := OpenPast(state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // Some tests have closed it.
	return p
}

func session(t *testing.T, p *Past, name string) *PastSession {
	t.Helper()
	s, err := p.Session(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // Some tests have closed it.
	return s
}

// A server is reported alive until it ends, for whatever reason, and dead from then on.
func TestLivingAndDead(t *testing.T) {
	state := t.TempDir()
	live := hold(t, state, oneSession, false)
	if err := live.Folder("1").Replace("info.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	p := past(t, state)
	first := session(t, p, oneSession)
	for range 2 {
		if first.Dead() {
			t.Error("a living server is taken for dead")
		}
	}
	die(t, live)
	s := session(t, p, oneSession)
	for range 2 {
		if !s.Dead() || s.Temporary() || s.Finished() {
			t.Errorf("dead %v, temporary %v, finished %v", s.Dead(), s.Temporary(), s.Finished())
		}
	}
	if other := session(t, p, oneSession); !other.Dead() {
		t.Error("two cannot look at a time")
	}
	if err := s.Finish(); err != nil || !session(t, p, oneSession).Dead() || !s.Finished() {
		t.Errorf("finished: %v", err)
	}
	die(t, hold(t, state, anotherSession, true))
	if s := session(t, p, anotherSession); !s.Dead() || !s.Temporary() {
		t.Error("a temporary session is not known as one")
	}
}

// While tidying up, a server may delete a new and empty directory before it is locked, but never a locked one.
func TestSweptBeforeItIsHeld(t *testing.T) {
	state := t.TempDir()
	s, err := Open(state, oneSession)
	if err != nil {
		t.Fatal(err)
	}
	p := past(t, state)
	session(t, p, oneSession).Remove()
	if err := s.Hold(false); !errors.Is(err, ErrSwept) {
		t.Errorf("held although it is gone: %v", err)
	}
	_ = s.Close() // It is gone.
	s = hold(t, state, oneSession, false)
	session(t, p, oneSession).Remove()
	if !exists(filepath.Join(state, oneSession, lockFile)) {
		t.Error("the directory of a living server was taken away")
	}
	if err := s.Close(); err != nil || exists(filepath.Join(state, oneSession)) {
		t.Errorf("%v; an empty directory was left", err)
	}
}

// If servers begin while others tidy up, none loses its directory, and nothing is left over.
func TestBeginningWhileOthersTidyUp(t *testing.T) {
	state := t.TempDir()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			p, err := OpenPast(state)
			if err != nil {
				t.Error(err)
				return
			}
			names, _ := p.Names()
			for _, name := range names {
				if s, err := p.Session(name); err == nil {
					s.Remove()
					_ = s.Close() // It was looked at.
				}
			}
			_ = p.Close() // It was looked at.
		}
	}()
	swept := 0
	for n := 0; n < 2000 && swept < 20; n++ {
		s, err := Open(state, oneSession)
		if err == nil {
			err = s.Hold(false)
		}
		switch {
		case errors.Is(err, ErrSwept), s == nil && errors.Is(err, fs.ErrNotExist):
			swept++
			if s != nil {
				_ = s.Close() // It is gone.
			}
			continue
		case err != nil:
			t.Fatal(err)
		}
		if err := s.Folder("1").Replace("info.json", []byte("{}")); err != nil {
			t.Fatalf("what was held is gone: %v", err)
		}
		if err := s.Erase(func() {}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-stopped
	if entries, err := os.ReadDir(state); err != nil || len(entries) != 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestOneTidiesUp(t *testing.T) {
	state := t.TempDir()
	first, second := past(t, state), past(t, state)
	if err := first.Tidy(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := second.Tidy(t.Context(), false); !errors.Is(err, ErrBusy) {
		t.Errorf("two at a time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := past(t, state).Tidy(ctx, true); !errors.Is(err, context.Canceled) {
		t.Errorf("who gives up is told %v", err)
	}
	done := make(chan error)
	go func() { done <- second.Tidy(t.Context(), true) }()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after the first: %v", err)
	}
}

// A wait for Tidy can be cancelled, and leaves no lock behind when the other process releases it.
func TestWaitingIsGivenUp(t *testing.T) {
	state := t.TempDir()
	first, second := past(t, state), past(t, state)
	if err := first.Tidy(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- second.Tidy(ctx, true) }()
	cancel()
	if err := <-done; !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := past(t, state).Tidy(t.Context(), true); err != nil {
		t.Errorf("after both: %v", err)
	}
}

// Files and directories that shelld does not seem to have made are not listed, not followed and not deleted.
func TestNotOurs(t *testing.T) {
	state, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "stdout.txt"), "precious")
	die(t, hold(t, state, oneSession, false))
	one := filepath.Join(state, oneSession)
	mkdir := func(path string, mode fs.FileMode) {
		t.Helper()
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(filepath.Join(state, "20260102T030407Z-0123456789abcde"), 0o700) // a digit is missing
	mkdir(filepath.Join(state, "mine"), 0o700)
	open := filepath.Join(state, "20260102T030408Z-0123456789abcdef")
	mkdir(open, 0o755)
	link(t, outside, filepath.Join(state, anotherSession))
	for _, name := range []string{"01", "+1", "-1", "0", "1x", "99999999999999999999"} {
		mkdir(filepath.Join(one, name), 0o700)
	}
	link(t, outside, filepath.Join(one, "2"))
	write(t, filepath.Join(one, "3"), "")
	mkdir(filepath.Join(one, "4"), 0o770)
	mkdir(filepath.Join(one, "5"), 0o700)
	p := past(t, state)
	names, err := p.Names()
	if err != nil || !slices.Equal(names, []string{oneSession, anotherSession, filepath.Base(open)}) {
		t.Errorf("sessions %v, %v", names, err)
	}
	refused := []string{anotherSession, "../x", "..", oneSession + "/1"}
	if runtime.GOOS != "windows" {
		refused = append(refused, filepath.Base(open))
	}
	for _, name := range refused {
		if s, err := p.Session(name); err == nil {
			t.Errorf("%s is a session: %v", name, s.Close())
		}
	}
	s := session(t, p, oneSession)
	ids, err := s.Jobs()
	if err != nil || !slices.Equal(ids, []int64{2, 3, 4, 5}) {
		t.Errorf("jobs %v, %v", ids, err)
	}
	for _, id := range ids[:3] {
		if id == 4 && runtime.GOOS == "windows" {
			continue
		}
		if f, err := s.Folder(id); err == nil {
			t.Errorf("%d is a folder: %v", id, f.Close())
		}
	}
	folder := filepath.Join(one, "5")
	for _, name := range []string{"info.json", "stdout.txt.new", ".spool-1"} {
		write(t, filepath.Join(folder, name), "x")
	}
	link(t, filepath.Join(outside, "stdout.txt"), filepath.Join(folder, "stdout.txt"))
	f, err := s.Folder(5)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if file, _, err := f.Open("stdout.txt"); err == nil {
		t.Errorf("a link was followed: %v", file.Close())
	}
	if err := f.RemoveScraps(); err != nil || exists(filepath.Join(folder, ".spool-1")) || exists(filepath.Join(folder, "stdout.txt.new")) {
		t.Errorf("scraps are left: %v", err)
	}
	if err := f.Remove(); err == nil || !strings.Contains(err.Error(), "shelld did not create stdout.txt") || !exists(filepath.Join(folder, "info.json")) {
		t.Errorf("a folder with something else in it: %v", err)
	}
	if err := os.Remove(filepath.Join(folder, "stdout.txt")); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(); err != nil || exists(folder) {
		t.Errorf("a folder of ours: %v", err)
	}
	s.Remove()
	if !exists(filepath.Join(one, lockFile)) {
		t.Error("the lock of a session with something in it is gone")
	}
	if content(t, filepath.Join(outside, "stdout.txt")) != "precious" {
		t.Error("outside something has changed")
	}
}

// A directory of another user is not a session, even if everything else is right.
func TestNotOurOwner(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	state := t.TempDir()
	die(t, hold(t, state, oneSession, false))
	if err := os.Chown(filepath.Join(state, oneSession), 12345, -1); err != nil {
		t.Fatal(err)
	}
	if s, err := past(t, state).Session(oneSession); err == nil {
		t.Errorf("it is a session: %v", s.Close())
	}
}

// If a session has no lock file, it is not known whether its server is alive.
func TestWithoutALock(t *testing.T) {
	state := t.TempDir()
	s, err := Open(state, oneSession)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Folder("1").Replace("info.json", nil); err != nil {
		t.Fatal(err)
	}
	look := session(t, past(t, state), oneSession)
	if look.Dead() {
		t.Error("it is taken for dead")
	}
	look.Remove()
	if err := s.Close(); err != nil || !exists(filepath.Join(state, oneSession, "1")) {
		t.Errorf("%v", err)
	}
}

// If Replace fails, the old file stays.
func TestReplaceThatFails(t *testing.T) {
	state := t.TempDir()
	live := hold(t, state, oneSession, false)
	if err := live.Folder("1").Replace("info.json", []byte("old")); err != nil {
		t.Fatal(err)
	}
	die(t, live)
	f, err := session(t, past(t, state), oneSession).Folder(1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	broken := errors.New("broken")
	err = f.Replace("info.json", time.Now(), func(w io.Writer) error { _, _ = io.WriteString(w, "ne"); return broken })
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("it is told as %v", err)
	}
	if b, err := f.Read("info.json"); err != nil || string(b) != "old" {
		t.Errorf("there is %q, %v", b, err)
	}
	if files, others, err := f.Files(); len(files) != 1 || len(others) != 0 || err != nil {
		t.Errorf("there are %v, %v, %v", files, others, err)
	}
}
