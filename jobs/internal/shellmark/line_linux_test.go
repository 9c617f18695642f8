package shellmark

import (
	"bytes"
	"testing"
)

// A command that becomes the line itself begins with a blank: where an interrupt comes while readline
// takes the line over, that drops the first character, and runs what is left.
func TestLineBeginsWithBlank(t *testing.T) {
	for _, control := range []string{"", "HISTCONTROL=ignoreboth; "} {
		s := start(t, Bash, setup{files: rc(Bash, control+"PS1='mine>'")})
		before := len(s.out)
		began := s.begin("echo one")
		if shown := s.out[before:began.At]; !bytes.Contains(shown, []byte(" echo one \r\n")) {
			t.Errorf("the line is %q", shown)
		}
		if got := s.end(began); got.out != "one\n" || got.exit != 0 {
			t.Errorf("%+v", got)
		}
		if got := s.run("HISTTIMEFORMAT= builtin history"); got.out != "" {
			t.Errorf("history %q", got.out)
		}
	}
}
