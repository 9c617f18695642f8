package rpc_test

import (
	"strings"
	"testing"
)

// TestSendAsTheProgramAsked: keys, pastes and the mouse are encoded for the modes that the program has set.
func TestSendAsTheProgramAsked(t *testing.T) {
	s := start(t)
	h := s.pty(`stty raw -echo; printf '\033[?1h\033[?2004h\033[?1002h\033[?1006hready'; head -c 37 | od -An -tx1`)
	s.see(h, "ready")
	s.sent(h, "send", []obj{{"key": "Up"}, {"paste": "a\nb"}, {"mouse": obj{"action": "press", "row": 2, "col": 4}},
		{"mouse": obj{"action": "release", "row": 2, "col": 4, "modifiers": []string{"Ctrl"}}}})
	_, shown, _ := strings.Cut(s.output(h, "pty"), "ready")
	equal(t, "bytes", strings.Join(strings.Fields(shown), " "), "1b 4f 41 1b 5b 32 30 30 7e 61 0d 62 1b 5b 32 30 31 7e "+
		"1b 5b 3c 30 3b 35 3b 33 4d 1b 5b 3c 31 36 3b 35 3b 33 6d")
}
