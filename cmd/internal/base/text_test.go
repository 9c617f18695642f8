package base

import "testing"

func TestVisibleControls(t *testing.T) {
	for _, test := range []struct{ text, keep, want string }{
		{"a\tb\nc\r", "\n\t", "a\tb\nc␍"},
		{"\x1b[2K\a\x7f\u009b1m\u202eabc\u2069", "", "␛[2K␇␡<U+009B>1m<U+202E>abc<U+2069>"},
		{"a\u00a0b\u3000\u200c\U0001f468\u200d\U0001f469\ufeff", "", "a\u00a0b\u3000\u200c\U0001f468\u200d\U0001f469\ufeff"},
	} {
		if got := VisibleControls(test.text, test.keep); got != test.want {
			t.Errorf("%q: %q, not %q", test.text, got, test.want)
		}
	}
}

func TestVisible(t *testing.T) {
	for _, test := range []struct{ text, keep, want string }{
		{"plain, ä, 漢, 😀", "", "plain, ä, 漢, 😀"},
		{"a\tb\nc", "", "a␉b␊c"},
		{"a\tb\nc", "\n", "a␉b\nc"},
		{"\x1b[2K\x1b[1G\a\x00\x7f", "", "␛[2K␛[1G␇␀␡"},
		{"\u0085\u009b1m", "", "<U+0085><U+009B>1m"},
		{"\u202eabc\u2066\u200b\u2028\ufeff", "", "<U+202E>abc<U+2066><U+200B><U+2028><U+FEFF>"}, // direction overrides and invisible characters
		{"a\u00a0b\u3000", "", "a<U+00A0>b<U+3000>"},
		{"a\xffb", "", "a\ufffdb"},
	} {
		if got := Visible(test.text, test.keep); got != test.want {
			t.Errorf("%q: %q, not %q", test.text, got, test.want)
		}
	}
}

func TestCellsBehind(t *testing.T) {
	for _, test := range []struct {
		cells int
		text  string
		want  int
	}{
		{0, "", 0}, {3, "", 3}, {3, "ab", 5}, {3, "漢字e\u0301", 8}, {3, "\ta", 9}, {8, "\t", 16}, {3, "abc\nd", 1}, {3, "abc\n", 0},
	} {
		if got := CellsBehind(test.cells, test.text); got != test.want {
			t.Errorf("%q behind %d takes %d, not %d", test.text, test.cells, got, test.want)
		}
	}
}
