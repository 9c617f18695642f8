package main

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/schema"
)

// keeperlessName is the name of this binary as a server that runs jobs as on macOS.
const keeperlessName = "shelld-keeperless"

func init() {
	programs[keeperlessName] = func() { withoutKeepers = true; main() }
}

// ofJobs matches the core sessions about starting and ending jobs. The others do not depend on the implementation of
// these.
var ofJobs = regexp.MustCompile(`^core/(cancel|end-of-stdin|exit|job-exited|kill|limit-unsupported|resize|run|shutdown|sig|start|stdin|stdout|write-interrupt|write-overtakes)|^trees/|^terminal/state-foreground`)

// otherwise matches sessions that fail without keepers, because a command then leads its terminal's session
// (docs/platforms.md): at its end the kernel hangs up the terminal, and the terminal does not stop an orphaned process
// group. A daemon that has left its session before it is first seen cannot be attributed to a job. And a process that
// is being forked while TERM is sent gets it once.
var otherwise = regexp.MustCompile(`^trees/(exit-holds-terminal|kill-starting|stop-key|stop-terminal-read|stop-terminal-write|wait-port-daemon)$`)

// TestKeeperless runs the suite against the implementation for macOS, as far as Linux can run it. It uses one framing,
// because framing does not depend on the implementation.
func TestKeeperless(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a server for each session")
	}
	contract, err := conformance.LoadContract(schema.Files())
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := conformance.Load(conformance.Sessions())
	if err != nil {
		t.Fatal(err)
	}
	sessions = slices.DeleteFunc(sessions, func(s *conformance.Session) bool {
		return !ofJobs.MatchString(s.Name) || otherwise.MatchString(s.Name)
	})
	passed := 0
	conformance.RunAll(sessions, []string{"line"}, 3*runtime.NumCPU(), conformance.Config{
		Contract: contract, Command: []string{keeperlessName}, Levels: []string{"core", "trees", "terminal"}, Orphans: true, Within: watchdog,
	}, func(r conformance.Result) {
		switch {
		case r.Bad():
			t.Errorf("%s: %s\n%s\n%s", r.Session, r.Reason, r.Transcript, r.Stderr)
		case r.Verdict == conformance.Passed:
			passed++
		}
	})
	if passed < 60 {
		t.Errorf("%d sessions passed, want at least 60", passed)
	}
	t.Logf("%d passed", passed)
}

// TestKeeperlessCapabilities checks that a server without keepers reports exactly the capabilities of its platform.
func TestKeeperlessCapabilities(t *testing.T) {
	text := ask(t, keeperlessName)
	c := text.Capabilities.TreeControl
	if c.Kind != schema.TreeControlKindSession || !c.SurvivesServer || len(c.NotReached) < 3 {
		t.Errorf("tree control %+v", c)
	}
	if l := text.Capabilities.Limits; len(l) != 1 || l["outputBytes"].By == "" {
		t.Errorf("limits %+v, want the amount of output alone: a keeper would hold a job to the others", l)
	}
	if c := ask(t, "shelld").Capabilities.TreeControl; c.Kind != schema.TreeControlKindKeeper || c.SurvivesServer {
		t.Errorf("tree control with keepers %+v", c)
	}
}

// ask returns the answer to initialize.
func ask(t *testing.T, program string) (result schema.InitializeResult) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n")
	out, _ := cmd.Output() // It exits with 1, because it was not shut down.
	var answer struct{ Result schema.InitializeResult }
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%s: %v in %q", program, err, out)
	}
	return answer.Result
}
