package rpc_test

import (
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestEverythingFits: a client never gets messages longer than its maxMessageBytes, however long a command line is and
// whatever a pattern matches. Cut texts are marked.
func TestEverythingFits(t *testing.T) {
	const limit = 1 << 20
	s := start(t, "options", obj{"limits": obj{"maxMessageBytes": limit}})
	// Three bytes in the request, six in the server's messages.
	args := slices.Repeat([]string{strings.Repeat("\u2028", 30_000)}, 10)
	params := encode(obj{"argv": append([]string{"sh", "-c", "printf '%0.sab' $(seq 8000); printf c"}, args...), "mode": "pipe",
		"watch": []obj{{"pattern": strings.Repeat("(", 190) + "[ab]+c" + strings.Repeat(")", 190)}}})
	c := s.begin("job/start", wire(strings.ReplaceAll(params, `\u2028`, "\u2028")))
	job := result[schema.JobStartResult](c).Job
	for what, got := range map[string]schema.JobInfo{
		"started": deref(t, s.event(job.Handle, "job/started").Job), "start": job, "get": s.get(job.Handle), "list": do[schema.JobListResult](s, "job/list", nil).Jobs[0],
	} {
		if !slices.Equal(got.Truncated, []schema.JobInfoMember{"argv"}) || len(got.Argv) < 3 || got.Argv[2] != "printf '%0.sab' $(seq 8000); printf c" {
			t.Errorf("%s: truncated %v, %d arguments", what, got.Truncated, len(got.Argv))
		}
	}
	s.event(job.Handle, "job/closed")
	m := s.event(job.Handle, "job/patternMatched")
	if !m.Truncated || len(m.Groups) != 190 || m.EndOffset-m.Offset != 16001 || !strings.HasPrefix(deref(t, m.Groups[189]), "abab") {
		t.Errorf("truncated %v, %d groups, [%d, %d)", m.Truncated, len(m.Groups), m.Offset, m.EndOffset)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.log {
		if !l.sent && len(l.body) > limit {
			t.Errorf("a message of %d bytes: %.100s", len(l.body), l.body)
		}
	}
}
