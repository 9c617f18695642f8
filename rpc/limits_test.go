package rpc_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"shelld.dev/shelld/schema"
)

// limitText returns how a job ended, as exitText does, with the limit.
func limitText(e *schema.Exit) string {
	if e == nil || e.Limit == nil {
		return exitText(e)
	}
	return exitText(e) + " by " + string(*e.Limit)
}

func TestLimitsOnTheWire(t *testing.T) {
	s := start(t)
	// This also holds for a job that has ended by itself by then: nothing is cut silently.
	r := s.run("echo 123456789", "limits", obj{"outputBytes": 4})
	equal(t, "stdout", str(r.Stdout), "1234")
	equal(t, "exit", limitText(r.Exit), limitText(s.get(r.Job.Handle).Exit))
	equal(t, "limit", str(ptrText(r.Exit.Limit)), "outputBytes")
	equal(t, "timed out", r.TimedOut, false)
	h := s.pipe("yes", "limits", obj{"outputBytes": 100_000}, "events", []string{"output", "exited", "closed"})
	equal(t, "pushed", len(s.output(h, "stdout")), 100_000)
	equal(t, "exit", limitText(s.event(h, "job/exited").Exit), "limit SIGTERM by outputBytes")
	info := s.get(h)
	equal(t, "told", fmt.Sprint(info.Limits), "map[outputBytes:{100000 server job}]")
	equal(t, "exit", limitText(info.Exit), "limit SIGTERM by outputBytes")
	info = s.get(s.pipe("exec sleep 60", "limits", obj{"cpuMs": 1, "openFiles": 64, "memoryBytes": 1 << 30, "processes": 3}, "killAfterMs", 3600000))
	equal(t, "told", fmt.Sprint(info.Limits), "map[cpuMs:{1000 rlimit process} memoryBytes:{1073741824 rlimit process} openFiles:{64 rlimit process} processes:{3 server job}]")
	equal(t, "life", num(info.KillAfterMs), 3600000)
}

func ptrText[T ~string](p *T) *string {
	if p == nil {
		return nil
	}
	text := string(*p)
	return &text
}

// TestBadLimits: bad limits are refused with their pointer, and no job is started.
func TestBadLimits(t *testing.T) {
	s := start(t)
	for _, method := range []string{"job/start", "job/run"} {
		for pointer, p := range map[string]obj{
			"/killAfterMs":        {"killAfterMs": 0},
			"/limits/processes":   {"limits": obj{"processes": 0}},
			"/limits/cpuMs":       {"limits": obj{"cpuMs": -1}},
			"/limits/openFiles":   {"limits": obj{"openFiles": 3}},
			"/limits/memoryBytes": {"limits": obj{"memoryBytes": 1000}},
			"/limits/outputBytes": {"limits": obj{"outputBytes": 1.5}},
			"/limits/procesess":   {"limits": obj{"procesess": 5}},
			"/limits":             {"limits": 5},
		} {
			p["command"] = "true"
			d := refused[schema.InvalidParamsData](s.beginBad(method, p), schema.KindInvalidParams)
			if len(d.Errors) == 0 || d.Errors[0].Pointer != pointer {
				t.Errorf("%s %s: %+v", method, pointer, d.Errors)
			}
		}
	}
	if list := do[schema.JobListResult](s, "job/list", obj{}); len(list.Jobs) > 0 {
		t.Errorf("started: %+v", list.Jobs)
	}
	// The largest possible integer means no limit.
	const huge = 9007199254740991
	r := s.run("echo done", "killAfterMs", huge, "limits", obj{"processes": huge, "cpuMs": huge, "openFiles": huge, "memoryBytes": huge, "outputBytes": huge})
	equal(t, "stdout", str(r.Stdout), "done\n")
	equal(t, "exit", exitText(r.Exit), "exited 0")
}

