package cast

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// of returns the text that a reader of the recording gets for some chunks.
func of(t *testing.T, text Text, chunks ...string) string {
	t.Helper()
	b := []byte{'"'}
	for _, c := range chunks {
		b = text.Append(b, []byte(c))
	}
	b = append(text.Flush(b), '"')
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return s
}

func TestText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"\"quoted\" \\", "\"quoted\" \\"},
		{"\x1b[1mbold\x1b[0m\r\n\a\x00\x7f", "\x1b[1mbold\x1b[0m\r\n\a\x00\x7f"},
		{"añ€😀 ", "añ€😀 "},
		{"\u2028\u2029\ufffd", "\u2028\u2029\ufffd"},
		// One U+FFFD for each truncated sequence, as in browsers.
		{"\xff", "\ufffd"},
		{"a\xe2\x82b", "a\ufffdb"},
		{"\xf0\x9f\x98x", "\ufffdx"},
		{"\xe2\x82", "\ufffd"},
		{"\xe2\x82\xe2\x82\xac", "\ufffd€"},
		{"\xc0\xaf", "\ufffd\ufffd"},           // overlong
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"}, // half of a surrogate pair
		{"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
		{"\x80\x80", "\ufffd\ufffd"},
		{"\x9b1m", "\ufffd1m"},
	} {
		if got := of(t, Text{}, c.in); got != c.want {
			t.Errorf("%q is %q, not %q", c.in, got, c.want)
		}
		if want := strings.ToValidUTF8(c.in, ""); strings.ReplaceAll(of(t, Text{}, c.in), "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Errorf("%q lost what was valid", c.in)
		}
		for i := range len(c.in) + 1 {
			for k := i; k <= len(c.in); k++ {
				if got := of(t, Text{}, c.in[:i], c.in[i:k], c.in[k:]); got != c.want {
					t.Errorf("%q, cut at %d and %d, is %q", c.in, i, k, got)
				}
			}
		}
	}
}

// TestPlain checks that each byte is recognized at any position among others, and is not mistaken for another.
func TestPlain(t *testing.T) {
	for c := range 256 {
		stands := c >= ' ' && c < 0x7f && c != '"' && c != '\\'
		for _, others := range []string{" ", "~", "!", "#", "[", "]", "\xff", "\x00", "\x80"} {
			for size := range 20 {
				for at := range size {
					p := bytes.Repeat([]byte(" ~#"), 7)[:size]
					p[at] = byte(c)
					copy(p[at+1:], strings.Repeat(others, size))
					want := at
					for stands && want < size && (want == at || others[0] >= ' ' && others[0] < 0x7f) {
						want++
					}
					to := make([]byte, size)
					if got := copyPlain(to, p); got != want || string(to[:got]) != string(p[:got]) {
						t.Fatalf("%q: %q, %d, not %d", p, to, got, want)
					}
				}
			}
		}
	}
}

func TestLines(t *testing.T) {
	const in, want = "a\nb\r\nc\n\n\r\r\nd\r", "a\r\nb\r\nc\r\n\r\n\r\r\nd\r"
	for i := range len(in) + 1 {
		if got := of(t, Text{Lines: true}, in[:i], in[i:]); got != want {
			t.Errorf("cut at %d it is %q", i, got)
		}
	}
}

func TestHeader(t *testing.T) {
	long := strings.Repeat("é", mostText)
	h := Header{Cols: 80, Rows: 24, Type: "xterm", Began: time.Unix(1763800000, 999), Command: "echo \"a\"\n\xff", Title: "x" + long}
	var got map[string]any
	line := h.append(nil)
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	title := got["title"].(string)
	if !strings.HasPrefix(title, "xéé") || !strings.HasSuffix(title, "é…") || len(title) > mostText+3 || strings.Contains(title, "\ufffd") {
		t.Errorf("the title has %d bytes and ends in %q", len(title), title[len(title)-8:])
	}
	if got["command"] != "echo \"a\"\n\ufffd" || got["version"] != 3.0 || got["timestamp"] != 1763800000.0 || got["term"].(map[string]any)["type"] != "xterm" {
		t.Errorf("%v", got)
	}
	if got := string(Header{Cols: 1, Rows: 2, Began: time.Unix(3, 0)}.append(nil)); got != `{"version":3,"term":{"cols":1,"rows":2},"timestamp":3}`+"\n" {
		t.Errorf("%s", got)
	}
}

// FuzzText checks that any bytes, in any chunks, become JSON that keeps the valid characters and does not depend
// on the chunks.
func FuzzText(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xacb\xf0\x9f"), uint8(2), uint8(3))
	f.Add([]byte("\x1b[m\"\\\r\n\n"), uint8(1), uint8(5))
	f.Fuzz(func(t *testing.T, p []byte, i, k uint8) {
		from, to := min(int(i), len(p)), min(int(i)+int(k), len(p))
		whole := of(t, Text{}, string(p))
		if cut := of(t, Text{}, string(p[:from]), string(p[from:to]), string(p[to:])); cut != whole {
			t.Fatalf("%q whole, %q cut", whole, cut)
		}
		if want := strings.ToValidUTF8(string(p), ""); strings.ReplaceAll(whole, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Fatalf("%q is %q", p, whole)
		}
	})
}
