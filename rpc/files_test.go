package rpc_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

func fileText(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// names returns the names in a directory; nil if there is none.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// inFiles starts a server that stores output in a directory of its own.
func inFiles(t *testing.T) (*session, schema.InitializeResult, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t)
	r := s.initialize("options", obj{"persist": obj{"directory": dir}})
	return s, r, dir
}

// TestOutputFiles: sent, read and stored bytes are the same, as early as job/closed.
func TestOutputFiles(t *testing.T) {
	s, r, dir := inFiles(t)
	equal(t, "stateDirectory", str(r.StateDirectory), dir)
	equal(t, "store", r.Capabilities.Levels["store"], schema.LevelSupportPartial)
	equal(t, "spoolMemoryBytes", r.Limits.SpoolMemoryBytes, 256<<10)
	equal(t, "spoolDiskBytes", r.Limits.SpoolDiskBytes, 64<<20)
	equal(t, "spoolTotalBytes", r.Limits.SpoolTotalBytes, 2<<30)
	h := s.pipe("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo 'a & b' >&2", "description", "a < b")
	out, err := s.output(h, "stdout"), s.output(h, "stderr")
	folder := filepath.Join(dir, r.SessionID, "1")
	equal(t, "stdout.txt", fileText(t, folder, "stdout.txt"), out)
	equal(t, "stderr.txt", fileText(t, folder, "stderr.txt"), err)
	equal(t, "lines", strings.Count(out, "\n"), 20000)
	text, _ := s.readBytes(h, "stream", "stdout", "offset", 0, "maxBytes", 1<<20)
	equal(t, "read", text, out)
	info := s.get(h)
	equal(t, "outputDirectory", str(info.OutputDirectory), folder)
	stored := fileText(t, folder, "info.json")
	if err := schema.ValidateResult("job/get", []byte(`{"job":`+stored+`}`)); err != nil {
		t.Errorf("info.json: %v", err)
	}
	var j schema.JobInfo
	if err := json.Unmarshal([]byte(stored), &j); err != nil {
		t.Fatal(err)
	}
	equal(t, "status", j.Status, schema.StatusClosed)
	equal(t, "exit", exitText(j.Exit), "exited 0")
	equal(t, "nextOffset", j.Streams["stdout"].NextOffset, int64(len(out)))
	if !strings.Contains(stored, "a < b") {
		t.Errorf("info.json is not as a person reads it: %s", stored)
	}
	if got := names(t, folder); !slices.Equal(got, []string{"info.json", "stderr.txt", "stdout.txt"}) {
		t.Errorf("there are %v", got)
	}
	for i, keep := range []bool{true, false} {
		if i > 0 {
			h = s.pipe("echo again")
			s.event(h, "job/closed")
		}
		do[schema.JobRemoveResult](s, "job/remove", obj{"handle": h, "keepFiles": keep})
	}
	if got := names(t, filepath.Join(dir, r.SessionID)); !slices.Equal(got, []string{"1", "lock"}) {
		t.Errorf("after job/remove there are %v", got)
	}
}

// TestLongRun: of an output far beyond the limit, the result has both ends, and the exact number of other bytes.
func TestLongRun(t *testing.T) {
	s, _, _ := inFiles(t)
	const lines = 1_000_000 // of eight bytes
	r := do[schema.JobRunResult](s, "job/run", obj{"argv": []string{"seq", "1000001", "2000000"}, "maxBytes": 68, "mark": false})
	equal(t, "stdout", str(r.Stdout), "1000001\n1000002\n1000003\n1000004\n1999997\n1999998\n1999999\n2000000\n")
	equal(t, "truncated", r.Truncated["stdout"], schema.Truncated{HeadBytes: 32, TailBytes: 32, OmittedBytes: 8*lines - 64, OmittedLines: lines - 8})
	equal(t, "complete", r.OutputComplete, true)
	equal(t, "status", r.Job.Status, schema.StatusClosed)
}

func TestPersistInMemory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	s := open(t)
	r := s.initialize("options", obj{"persist": obj{"mode": "memory", "directory": filepath.Join(dir, "named")}})
	equal(t, "stateDirectory", r.StateDirectory, nil)
	equal(t, "stateDirectoryError", r.StateDirectoryError, nil)
	equal(t, "spoolMemoryBytes", r.Limits.SpoolMemoryBytes, 4<<20)
	equal(t, "spoolDiskBytes", r.Limits.SpoolDiskBytes, 0)
	h := s.pipe("echo text")
	equal(t, "output", s.output(h, "stdout"), "text\n")
	equal(t, "outputDirectory", str(s.get(h).OutputDirectory), "(absent)")
	s.quit()
	if got := names(t, dir); got != nil {
		t.Errorf("there are %v", got)
	}
}

func TestUnusableStateDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	persist := func(p any) *call {
		return s.begin("initialize", obj{"options": obj{"persist": p, "events": []string{}}})
	}
	d := refused[schema.OutputFileErrorData](persist(obj{"directory": filepath.Join(file, "below")}), schema.KindOutputFileError)
	equal(t, "path", d.Path, file)
	equal(t, "reason", str(d.Reason), "not a directory")
	refused[schema.InvalidParamsData](persist(obj{"directory": "relative"}), schema.KindInvalidParams)
	shared := filepath.Join(dir, "shared")
	if err := errors.Join(os.Mkdir(shared, 0o777), os.Chmod(shared, 0o777)); err != nil {
		t.Fatal(err)
	}
	refused[schema.OutputFileErrorData](persist(obj{"directory": shared, "trustPath": false}), schema.KindOutputFileError)
	trusting := open(t)
	equal(t, "stateDirectory", str(trusting.initialize("options", obj{"persist": obj{"directory": shared, "trustPath": true}}).StateDirectory), shared)
	trusting.quit()
	// Nothing is configured, and another attempt may succeed.
	r := s.initialize("options", obj{"persist": obj{"directory": filepath.Join(dir, "state")}})
	equal(t, "output", s.output(s.pipe("echo text"), "stdout"), "text\n")
	s.quit()
	if got := names(t, filepath.Join(dir, "state")); !slices.Contains(got, r.SessionID) || len(got) > 2 { // and that of Tidy
		t.Errorf("there are %v", got)
	}

	// A failure of the default directory does not cause an error.
	t.Setenv("XDG_STATE_HOME", file)
	s = open(t)
	r = s.initialize()
	equal(t, "stateDirectory", r.StateDirectory, nil)
	equal(t, "stateDirectoryError", strings.Contains(str(r.StateDirectoryError), file+": not a directory"), true)
	equal(t, "output", s.output(s.pipe("echo text"), "stdout"), "text\n")
}

// TestOutputFileErrorOfAJob: a file that cannot be created is reported with the job, which goes on.
func TestOutputFileErrorOfAJob(t *testing.T) {
	s, r, dir := inFiles(t)
	taken := filepath.Join(dir, r.SessionID, "1")
	if err := os.Symlink(t.TempDir(), taken); err != nil {
		t.Fatal(err)
	}
	h := s.pipe("echo text; read x", "stdin", "open")
	told := s.change(h, "an output file", func(e event) bool { return e.OutputFileError != nil }).OutputFileError
	s.write(h, "\n")
	equal(t, "output", s.output(h, "stdout"), "text\n")
	known := s.get(h).OutputFileError
	want := schema.OutputFileError{Path: taken, Reason: "file exists"}
	if known == nil || *known != want || *told != want {
		t.Errorf("known is %+v, told was %+v", known, told)
	}
}

// TestLostOutput: output that was deleted before it was sent is lost. The events are sent anyway, and the sent output
// is right.
func TestLostOutput(t *testing.T) {
	s, r, dir := inFiles(t)
	f := newFifo(t)
	s.gate.let(false)
	c := s.begin("job/start", obj{"command": "head -c 8000000 /dev/zero | tr '\\0' x; read x <" + f.path, "shell": "sh", "mode": "pipe", "events": []string{"output", "exited", "closed"}})
	f.release()
	folder := filepath.Join(dir, r.SessionID, "1")
	err := eventually(func() error { // no other sign of it is visible while nothing is read
		b, err := os.ReadFile(filepath.Join(folder, "info.json"))
		if err == nil && !strings.Contains(string(b), `"status": "closed"`) {
			err = errors.New("the job is not closed")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	s.gate.let(true)
	h := result[schema.JobStartResult](c).Job.Handle
	got := s.output(h, "stdout")
	if strings.Trim(got, "x") != "" || len(got) == 8_000_000 {
		t.Errorf("%d bytes came of a file that was deleted", len(got))
	}
	equal(t, "exit", s.exit(h), "exited 0")
}
