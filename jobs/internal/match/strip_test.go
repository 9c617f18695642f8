package match

import (
	"bytes"
	"strings"
	"testing"
)

func TestStripper(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"text", "plain é 日本\n", "plain é 日本\n"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"private CSI", "\x1b[?2004h$ \x1b[?25l", "$ "},
		{"CSI with intermediate", "a\x1b[2 qb", "ab"},
		{"colon parameters", "\x1b[38:2::1:2:3mx", "x"},
		{"OSC ended by BEL", "\x1b]0;title\x07x", "x"},
		{"OSC ended by ST", "\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"OSC with UTF-8 and newline", "\x1b]0;é\n日\x07x", "x"},
		{"DCS is not ended by BEL", "\x1bPq#0\x07;1\x1b\\x", "x"},
		{"APC, PM, SOS", "\x1b_G1\x1b\\a\x1b^p\x1b\\b\x1bXs\x1b\\c", "abc"},
		{"two bytes", "\x1b7a\x1b8b\x1bMc\x1b=d", "abcd"},
		{"designation", "\x1b(Ba\x1b)0b\x1b#8c", "abc"},
		{"intermediate, then a bracket", "\x1b([a", "a"},
		{"controls that stay", "a\tb\rc\nd\be", "a\tb\rc\nd\be"},
		{"controls that go", "a\x00b\x07c\x0e\x0fd\x0b\x0c\x7fe\x18\x1a", "abcde"},
		{"controls within CSI", "\x1b[3\r\n1mx", "\r\nx"},
		{"CAN aborts", "\x1b[31\x18m", "m"},
		{"SUB aborts a string", "\x1b]0;t\x1ax", "x"},
		{"ESC within CSI", "\x1b[31\x1b[0mx", "x"},
		{"ESC within OSC", "\x1b]0;t\x1b[0mx", "x"},
		{"ESC ESC", "\x1b\x1b[0mx", "x"},
		{"UTF-8 ends a CSI", "\x1b[3é", "é"},
		{"C1 bytes are text", "\x9b31m\xc2\x9b", "\x9b31m\xc2\x9b"},
		{"DEL within a sequence", "\x1b\x7f[\x7f1mx", "x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(new(Stripper).Append(nil, []byte(test.in))); got != test.want {
				t.Errorf("at once: got %q, want %q", got, test.want)
			}
			var s Stripper
			got := []byte("->")
			for i := range len(test.in) {
				got = s.Append(got, []byte{test.in[i]})
			}
			if string(got) != "->"+test.want {
				t.Errorf("byte by byte: got %q, want %q", got, "->"+test.want)
			}
			if !s.atText() {
				t.Error("a sequence is under way at the end")
			}
		})
	}
}

func TestStripperInPlace(t *testing.T) {
	b := []byte("a\x1b[1mb\x1b[0mc")
	if got := new(Stripper).Append(b[:0], b); string(got) != "abc" {
		t.Errorf("got %q, want abc", got)
	}
}

// An unfinished sequence swallows no more than its limit.
func TestStripperBoundsSequences(t *testing.T) {
	for _, open := range []string{"\x1b]0;", "\x1bP", "\x1b[", "\x1b("} {
		var s Stripper
		filler := strings.Repeat("1", maxSequence-len(open)+1)
		if open == "\x1b(" {
			filler = strings.Repeat("(", maxSequence-len(open)+1)
		}
		if got := s.Append(nil, []byte(open+filler)); len(got) != 0 {
			t.Errorf("%q: %d bytes came through within the limit", open, len(got))
		}
		if got := s.Append(nil, []byte("text\n")); string(got) != "text\n" {
			t.Errorf("%q: after the limit got %q, want the text", open, got)
		}
	}
}

func FuzzStripper(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b]0;t\x07é\x1bP\x1b\\"), uint8(3))
	f.Add([]byte("\x1b[3\xc3\x1b\xa9(\x1b"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		whole := new(Stripper).Append(nil, in)
		var s Stripper
		var parts []byte
		for rest := in; len(rest) > 0; {
			n := min(int(chunk)%7+1, len(rest))
			parts = s.Append(parts, rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(whole, parts) {
			t.Fatalf("at once %q, in chunks %q", whole, parts)
		}
		if bytes.IndexByte(whole, 0x1b) >= 0 {
			t.Fatalf("an ESC came through: %q", whole)
		}
	})
}
