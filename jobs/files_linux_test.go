package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/storedtest"
)

// These tests run real processes whose output is kept in real files.

// startFiles returns a manager that keeps output in files, and the directory of its
// session.
func startFiles(t *testing.T, l Limits) (*Manager, string) {
	t.Helper()
	dir := t.TempDir()
	return startReal(t, Options{Limits: l, Persist: persistIn(dir)}), filepath.Join(dir, "session")
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ownFiles returns the files below dir that this process has open, except for the lock of its session.
func ownFiles(t *testing.T, dir string) (open []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Fatalf("descriptors: %v, %v", links, err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, dir+"/") && to != filepath.Join(dir, "lock") {
			open = append(open, to)
		}
	}
	return open
}

func TestFilesAreWhatWasWritten(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	for i, c := range []struct {
		mode           Mode
		stdout, stderr string
	}{
		{ModePTY, "out\r\nerr\r\n", ""},
		{ModePipe, "out\n", "err\n"},
	} {
		s := sh("echo out; echo err >&2")
		s.Mode = c.mode
		j := mustStart(t, m, s)
		awaitClosed(t, j)
		info := must(t, j.Info())
		folder := filepath.Join(dir, fmt.Sprint(i+1))
		if info.OutputDirectory != folder || info.OutputFileError != "" {
			t.Errorf("%s: the directory is %q, error %q", c.mode, info.OutputDirectory, info.OutputFileError)
		}
		names := []string{"info.json", "stdout.txt"}
		if got := mustRead(t, filepath.Join(folder, "stdout.txt")); got != c.stdout {
			t.Errorf("%s: stdout.txt is %q", c.mode, got)
		}
		if c.stderr != "" {
			names = []string{"info.json", "stderr.txt", "stdout.txt"}
			if got := mustRead(t, filepath.Join(folder, "stderr.txt")); got != c.stderr {
				t.Errorf("%s: stderr.txt is %q", c.mode, got)
			}
		}
		storedtest.CheckFolder(t, folder, names)
		if got := mustRead(t, filepath.Join(folder, "info.json")); !strings.HasPrefix(got, fmt.Sprint(i+1, " closed ")) {
			t.Errorf("%s: info.json is %q", c.mode, got)
		}
		for _, st := range info.Streams {
			data, gaps := j.Range(st.Name, Range{From: 0, To: st.NextOffset})
			if want := mustRead(t, filepath.Join(folder, files[st.Name])); string(data) != want || gaps != nil {
				t.Errorf("%s %s: read %q, gaps %v", c.mode, st.Name, data, gaps)
			}
		}
	}
	if open := ownFiles(t, dir); open != nil {
		t.Errorf("still open: %v", open)
	}
}

func TestSilentJobsHaveNoOutputFile(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	j := mustStart(t, m, Spec{Argv: []string{"true"}, Mode: ModePipe})
	awaitClosed(t, j)
	storedtest.CheckFolder(t, filepath.Join(dir, "1"), []string{"info.json"})
}

// The output of a running job is in its file before it is reported. info.json is written a little later.
func TestFilesWhileAJobRuns(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	j := started(t, m, sh("echo ready; read x"), `ready\r\n`) // The terminal may deliver the end of the line later.
	if got := mustRead(t, filepath.Join(dir, "1", "stdout.txt")); got != "ready\r\n" {
		t.Errorf("stdout.txt is %q", got)
	}
	info := filepath.Join(dir, "1", "info.json")
	for end := time.Now().Add(watchdog); !isThere(info); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("nothing is written of a running job")
		}
	}
	if got := mustRead(t, info); !strings.HasPrefix(got, "1 running") {
		t.Errorf("info.json is %q", got)
	}
	if r := must(t, j.Kill(KillOptions{})); r.State.Status != StatusClosed {
		t.Errorf("killed, it is %s", r.State.Status)
	}
	if got := mustRead(t, info); !strings.HasPrefix(got, "1 closed pty 7 [{0 7}]") {
		t.Errorf("info.json at the end is %q", got)
	}
}

