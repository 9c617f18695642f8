package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/session"
)

// tortureSession is the name of the sessions of the torture set.
const tortureSession = "torture"

const (
	// tortureAway is the time for which a session of the torture set lives on without its client.
	tortureAway = 500 * time.Millisecond
	// tortureIdle is the time for which its host does without jobs.
	tortureIdle = 100 * time.Millisecond
)

// tortureSessionWays are the ways in which a session ends jobs that a server with one client has not. The others, which do
// not depend on the session, are run in one with -long and -torture.
var tortureSessionWays = []tortureWay{
	{"end of stdin", endByEOF, shortLived(schema.OnDetachEnd)},
	{"SIGKILL of the front", endByLoss, shortLived(schema.OnDetachEnd)},
	{"lease", endByLoss, shortLived(schema.OnDetachKeep)},
	{"session/end", endBySessionEnd, shortLived(schema.OnDetachKeep)},
	{"SIGTERM of the host", endBySIGTERM, shortLived(schema.OnDetachKeep)},
	{"SIGKILL of the host", endBySIGKILL, shortLived(schema.OnDetachKeep)},
}

// TestTortureSession runs the torture set in sessions.
func TestTortureSession(t *testing.T) {
	t.Parallel()
	ways := tortureSessionWays
	if *long || *tortureRounds != 0 {
		for _, way := range tortureWays[:3] {
			way.session = shortLived(schema.OnDetachKeep)
			ways = append(ways, way)
		}
	}
	tortureAll(t, ways)
}

// shortLived returns a session whose jobs, and then itself, end soon when its client has gone.
func shortLived(fate schema.OnDetach) *schema.SessionParams {
	return &schema.SessionParams{
		ClientID: ptr("torturer"),
		Lease:    &schema.SessionLeaseOptions{DetachedMs: schema.ValueOf(tortureAway.Milliseconds()), IdleMs: ptr(tortureIdle.Milliseconds())},
		Jobs:     &schema.SessionJobOptions{OnDetach: &fate, GraceMs: ptr(tortureAway.Milliseconds())},
	}
}

// hostsOfTorture returns a directory of the user for one session.
func hostsOfTorture(t *testing.T, bin string, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp(bin, "hosts-")
	if err == nil {
		err = os.Chown(dir, uid, -1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// hostOfTorture returns the host of the session in the directory.
func hostOfTorture(t *testing.T, dir string) *os.Process {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, tortureSession, "host.json"))
	if err != nil {
		t.Fatal(err)
	}
	var info session.Info
	if err := json.Unmarshal(text, &info); err != nil {
		t.Fatal(err)
	}
	host, err := os.FindProcess(info.PID)
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// endByLoss kills the front, and the client's pipes end with it. Nothing is alive when the client was away for too long.
func endByLoss(t *testing.T, s *tortureServer) {
	s.startAll(t, every, nil)
	began := time.Now()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // The status is known.
	s.awaitNone(t, began)
}

// endBySessionEnd ends the session. Nothing is alive after the answer, and no host when the front has ended.
func endBySessionEnd(t *testing.T, s *tortureServer) {
	s.startAll(t, every, nil)
	began := time.Now()
	s.call(t, "session/end", schema.SessionEndParams{}, nil)
	s.awaitFrontEnd(t, 0, began)
}

// endBySIGTERM asks the host to end.
func endBySIGTERM(t *testing.T, s *tortureServer) {
	s.startAll(t, every, nil)
	began := time.Now()
	if err := s.host.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.awaitFrontEnd(t, 1, began)
}

// awaitFrontEnd waits for the front, whose host says when it ends, and then until nothing is alive.
func (s *tortureServer) awaitFrontEnd(t *testing.T, status int, began time.Time) {
	t.Helper()
	_ = s.cmd.Wait() // The status is checked.
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("the front exits with %d, want %d", got, status)
	}
	s.awaitNone(t, began)
}
