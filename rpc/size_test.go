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
}