// If output exceeds the size of a file, the middle is dropped, and all reports agree about that.
func TestLongOutputInFiles(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	const total, head, tail = 70 << 20, 8 << 20, 56 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	// Each line has eight bytes: its own offset in hex.
	s := Spec{Argv: []string{"awk", fmt.Sprintf(`BEGIN { for (i = 0; i < %d; i += 8) printf "%%07x\n", i }`, total)}, Mode: ModePipe}
	j := mustStart(t, m, s)
	awaitClosedSoon(t, j)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 {
		t.Errorf("%d bytes were allocated for it", grown)
	}
	at := func(off int) string { return fmt.Sprintf("%07x\n", off) }
	path := filepath.Join(dir, "1", "stdout.txt")
	text := mustRead(t, path)
	marker := fmt.Sprintf("\n[shelld: %d bytes omitted here, offsets %d to %d]\n", total-head-tail, head, total-tail)
	if len(text) != head+len(marker)+tail || text[head:head+len(marker)] != marker {
		t.Fatalf("the file has %d bytes and at the gap %q", len(text), text[head:head+100])
	}
	kept := []Range{{From: 0, To: head}, {From: total - tail, To: total}}
	info := must(t, j.Info())
	if !slices.Equal(info.Streams[0].Kept, kept) {
		t.Errorf("kept %v", info.Streams[0].Kept)
	}
	if got, want := mustRead(t, filepath.Join(dir, "1", "info.json")), fmt.Sprintf("1 closed stdout %d %v", total, kept); !strings.HasPrefix(got, want) {
		t.Errorf("info.json is %q", got)
	}
	for _, off := range []int{0, 8, head - 8, total - tail, total - 8} {
		o := int64(off)
		if r := must(t, j.Read(ReadOptions{Stream: Stdout, Offset: &o, MaxBytes: 8})); string(r.Data) != at(off) || r.Gap != nil {
			t.Errorf("at %d: %q, gap %v", off, r.Data, r.Gap)
		}
	}
	o := int64(head)
	if r := must(t, j.Read(ReadOptions{Stream: Stdout, Offset: &o, MaxBytes: 8})); r.Gap == nil || *r.Gap != (Range{From: head, To: total - tail}) || string(r.Data) != at(total-tail) {
		t.Errorf("at the gap: %q, %v", r.Data, r.Gap)
	}
	runtime.ReadMemStats(&before)
	out, tr := j.Excerpt(Stdout, Range{From: 0, To: total}, nil, false, 100)
	if want := at(0) + at(8) + at(16) + at(24) + at(32) + at(40) + at(total-48) + at(total-40) + at(total-32) + at(total-24) + at(total-16) + at(total-8); string(out) != want {
		t.Errorf("the excerpt is %q", out)
	}
	if want := (Truncated{HeadBytes: 48, TailBytes: 48, OmittedBytes: total - 96, OmittedLines: (head+tail)/8 - 12}); tr == nil || *tr != want {
		t.Errorf("truncated %+v, want %+v", tr, want)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 2<<20 {
		t.Errorf("%d bytes were allocated for the excerpt", grown)
	}
	if open := ownFiles(t, dir); open != nil {
		t.Errorf("still open: %v", open)
	}
}

// awaitClosedSoon is awaitClosed without the output.
func awaitClosedSoon(t *testing.T, j *Job) {
	t.Helper()
	p, err := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilClosed}}, Timeout: time.Minute, From: Origin{Kind: FromNow}})
	if err != nil {
		t.Fatal(err)
	}
	if o := must(t, p); o.Reason != string(UntilClosed) {
		t.Fatalf("the wait ended with %s", o.Reason)
	}
}

