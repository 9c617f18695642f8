package conformance

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOrphansThatHaveEnded checks that ended orphans do not pile up while several sessions run.
func TestOrphansThatHaveEnded(t *testing.T) {
	if err := adoptOrphans(); err != nil {
		t.Fatal(err)
	}
	servers.Lock()
	others := servers.pids
	servers.pids = map[int]bool{-1: true, -2: true} // as if two servers ran
	servers.Unlock()
	defer func() { servers.pids = others }()

	// The orphan lives until its parent has ended, and then ends.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", "cat <&3 >/dev/null 2>&1 & echo $!")
	cmd.ExtraFiles = []*os.File{r}
	out, err := cmd.Output()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for watchdog := time.Now().Add(20 * time.Second); slices.Contains(children(), pid); <-look.C {
		killAdopted("/no-such-directory")
		if time.Now().After(watchdog) {
			t.Fatalf("the orphan %d is still there", pid)
		}
	}
}
