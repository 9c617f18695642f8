package jobs

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// withoutDescriptors makes all opens of this process fail until undo is called. The descriptors below 3 stay in use,
// even if others are closed meanwhile.
func withoutDescriptors(t *testing.T) (undo func()) {
	t.Helper()
	return withDescriptors(t, 3)
}

// withDescriptors limits this process to descriptors below a number until undo is called.
func withDescriptors(t *testing.T, below uint64) (undo func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: below, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}
}

// If output comes while there are no descriptors, the job's files are created as soon as there are some. If by then
// there is more output than memory keeps, an error is reported.
func TestFilesWithoutDescriptors(t *testing.T) {
	for _, long := range []bool{false, true} {
		dir := t.TempDir()
		m := startReal(t, Options{Limits: Limits{SpoolMemory: 128 << 10}, Persist: persistIn(dir)})
		command, want := "read x; echo first; read x; echo second", "first\nsecond\n"
		if long {
			command = "read x; seq 100000; echo first; read x; echo second"
		}
		s := sh(command)
		s.Mode, s.OpenStdin = ModePipe, true
		j := mustStart(t, m, s)
		undo := withoutDescriptors(t)
		enter(t, j)
		await(t, j, pattern("first\n"))
		undo()
		enter(t, j)
		awaitClosedSoon(t, j)
		info := must(t, j.Info())
		folder := filepath.Join(dir, "session", "1")
		if long {
			if info.OutputFileError != syscall.EMFILE.Error() || isThere(filepath.Join(folder, "stdout.txt")) {
				t.Errorf("more than memory keeps: %q", info.OutputFileError)
			}
		} else if info.OutputFileError != "" || mustRead(t, filepath.Join(folder, "stdout.txt")) != want {
			t.Errorf("it is told: %q", info.OutputFileError)
		}
		if text := mustRead(t, filepath.Join(folder, "info.json")); !strings.Contains(text, "closed") {
			t.Errorf("of the job is known: %q", text)
		}
	}
}

func enter(t *testing.T, j *Job) {
	t.Helper()
	p, err := j.Write(Input{Text: "\n"})
	if err != nil {
		t.Fatal(err)
	}
	must(t, p)
}