func TestRemovedFiles(t *testing.T) {
	m, dir := startFiles(t, Limits{KeepJobs: 2})
	for i, keep := range []bool{false, true} {
		j := mustStart(t, m, sh("echo text"))
		awaitClosed(t, j)
		must(t, j.Remove(keep))
		if folder := filepath.Join(dir, fmt.Sprint(i+1)); isThere(folder) != keep {
			t.Errorf("keepFiles %v: the files are there: %v", keep, !keep)
		}
	}
	// The files of the oldest job are deleted once its unsent output has been sent.
	first := mustStart(t, m, sh("echo text"))
	awaitClosed(t, first)
	release := first.HoldUnsent()
	for range 2 {
		awaitClosed(t, mustStart(t, m, sh("echo text")))
	}
	<-first.done
	if n, at := first.ReadRaw(PTY, make([]byte, 10), 0); n != 6 || at != 0 {
		t.Errorf("what was not sent: %d bytes at %d", n, at)
	}
	release()
	release()
	gone := filepath.Join(dir, "3")
	for end := time.Now().Add(watchdog); isThere(gone); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the files of a job that was let go of are there")
		}
	}
	if n, at := first.ReadRaw(PTY, make([]byte, 10), 0); n != 0 || at != 6 {
		t.Errorf("what was deleted: %d bytes at %d", n, at)
	}
	if !isThere(filepath.Join(dir, "4")) || !isThere(filepath.Join(dir, "5")) {
		t.Error("the files of jobs that are known are gone")
	}
}

