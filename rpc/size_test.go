package rpc

import (
	"strings"
	"testing"

	"shelld.dev/shelld/jobs"
)

// TestTextSize: an answer that counts as small must not be long in JSON.
func TestTextSize(t *testing.T) {
	for _, text := range []string{"", "plain", strings.Repeat("\x01", 100), `"\"`, "\n\t\r\b\f", "caf\u00e9 \u2028 \U0001F600", "\u007f<>&", strings.Repeat("\x01", smallAnswer), strings.Repeat("x", 2*smallAnswer)} {
		size, real := textSize(text), int64(len(marshal(text))-len(`""`))
		if min(size, smallAnswer+1) < min(real, smallAnswer+1) && len(text) <= smallAnswer || len(text) > smallAnswer && size <= smallAnswer {
			t.Errorf("%.20q counts as %d bytes, and takes %d", text, size, real)
		}
	}
	command := strings.Repeat("\x01", 1000)
	info := jobs.Info{Command: &command}
	if size, real := sizeOf(info), len(marshal(jobInfo(info))); size < int64(real) {
		t.Errorf("a job counts as %d bytes, and takes %d", size, real)
	}
	group, dir := worst(700), worst(800)
	waits := &jobs.WaitingForInput{Waiting: true, Prompt: worst(900), Why: worst(100)}
	for what, info := range map[string]jobs.Info{
		"a group": {Group: group}, "a directory": {CurrentDirectory: dir}, "a foreground": {Foreground: &jobs.Process{Command: worst(600)}}, "a prompt": {State: jobs.State{Waiting: waits}},
	} {
		if size, real := sizeOf(info), len(marshal(jobInfo(info))); size < int64(real) {
			t.Errorf("a job with %s counts as %d bytes, and takes %d", what, size, real)
		}
	}
	spec := &jobs.WaitSpec{}
	var groups []*string
	named := map[string]*string{}
	for i := range 1000 {
		groups = append(groups, nil)
		if i%3 > 0 {
			groups[i] = &group
			named[strings.Repeat("n", i)] = &group
		} else {
			named[strings.Repeat("n", i)] = nil
		}
	}
	for what, o := range map[string]jobs.Outcome{
		"groups": {Match: &jobs.Match{Groups: groups}, Spec: spec}, "names": {Match: &jobs.Match{Named: named}, Spec: spec},
		"a command": {Command: &jobs.ShellCommand{Text: worst(finishedText), Cwd: dir}, Spec: spec}, "a prompt": {State: jobs.State{Waiting: waits}, Spec: spec},
	} {
		if size, real := sizeOf(o), len(marshal(outcome(o))); size < int64(real) {
			t.Errorf("an outcome with %s counts as %d bytes, and takes %d", what, size, real)
		}
	}
	long := jobs.Outcome{Command: &jobs.ShellCommand{Text: strings.Repeat("x", 10<<20)}, Spec: spec}
	if size := sizeOf(long); size > 2*escapedBytes*finishedText {
		t.Errorf("a command of which 4 KiB are told counts as %d bytes", size)
	}
	exec := jobs.ExecResult{Command: jobs.ShellCommand{Cwd: worst(4096)}, Outcome: jobs.Outcome{Spec: spec}}
	if size, real := sizeOf(exec), len(marshal(execResult(nil, exec, spec, false))); size < int64(real) {
		t.Errorf("an executed command counts as %d bytes, and takes %d", size, real)
	}
	outcome := jobs.Outcome{Output: map[jobs.Stream]jobs.Range{jobs.Stdout: {From: 0, To: 4096}}, Spec: &jobs.WaitSpec{MaxBytes: 1000}}
	if size := sizeOf(outcome); size < 6000 {
		t.Errorf("1000 bytes of output count as %d", size)
	}
}
