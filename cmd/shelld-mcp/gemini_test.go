package main

import "testing"

// TestPatternAborted waits for a pattern that takes exponential time on the output: the answer says that the wait has
// ended, and why.
func TestPatternAborted(t *testing.T) {
	const explodes, aaab = "^(a+)+$|READY", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"
	h := startHost(t, nil, "-tools", "all", "-confirm", "none")
	var r runShellResult
	contains(t, h.call("run_shell_command", args{"command": "echo " + aaab + "; exec cat", "ai_callback_pattern": explodes, "pattern_timeout": 3600}, &r),
		"Pattern: the wait has ended early: matching ai_callback_pattern was aborted", "simpler", "Status: running")
	if r.PatternMatched || !r.PatternFailed || !r.Running {
		t.Errorf("%+v", r)
	}
	var s sendInputResult
	contains(t, h.call("send_input", args{"handle": r.Handle, "input": aaab, "ai_callback_pattern": explodes}, &s), aaab+"\n\nthe wait has ended early")
	if s.PatternMatched || !s.PatternFailed {
		t.Errorf("%+v", s)
	}
	var e shellResult
	contains(t, h.call("shell", args{"command": "echo " + aaab + "; exec cat", "wait": "exit", "pattern": explodes, "timeout_seconds": 3600}, &e), "ended early: matching pattern was aborted")
	if e.EndedBy != "patternFailed" {
		t.Errorf("%+v", e)
	}
	if h.call("run_shell_command", args{"command": "echo READY; exec cat", "ai_callback_pattern": explodes}, &r); !r.PatternMatched {
		t.Errorf("%+v", r)
	}
}

// TestDurationInBackground lists a process that has outlived its command: its duration keeps growing.
func TestDurationInBackground(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	h.call("run_shell_command", args{"command": "sleep 1000 & true"}, nil)
	for h.ctx.Err() == nil {
		var r jobsResult
		h.call("jobs", nil, &r)
		if len(r.Jobs) != 1 || r.Jobs[0].Status != "background" {
			t.Fatalf("%+v", r)
		}
		if r.Jobs[0].Duration >= 1 {
			return
		}
	}
	t.Error("no second passes")
}
