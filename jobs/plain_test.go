package jobs

import (
	"testing"

	"shelld.dev/shelld/jobs/internal/spool"
)

func TestExcerptOfAMissingStream(t *testing.T) {
	st := &stream{name: PTY, spool: spool.New(1 << 20)}
	st.spool.Append([]byte("text"))
	j := withParts(&actor{})
	j.output.streams = []*stream{st}
	if text, tr := j.Excerpt(Stderr, Range{From: 0, To: 4}, nil, true, 10); len(text) != 0 || tr != nil {
		t.Errorf("%q %+v", text, tr)
	}
	if text, _ := j.Excerpt(PTY, Range{From: 0, To: 4}, nil, true, 10); string(text) != "text" {
		t.Errorf("%q", text)
	}
}