// A file that has replaced a job's file is not deleted, and the error says so.
func TestRemovalOfWhatIsNotOurs(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	j := mustStart(t, m, sh("echo text"))
	awaitClosed(t, j)
	file := filepath.Join(dir, "1", "stdout.txt")
	if err := os.Rename(file, file+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := refused(t, j.Remove(false), CodeOutputFileError)
	if e.Path != filepath.Join(dir, "1") || !strings.Contains(e.Message, "the job was removed") {
		t.Errorf("path %q: %s", e.Path, e.Message)
	}
	if got := mustRead(t, file); got != "precious" {
		t.Errorf("the file is %q", got)
	}
	if _, err := m.Lookup(Ref{Handle: 1}); err == nil {
		t.Error("the job is known")
	}
}

// A removal waits for answers that quote the output, but not for unsent output.
func TestRemovalWaitsForAnswers(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	j := mustStart(t, m, sh("echo text"))
	awaitClosed(t, j)
	unsent := j.HoldUnsent()
	defer unsent()
	release := j.Hold()
	p := j.Remove(false)
	<-j.done
	select {
	case r := <-p.C:
		t.Errorf("removed beside an answer: %v", r)
	default:
	}
	if text, tr := j.Excerpt(PTY, Range{From: 0, To: 6}, nil, true, 100); string(text) != "text\n" || tr != nil {
		t.Errorf("%q, %v", text, tr)
	}
	release()
	must(t, p)
	if isThere(filepath.Join(dir, "1")) {
		t.Error("the files are there")
	}
}

func TestFilesStayAtTheServersEnd(t *testing.T) {
	dir := t.TempDir()
	for session, command := range map[string]string{"empty": "", "full": "echo text; read x"} {
		p := persistIn(dir)
		p.Session = session
		m, err := NewManager(Options{Persist: p})
		if err != nil {
			t.Fatal(err)
		}
		if !isThere(filepath.Join(dir, session)) {
			t.Fatalf("there is no directory of %s", session)
		}
		if command != "" {
			started(t, m, sh(command), "text")
		}
		m.Shutdown()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if isThere(filepath.Join(dir, "empty")) {
		t.Error("an empty session has left its directory")
	}
	if got := mustRead(t, filepath.Join(dir, "full", "1", "stdout.txt")); got != "text\r\n" {
		t.Errorf("stdout.txt is %q", got)
	}
	if got := mustRead(t, filepath.Join(dir, "full", "1", "info.json")); got != "1 closed pty 6 [{0 6}]" {
		t.Errorf("info.json is %q", got)
	}
	if open := ownFiles(t, dir); open != nil {
		t.Errorf("still open: %v", open)
	}
}

// If the final info.json could not be written, it is written again when another write succeeds or files are deleted,
// and not only at the server's end.
func TestInfoIsTriedAgain(t *testing.T) {
	for name, then := range map[string]func(m *Manager, other *Job){
		"another job closes": func(m *Manager, other *Job) {
			awaitClosed(t, mustStart(t, m, sh("echo")))
		},
		"another job's files are deleted": func(m *Manager, other *Job) {
			must(t, other.Remove(false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			written := make(chan struct{}, 10)
			p := persistIn(t.TempDir())
			p.Encode = func(i Info) ([]byte, error) {
				if i.Handle == 2 && i.Status == StatusClosed {
					written <- struct{}{}
				}
				return encodeForTest(i)
			}
			m := startReal(t, Options{Persist: p})
			other := mustStart(t, m, sh("echo"))
			awaitClosed(t, other)
			j := started(t, m, sh("echo ready; sleep 1000"), "ready")
			info := filepath.Join(must(t, j.Info()).OutputDirectory, "info.json")
			if err := os.Mkdir(info+".new", 0o700); err != nil { // This makes the write fail.
				t.Fatal(err)
			}
			must(t, j.Kill(KillOptions{}))
			awaitClosed(t, j)
			<-written
			if err := os.Remove(info + ".new"); err != nil {
				t.Fatal(err)
			}
			if isThere(info) && strings.Contains(mustRead(t, info), "closed") {
				t.Fatal("it could be written")
			}
			then(m, other)
			<-written
			done := make(chan struct{})
			absent := withParts(&actor{})
			absent.folder = m.settings.archive.folder(99)
			m.settings.archive.put(errand{what: errandDelete, id: absent.id, job: &absent.files, then: func(error) { close(done) }})
			<-done
			if got := mustRead(t, info); !strings.HasPrefix(got, "2 closed") {
				t.Errorf("info.json is %q", got)
			}
		})
	}
}

// If the names of a job's files are taken, the existing files are not touched, and the job goes on.
func TestTakenFileNames(t *testing.T) {
	m, dir := startFiles(t, Limits{})
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	j := started(t, m, sh("echo text; read x"), "text")
	must(t, j.Kill(KillOptions{}))
	info := must(t, j.Info())
	if info.Status != StatusClosed || info.OutputFile != filepath.Join(dir, "1") || info.OutputFileError != "file exists" {
		t.Errorf("%s, failed: %q, %q", info.Status, info.OutputFile, info.OutputFileError)
	}
	data, gaps := j.Range(PTY, Range{From: 0, To: 6})
	if string(data) != "text\r\n" || gaps != nil {
		t.Errorf("in memory there is %q, gaps %v", data, gaps)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside there are %v, %v", entries, err)
	}
	must(t, j.Remove(false))
	if !isThere(filepath.Join(dir, "1")) {
		t.Error("what is not ours was deleted")
	}
}

func TestUnusableStateDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := startReal(t, Options{Limits: Limits{MaxJobs: 3}})
	for dir, want := range map[string]string{file: "not a directory", "/proc/shelld": "no such file or directory"} {
		err := m.Configure(Options{Persist: persistIn(dir), Limits: Limits{MaxJobs: 4}})
		if e, ok := err.(*Error); !ok || e.Code != CodeOutputFileError || !strings.HasPrefix(e.Path, dir) || e.Errno != want {
			t.Errorf("%s: %+v", dir, err)
		}
	}
	if err := m.Configure(Options{Persist: persistIn("relative")}); err == nil || err.(*Error).Code != CodeInvalidParams {
		t.Errorf("a relative directory: %v", err)
	}
	if m.Limits().MaxJobs != 3 {
		t.Error("what was refused was configured")
	}
	// If the default directory cannot be used, that is not an error.
	t.Setenv("XDG_STATE_HOME", file)
	if err := m.Configure(Options{Persist: persistIn("")}); err != nil || m.StateDirectory() != "" || m.Limits().SpoolMemory != 4<<20 || m.Limits().SpoolDisk != 0 {
		t.Errorf("%v; state %q, limits %+v", err, m.StateDirectory(), m.Limits())
	}
	if why := m.StateDirectoryError(); !strings.Contains(why, file) || !strings.Contains(why, "not a directory") || !strings.Contains(why, "persist.mode to memory") {
		t.Errorf("why there is none is told as %q", why)
	}
	j := mustStart(t, m, sh("echo text"))
	awaitClosed(t, j)
	if info := must(t, j.Info()); info.OutputDirectory != "" {
		t.Errorf("in memory, in %s", info.OutputDirectory)
	}
}

// inChild runs the test again in a process of its own, for limits that would affect other tests, and reports whether
// this is that process.
func inChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv("JOBS_TEST_CHILD") == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "JOBS_TEST_CHILD="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// If the system refuses writes in the middle of the output, the job goes on, with the output in memory.
func TestFileSizeLimit(t *testing.T) {
	if !inChild(t) {
		return
	}
	const most, total = 100_000, 3_000_000
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // The coverage profile is written after the tests, and is longer.
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	})
	m, dir := startFiles(t, Limits{SpoolMemory: 256 << 10})
	j := mustStart(t, m, Spec{Argv: []string{"sh", "-c", fmt.Sprintf("head -c %d /dev/zero", total)}, Mode: ModePipe})
	awaitClosed(t, j)
	info := must(t, j.Info())
	path := filepath.Join(dir, "1", "stdout.txt")
	if info.OutputFile != path || info.OutputFileError != "file too large" || deref(t, info.Exit.Code) != 0 {
		t.Errorf("failed: %q, %q; exit %+v", info.OutputFile, info.OutputFileError, info.Exit)
	}
	kept := info.Streams[0].Kept
	if len(kept) != 2 || kept[0].From != 0 || kept[0].To < most-largeRead || kept[1].To != total || total-kept[1].From < 128<<10 {
		t.Errorf("kept %v", kept)
	}
	data, _ := j.Range(Stdout, Range{From: 0, To: total})
	if n := bytes.Count(data, []byte{0}); n != len(data) || n < most-largeRead+128<<10 {
		t.Errorf("%d bytes are there, %d of them right", len(data), n)
	}
	must(t, j.Remove(false))
	if isThere(filepath.Join(dir, "1")) {
		t.Error("its files are there after job/remove")
	}
}

