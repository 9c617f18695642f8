package shellmark

import (
	"bytes"
	"testing"
)

// A command that becomes the edited line begins with a blank: if an interrupt comes while readline takes over the line,
// it drops the first character, and runs the rest.
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
