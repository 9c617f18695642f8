package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestEndedIsNotListed checks errors that list the running jobs, right after the end of a job: they do not list it,
// whether or not the server has closed it by then.
func TestEndedIsNotListed(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	for i := range 20 {
		id := fmt.Sprintf("s%d", i)
		h.call("CliSession", args{"sessionId": id, "command": "read x"}, nil)
		h.call("CliWrite", args{"sessionId": id, "input": "{enter}"}, nil)
		for tool, a := range map[string]args{
			"CliWrite":   {"sessionId": id, "input": "x"},
			"send_input": {"handle": i + 1, "input": "x", "ai_callback_delay": 0},
		} {
			if said := h.fail(tool, a); strings.Contains(said, "- "+id+" (pid") || strings.Contains(said, "Command: read x") {
				t.Errorf("%s: %s", tool, said)
			}
		}
	}
}

// TestSurvivorOfSession stops a session that leaves a process behind: all tools report that it runs, and its sessionId
// cannot be reused until the process is gone.
func TestSurvivorOfSession(t *testing.T) {
	t.Parallel()
	h := startHost(t, nil)
	h.call("CliSession", args{"sessionId": "b", "command": "trap '' TERM HUP; sleep 1000 & trap - TERM HUP; read x"}, nil)
	h.until(1, onInput)
	var stop cliStopResult
	if h.call("CliStop", args{"sessionId": "b"}, &stop); stop.Status != "running" {
		t.Fatalf("%+v", stop)
	}
	var r cliReadResult
	if h.call("CliRead", args{"sessionId": "b"}, &r); !r.IsRunning || r.WaitingForInput {
		t.Errorf("%+v", r)
	}
	contains(t, h.fail("CliSession", args{"sessionId": "b", "command": "cat"}), `A session "b" is running: its command has ended`, "CliStop and force=true", "- b (pid ", leftRunning)
	contains(t, h.fail("CliWrite", args{"sessionId": "b", "input": "x"}), "takes no input", "CliStop with force=true ends them")
	stop = cliStopResult{}
	if h.call("CliStop", args{"sessionId": "b", "force": true}, &stop); stop.Status != "stopped" {
		t.Errorf("%+v", stop)
	}
	r = cliReadResult{}
	if h.call("CliRead", args{"sessionId": "b"}, &r); r.IsRunning {
		t.Errorf("%+v", r)
	}
	h.call("CliSession", args{"sessionId": "b", "command": "cat"}, nil)
}
