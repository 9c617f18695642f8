package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// If the kernel has taken an input only up to the middle of a line, an end of file behind it ends that line and then
// the input.
func TestEOFBehindAPartOfALine(t *testing.T) {
	m := startReal(t, Options{})
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	s := sh(`stty -echo; echo GO; read go <"$GATE"; cat >/dev/null; echo END`)
	s.Env = map[string]*string{"GATE": &gate}
	j := started(t, m, s, "GO")
	p, err := j.Write(Input{Text: strings.Repeat("yyyyyy\n", 20_000), Wait: &WaitSpec{Until: []Condition{pattern("never")}, Timeout: 100 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	if n := must(t, p).BytesWritten; n%7 == 0 {
		t.Skipf("the kernel has taken %d bytes, which are whole lines", n)
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	p, err = j.Write(Input{EOF: true, Wait: &WaitSpec{Until: []Condition{pattern("END")}, Timeout: watchdog}})
	if err != nil {
		t.Fatal(err)
	}
	if r := must(t, p); r.BytesWritten != 2 || r.Outcome.Reason != "pattern" {
		t.Errorf("%d bytes, %s", r.BytesWritten, r.Outcome.Reason)
	}
}
