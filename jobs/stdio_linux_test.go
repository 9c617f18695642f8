package jobs

import (
	"os"
	"strings"
	"testing"
)

// A job is kept for a long time after its end, but not its stdin text.
func TestTheTextOfAnInputIsForgotten(t *testing.T) {
	m := startReal(t, Options{})
	s := sh("wc -c")
	s.Mode, s.StdinText = ModePipe, new(strings.Repeat("x", 1<<20))
	j := mustStart(t, m, s)
	awaitClosed(t, j)
	if data, _ := j.Range(Stdout, Range{From: 0, To: 100}); strings.TrimSpace(string(data)) != "1048576" {
		t.Errorf("it has read %q", data)
	}
	<-j.ended
	if j.spec.StdinText == nil || *j.spec.StdinText != "" {
		t.Error("the text is kept with the job")
	}
	if *s.StdinText == "" {
		t.Error("the caller's own text is gone")
	}
}

// Without allowed directories, a job's stdin and stdout files may be anywhere.
func TestFilesWithoutARule(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	m := startReal(t, Options{Root: root})
	s := sh("cat")
	s.Mode, s.StdinFile, s.StdoutFile = ModePipe, elsewhere+"/in", "../"+elsewhere[strings.LastIndex(elsewhere, "/")+1:]+"/out"
	if err := os.WriteFile(s.StdinFile, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	awaitClosed(t, mustStart(t, m, s))
	if b, err := os.ReadFile(elsewhere + "/out"); string(b) != "content" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// The stdin texts of live jobs are kept in memory, so there is a limit for all of them together.
func TestTextsAreBoundedTogether(t *testing.T) {
	m := startReal(t, Options{})
	m.registry.mu.Lock()
	m.registry.texts = maxTexts - 10 // texts of other jobs
	m.registry.mu.Unlock()
	s := sh("exec sleep 600")
	s.Mode, s.StdinText = ModePipe, new("0123456789")
	j := mustStart(t, m, s)
	if _, _, err := m.Start(s); err == nil || err.Code != CodeLimitExceeded || err.Limit != "stdinTextBytes" {
		t.Errorf("a text too many: %v", err)
	}
	for range 2 {
		<-j.Kill(KillOptions{}).C
		awaitClosed(t, j)
		j = mustStart(t, m, s)
	}
}
