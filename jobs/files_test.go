package jobs

import (
	"fmt"
	"strings"
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
