package screen

import (
	"bytes"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPaste(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"text", "ls -l ö€😀", "ls -l ö€😀"},
		{"line ends", "a\nb\r\nc\rd\n\ne", "a\rb\rc\rd\r\re"},
		{"a tab", "a\tb", "a\tb"},
		{"the end mark", "a\x1b[201~rm -rf\n", "arm -rf\r"},
		{"the begin mark", "\x1b[200~a", "a"},
		{"a mark within a mark", "\x1b[20\x1b[201~1~b", "[201~b"},
		{"marks of one character less", "a\u009b201~b\u009b200~c", "abc"},
		{"controls of the terminal", "a\x03b\x04c\x1ad\x1ce\x15f\x7fg\bh\x00i\x16j", "abcdefghij"},
		{"escape sequences", "\x1b[31mred\x1b[0m", "[31mred[0m"},
		{"C1 in UTF-8, and its neighbours", "\u0080\u009b\u009f\u00a0\u00bf", "\u00a0\u00bf"},
		{"a character with such a byte in it", "\u06db201~", "\u06db201~"},
		{"bytes that are no UTF-8", "a\xffb\xc2\x9b\x9bc", "abc"},
		{"what comes together by removal", "\xc2\x03\x9b201~x", "201~x"},
	} {
		if got := string(Paste(c.text, Modes{})); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		want := "\x1b[200~" + c.want + "\x1b[201~"
		if got := string(Paste(c.text, Modes{BracketedPaste: true})); got != want {
			t.Errorf("%s, bracketed: %q, want %q", c.name, got, want)
		}
	}
}

// No text can end its own paste.
func FuzzPaste(f *testing.F) {
	for _, seed := range []string{"a\x1b[201~b", "\x1b[20\x1b[201~1~", "\u009b201~", "\xc2\x03\x9b201~", "\x1b\x1b[201~[201~", "\xc2\x9b\x9b201~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Paste(text, Modes{BracketedPaste: true})
		body, ok := bytes.CutPrefix(got, []byte(pasteBegin))
		body, ok2 := bytes.CutSuffix(body, []byte(pasteEnd))
		if !ok || !ok2 {
			t.Fatalf("%q has no marks", got)
		}
		if i := bytes.IndexFunc(body, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\r' }); i >= 0 || !utf8.Valid(body) {
			t.Errorf("a control character stays in %q, at %d", got, i)
		}
	})
}