// TestLimitsAreThoseOfCapabilities: job/get reports each limit as capabilities announce it.
func TestLimitsAreThoseOfCapabilities(t *testing.T) {
	s := open(t)
	caps := s.initialize().Capabilities
	for name, bytes := range map[string]int{"processes": 5, "memoryBytes": 1 << 30, "cpuMs": 60000, "openFiles": 64, "outputBytes": 5} {
		support, ok := caps.Limits[name]
		if !ok {
			t.Errorf("%s is not there", name)
			continue
		}
		info := s.get(s.pipe("exec sleep 60", "limits", obj{name: bytes}))
		if got := info.Limits[name]; got.By != support.By || got.Per != support.Per || support.Why == nil {
			t.Errorf("%s: %+v, promised %+v", name, got, support)
		}
	}
}

// TestSignalGroup: a signal to a group reaches each of its jobs, and each is reported.
func TestSignalGroup(t *testing.T) {
	s := start(t)
	a := s.pipe("trap 'echo usr; exit 4' USR1; echo ready; while :; do sleep 0.1; done", "group", "g", "name", "one")
	b := s.pipe("sleep 60 & exit 0", "group", "g")
	c := s.pty("trap 'echo usr; exit 5' USR1; echo ready; while :; do sleep 0.1; done", "group", "g")
	other := s.pipe("exec sleep 60", "group", "other")
	gone := s.run("true", "group", "g").Job.Handle
	s.see(a, "ready")
	s.see(c, "ready")
	s.event(b, "job/exited")
	r := do[schema.JobSignalResult](s, "job/signal", obj{"group": "g", "signal": "SIGUSR1", "target": "leader"})
	var told []string
	for _, j := range r.Jobs {
		told = append(told, fmt.Sprint(j.Handle, str(ptrText(j.Name)), j.Sent, str(j.Kind)))
	}
	want := []string{fmt.Sprint(a, "one", true, "(absent)"), fmt.Sprint(b, "(absent)", false, "jobExited"), fmt.Sprint(c, "(absent)", true, "(absent)")}
	if !slices.Equal(told, want) {
		t.Errorf("told %v, want %v; job %d is closed", told, want, gone)
	}
	equal(t, "one", s.exit(a), "exited 4")
	equal(t, "three", s.exit(c), "exited 5")
	for _, method := range []string{"job/signal", "job/kill"} {
		p := obj{"group": "nosuch"}
		if method == "job/signal" {
			p["signal"] = "TERM"
		}
		raw := do[map[string]json.RawMessage](s, method, p)
		equal(t, method, string(raw["jobs"])+string(raw["liveGroups"]), `[]["g","other"]`)
	}
	equal(t, "the other", s.get(other).Status, schema.StatusRunning)
	refused[schema.InvalidParamsData](s.begin("job/signal", obj{"group": "nosuch", "signal": "NOSUCH"}), schema.KindInvalidParams)
}

// TestGroupsWhileTheyStart: a kill or a signal of a group finds jobs that are just being started.
func TestGroupsWhileTheyStart(t *testing.T) {
	s := start(t)
	both := func(group string, then func(group string)) {
		var starts []*call
		for range 8 {
			starts = append(starts, s.begin("job/start", obj{"argv": []string{"sleep", "60"}, "mode": "pipe", "group": group}))
		}
		bad := s.begin("job/start", obj{"argv": []string{"nosuch-program"}, "mode": "pipe", "group": group})
		then(group)
		for _, c := range starts {
			result[schema.JobStartResult](c)
		}
		refused[schema.CommandNotFoundData](bad, schema.KindCommandNotFound)
	}
	both("signalled", func(group string) {
		r := do[schema.JobSignalResult](s, "job/signal", obj{"group": group, "signal": "CONT"})
		if len(r.Jobs) != 8 || slices.ContainsFunc(r.Jobs, func(j schema.SignalReport) bool { return !j.Sent }) {
			t.Errorf("signalled %+v", r.Jobs)
		}
	})
	both("killed", func(group string) {
		r := do[schema.JobKillResult](s, "job/kill", obj{"group": group})
		if len(r.Jobs) != 8 || slices.ContainsFunc(r.Jobs, func(k schema.KillReport) bool { return k.Job.Status != schema.StatusClosed }) {
			t.Errorf("killed %+v", r.Jobs)
		}
	})
}
