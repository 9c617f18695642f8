package main

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"shelld/conformance"
	"shelld/schema"
)

// keeperlessName is this binary as a server that runs jobs as macOS does.
const keeperlessName = "shelld-keeperless"

func init() {
	programs[keeperlessName] = func() { withoutKeepers = true; main() }
}

// ofJobs are the sessions of level core that are about how jobs are started and ended. Of the
// others it is nothing how that is done.
var ofJobs = regexp.MustCompile(`^core/(cancel|end-of-stdin|exit|job-exited|kill|limit-unsupported|resize|run|shutdown|sig|start|stdin|stdout|write-interrupt|write-overtakes)|^trees/|^terminal/state-foreground`)

// otherwise are sessions that a command without a keeper cannot pass, since it leads its
// terminal's session (docs/platforms.md): at its end the kernel hangs up, and a group
// that no other process of the session is the parent of is not stopped by its terminal. A
// daemon that is gone from its session when it is first looked for is nobody's. And what was being forked when
// TERM was sent gets it once.
var otherwise = regexp.MustCompile(`^trees/(exit-holds-terminal|kill-starting|stop-key|stop-terminal-read|stop-terminal-write|wait-port-daemon)$`)

// TestKeeperless holds what runs jobs on macOS against the suite, where Linux can play
// macOS's part. In one framing: how messages are framed is nothing to it.
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

// What a server without keepers says of itself is what its platform has, and no more.
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

// ask is what a server answers to initialize.
func ask(t *testing.T, program string) (result schema.InitializeResult) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n")
	out, _ := cmd.Output() // It exits with 1: nobody has said shutdown.
	var answer struct{ Result schema.InitializeResult }
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%s: %v in %q", program, err, out)
	}
	return answer.Result
}
