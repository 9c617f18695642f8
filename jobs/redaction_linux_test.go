package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On real terminals and pipes, no secret appears in the read output, in files or in the info of the job, in whatever
// pieces it was written.
func TestRealJobsKeepSecrets(t *testing.T) {
	dir := t.TempDir()
	p := persistIn(dir)
	p.Encode = func(i Info) ([]byte, error) { return fmt.Appendf(nil, "%+v %v", i, deref(t, i.Command)), nil }
	m := startReal(t, Options{Persist: p})
	withSecret(m)
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nAgEAAoIB\n-----END KEY-----"
	if err := m.SetSecret("PEM", pem); err != nil {
		t.Fatal(err)
	}
	const script = `for c in h u n t e r 2 h u n t e r 2; do printf %s "$c"; done; echo; echo "$PEM"; echo "$HUNTER" >&2; echo hunter2hunter2; printf hunter2hu`
	for _, mode := range []Mode{ModePTY, ModePipe} {
		s := sh(script)
		s.Mode = mode
		s.Env = map[string]*string{"HUNTER": ptr(hunter), "PEM": &pem}
		j := mustStart(t, m, s)
		o := awaitClosed(t, j)
		all, end := "", "hunter2hu"
		for _, st := range o.State.Streams {
			b := make([]byte, st.NextOffset+1)
			n, _ := j.ReadRaw(st.Name, b, 0)
			all += string(b[:n])
		}
		want := map[Mode]string{
			ModePTY:  "***\r\n***\r\n***\r\n***\r\n" + end,
			ModePipe: "***\n***\n***\n" + end + "***\n",
		}[mode]
		if all != want {
			t.Errorf("%s: read %q, want %q", mode, all, want)
		}
		if info := must(t, j.Info()); !strings.Contains(deref(t, info.Command), "echo ***") || strings.Contains(fmt.Sprint(info), hunter) {
			t.Errorf("%s: told %+v", mode, info)
		}
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), hunter) || strings.Contains(string(b), "MIIEvQIBADANBgkq") {
			t.Errorf("%s has a secret in it: %q", path, b)
		}
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files, %v", files, err)
	}
}

// The error for a command that does not exist has no secret from its name.
func TestFailedStartsKeepSecrets(t *testing.T) {
	m := startReal(t, Options{})
	withSecret(m)
	_, p, err := m.Start(Spec{Argv: []string{hunter}})
	if err != nil {
		t.Fatal(err)
	}
	e := refused(t, p, CodeCommandNotFound)
	if s := m.Cleaner(e.Handle)(e.Message); strings.Contains(s, hunter) || !strings.Contains(s, "***") {
		t.Errorf("told %s", s)
	}
}
