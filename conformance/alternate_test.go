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

// alternatePasses is how many of the sessions of level core that are taken the second server passes at
// least; with -long, which takes all, and in both framings, it is about four times as many. It is here so
// that a server that says that it can do nothing, and is skipped everywhere, does not look like a good
// one. More sessions may make it more.
const alternatePasses = 115

// TestAlternate holds a server that is not ours against the sessions of level core: what
// passes there is what the protocol says, and not what our server happens to do.
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
	// Neighbours are about the same, so that every other one is of each subject.
	sessions = sample(sessions, 2)
	cfg := Config{
		Contract: rules, Levels: []string{"core"}, Command: []string{"node", filepath.Join(dir, "server.js")},
		// Node alone takes seconds to start where many others want the processor.
		Within: 2 * time.Minute, Shutdown: 2 * time.Minute,
	}
	counts := map[Verdict]int{}
	// Most of a session's time is waiting: for silence, for a grace, for a program.
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

// alternateDir is where the second server is, with its packages: the directory beside this
// file, or the one that SHELLD_ALTERNATE names. Without them the test is skipped, and fails
// where every program has to be there. SHELLD_ALTERNATE=none skips it.
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
