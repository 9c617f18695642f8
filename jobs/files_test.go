package jobs

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// persistIn is a Persist whose info.json is a line of text.
func persistIn(dir string) *Persist {
	return &Persist{Directory: dir, Session: "session", Encode: encodeForTest}
}

func encodeForTest(i Info) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", i.Handle, i.Status)
	for _, st := range i.Streams {
		fmt.Fprintf(&b, " %s %d %v", st.Name, st.NextOffset, st.Kept)
	}
	return []byte(b.String()), nil
}

// keepFiles makes a manager of simulated jobs keep their output in files.
func keepFiles(t *testing.T, m *Manager, p *Persist, l Limits) {
	t.Helper()
	m.settings.limits = l.withDefaults(true)
	var err error
	if m.settings.archive, _, err = openArchive(p, m.settings.limits, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
}