// A directory that other users can change is refused with all remedies. One of them is to trust these users.
func TestTrustPath(t *testing.T) {
	base := t.TempDir()
	dir, home := filepath.Join(base, "open"), filepath.Join(base, "home")
	for _, d := range []string{dir, home} {
		if err := errors.Join(os.Mkdir(d, 0o777), os.Chmod(d, 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	m := startReal(t, Options{})
	err := m.Configure(Options{Persist: persistIn(dir)})
	if e, ok := err.(*Error); !ok || e.Code != CodeOutputFileError || e.Path != dir || !strings.Contains(e.Message, "persist.trustPath") {
		t.Errorf("not trusted: %+v", err)
	}
	t.Setenv("XDG_STATE_HOME", home)
	if err := m.Configure(Options{Persist: persistIn("")}); err != nil || m.StateDirectory() != "" || !strings.Contains(m.StateDirectoryError(), "persist.trustPath") {
		t.Errorf("the default, not trusted: %v, %q, %q", err, m.StateDirectory(), m.StateDirectoryError())
	}
	for want, named := range map[string]string{dir: dir, filepath.Join(home, "shelld", "io"): ""} {
		m := startReal(t, Options{}) // A manager gets its state directory only once.
		p := persistIn(named)
		p.TrustPath = true
		if err := m.Configure(Options{Persist: p}); err != nil || m.StateDirectory() != want || m.StateDirectoryError() != "" {
			t.Errorf("trusted: %v, %q, %q", err, m.StateDirectory(), m.StateDirectoryError())
		}
		j := mustStart(t, m, sh("echo text"))
		awaitClosed(t, j)
		if b, err := os.ReadFile(filepath.Join(want, "session", fmt.Sprint(j.ID()), "stdout.txt")); strings.TrimSpace(string(b)) != "text" {
			t.Errorf("stored is %q, %v", b, err)
		}
	}
}

// If the path has .. behind a symlink, the real path of the files is reported.
func TestStateDirectoryBehindALink(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err = errors.Join(err, os.MkdirAll(base+"/a/b", 0o700), os.Symlink("a/b", base+"/link")); err != nil {
		t.Fatal(err)
	}
	m := startReal(t, Options{Persist: persistIn(base + "/link/../state")})
	if got := m.StateDirectory(); got != base+"/a/state" {
		t.Errorf("the state directory is told as %s", got)
	}
	j := mustStart(t, m, sh("echo text"))
	awaitClosed(t, j)
	dir := must(t, j.Info()).OutputDirectory
	if b, err := os.ReadFile(filepath.Join(dir, "stdout.txt")); strings.TrimSpace(string(b)) != "text" || !strings.HasPrefix(dir, base+"/a/state/") {
		t.Errorf("in %s there is %q, %v", dir, b, err)
	}
}
