package rpc

import (
	"strings"
	"testing"

	"shelld/jobs"
)

// What counts as a small answer must not be a long one in JSON.
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
	outcome := jobs.Outcome{Output: map[jobs.Stream]jobs.Range{jobs.Stdout: {From: 0, To: 4096}}, Spec: &jobs.WaitSpec{MaxBytes: 1000}}
	if size := sizeOf(outcome); size < 6000 {
		t.Errorf("1000 bytes of output count as %d", size)
	}
	group := strings.Repeat("g", 1000)
	groups := jobs.Outcome{Spec: &jobs.WaitSpec{}, Match: &jobs.Match{Text: group, Named: map[string]*string{"name": &group}}}
	for range 100 {
		groups.Match.Groups = append(groups.Match.Groups, &group)
	}
	if size := sizeOf(groups); size < 102_000 {
		t.Errorf("102 texts of 1000 bytes count as %d", size)
	}
	words := jobs.Outcome{Spec: &jobs.WaitSpec{}, Command: &jobs.ShellCommand{Cwd: group}, State: jobs.State{Waiting: &jobs.WaitingForInput{Prompt: group, Why: group}}}
	if size := sizeOf(words); size < 3000 {
		t.Errorf("3 texts of 1000 bytes count as %d", size)
	}
}
