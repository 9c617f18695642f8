package rpc_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// holders are commands whose children outlive the leader, and hold its descriptors, terminal or session.
var holders = map[string]string{
	"of everything":   "sleep 300 & echo pid $!; exit 4",
	"of nothing":      "sleep 300 </dev/null >/dev/null 2>&1 & echo pid $!; exit 4",
	"of a terminal":   `trap "" HUP; sleep 300 & echo pid $!; exit 4`,
	"a dev server":    "python3 -m http.server --bind 127.0.0.1 0 & echo pid $!; exit 4",
	"of a session":    "setsid sleep 300 & echo pid $!; exit 4",
	"of a dead child": "(sleep 300 & echo pid $!); exit 4",
}

// TestHolders: the leader's exit is reported with the surviving processes, before they end. A run of the same command
// is answered. A kill ends them, and the leader's exit stays the same.
func TestHolders(t *testing.T) {
	needs(t, "python3")
	needs(t, "setsid")
	for name, command := range holders {
		for _, mode := range modes {
			t.Run(name+", "+string(mode), func(t *testing.T) {
				s := start(t)
				h := do[schema.JobStartResult](s, "job/start", obj{"command": command, "shell": "sh", "mode": mode}).Job.Handle
				behind(t, s, h)
				r := s.run(command, "mode", mode, "drainMs", 0)
				equal(t, "run", exitText(r.Exit), "exited 4")
				equal(t, "status", r.Job.Status, schema.StatusExited)
				behind(t, s, r.Job.Handle)
			})
		}
	}
}

// behind waits for a leader's exit, checks the surviving process, and kills it.
func behind(t *testing.T, s *session, h int64) {
	t.Helper()
	equal(t, "exit", s.exit(h), "exited 4")
	pid := int64(atoi(t, s.see(h, `pid (\d+)`).Match.Groups[0]))
	equal(t, "closed events while somebody lives", len(s.all(h, "job/closed")), 0)
	is := func(p schema.Process) bool { return p.PID == pid }
	now := s.get(h)
	equal(t, "status", now.Status, schema.StatusExited)
	if !slices.ContainsFunc(now.Background, is) {
		t.Errorf("background %+v has no process %d", now.Background, pid)
	}
	k := do[schema.JobKillResult](s, "job/kill", obj{"handle": h, "graceMs": 0})
	equal(t, "exit after the kill", exitText(k.Job.Exit), "exited 4")
	if !slices.ContainsFunc(k.Killed, func(p schema.KilledProcess) bool { return p.PID == pid }) {
		t.Errorf("killed %+v: no process %d", k.Killed, pid)
	}
	s.event(h, "job/closed")
	equal(t, "background at the end", len(s.get(h).Background), 0)
}

func atoi(t *testing.T, text *string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(str(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
