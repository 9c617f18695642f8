//go:build linux

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// alternatePasses is the minimum number of sampled core sessions that the second server must pass. With -long,
// which runs all, in both framings, it passes about four times as many. The minimum ensures that a server that
// claims no features, and is skipped everywhere, does not look good. More sessions may raise it.
const alternatePasses = 115

// TestAlternate runs the core sessions against an independent server: a session that it passes tests the
// protocol, and not an accident of shelld.
func TestAlternate(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts some hundreds of servers in Node")
	}
	dir := alternateDir(t)
	sessions, err := Load(Sessions())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := LoadContract(os.DirFS("../schema/json"))
	if err != nil {
		t.Fatal(err)
	}
	// Adjacent sessions have the same subject, so every second one still covers each subject.
	sessions = sample(sessions, 2)
	cfg := Config{
		Contract: rules, Levels: []string{"core"}, Command: []string{"node", filepath.Join(dir, "server.js")},
		// Node alone takes seconds to start on a busy machine.
		Within: 2 * time.Minute, Shutdown: 2 * time.Minute,
	}
	counts := map[Verdict]int{}
	// A session mostly waits: for silence, for a grace period, for a program.
	RunAll(sessions, []string{"header", "line"}, 2*runtime.NumCPU(), cfg, func(r Result) {
		switch {
		case r.Level != "core":
			return
		case r.Bad():
			t.Errorf("%s (%s): %s\n%s\n%s", r.Session, r.Framing, r.Reason, r.Transcript, r.Stderr)
		case r.Verdict == Skipped:
			t.Logf("%s (%s) is skipped: %s", r.Session, r.Framing, r.Reason)
		}
		counts[r.Verdict]++
	})
	t.Logf("%d passed, %d skipped", counts[Passed], counts[Skipped])
	if least := alternatePasses / usually(2); counts[Passed] < least {
		t.Errorf("%d passed, want at least %d", counts[Passed], least)
	}
}

// alternateDir returns the directory of the second server with its packages: alternate, or the one that
// SHELLD_ALTERNATE names. If something is missing, the test is skipped; with SHELLD_CI it fails, since every
// program must be installed there. SHELLD_ALTERNATE=none skips it.
func alternateDir(t *testing.T) string {
	dir := os.Getenv("SHELLD_ALTERNATE")
	switch dir {
	case "":
		dir = "alternate"
	case "none":
		t.Skip("SHELLD_ALTERNATE=none")
	}
	var missing []string
	if _, err := exec.LookPath("node"); err != nil {
		missing = append(missing, "node")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		missing = append(missing, "the packages of the second server (npm ci --prefix conformance/alternate)")
	}
	if len(missing) == 0 {
		return dir
	}
	why := strings.Join(missing, " and ") + " missing"
	if os.Getenv("SHELLD_CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}
