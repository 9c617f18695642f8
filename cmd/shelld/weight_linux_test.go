package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// The measured values are in docs/measured/performance.md; these bounds leave room for other versions of Go and kernels,
// and for the code linked into the tests. A package that a keeper does not use, but that is initialized in it, exceeds
// the first bound by far.
const (
	keeperBytes = 1300 << 10
	serverBytes = 160 << 10
	wornBytes   = keeperBytes + 512<<10
)

// TestWeightOfIdleJobs measures the cost of an idle job: the keeper's private memory, and the growth of the server.
func TestWeightOfIdleJobs(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector has memory of its own")
	}
	d := startDoomed(t, 0)
	const jobs = 20
	d.startIdle(t, jobs) // It sets up everything that the first jobs need, and leaves ended keepers.
	d.call(t, "job/kill", map[string]any{"group": "idle"})
	before := anonymous(t, d.cmd.Process.Pid)
	d.startIdle(t, jobs)
	server := (anonymous(t, d.cmd.Process.Pid) - before) / jobs
	keepers := keepersOf(t, d.cmd.Process.Pid)
	sum := 0
	for _, pid := range keepers {
		sum += anonymous(t, pid)
	}
	mean := sum / len(keepers)
	t.Logf("a keeper %d KiB, the server %d KiB", mean>>10, server>>10)
	if len(keepers) < jobs {
		t.Errorf("%d keepers of %d jobs", len(keepers), jobs)
	}
	if mean > keeperBytes {
		t.Errorf("a keeper has %d bytes of its own, want at most %d", mean, keeperBytes)
	}
	if server > serverBytes {
		t.Errorf("a job costs the server %d bytes, want at most %d", server, serverBytes)
	}
	d.call(t, "job/kill", map[string]any{"group": "idle"})
}

// TestKeepersDoNotGrow checks that jobs do not leave more and more memory in a keeper.
func TestKeepersDoNotGrow(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector has memory of its own")
	}
	d := startDoomed(t, 0)
	for i := range 200 {
		mode := []schema.Mode{schema.ModePty, schema.ModePipe}[i%2]
		d.call(t, "job/run", schema.JobRunParams{Argv: []string{"true"}, Mode: &mode})
	}
	d.startIdle(t, 1) // It uses a keeper that has run many jobs.
	for _, pid := range keepersOf(t, d.cmd.Process.Pid) {
		if n := anonymous(t, pid); n > wornBytes {
			t.Errorf("keeper %d has %d bytes of its own, want at most %d", pid, n, wornBytes)
		}
	}
	d.call(t, "job/kill", map[string]any{"group": "idle"})
}

func (d *doomed) startIdle(t *testing.T, n int) {
	t.Helper()
	for range n {
		d.call(t, "job/start", schema.JobStartParams{Argv: []string{"sleep", "300"}, Group: ptr("idle")})
	}
}

// keepersOf lists the keepers of a server, including those without a job.
func keepersOf(t testing.TB, server int) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, _ := os.ReadFile(f) // It may have ended.
		var pid, parent int
		var state byte
		_, rest, _ := strings.Cut(string(text), "(shelld-keeper) ")
		if _, err := fmt.Sscanf(rest, "%c %d", &state, &parent); err != nil || parent != server || state == 'Z' {
			continue
		}
		if pid, err = strconv.Atoi(filepath.Base(filepath.Dir(f))); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// anonymous returns the anonymous memory of a process, in bytes.
func anonymous(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Skip("the kernel does not report it: ", err)
	}
	for line := range strings.Lines(string(text)) {
		var kib int
		if _, err := fmt.Sscanf(line, "Anonymous: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	t.Fatalf("%s of process %d has no Anonymous", text, pid)
	return 0
}
