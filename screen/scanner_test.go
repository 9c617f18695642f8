package screen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// scan reads all of a stream in pieces of a size, each in memory of its own that is overwritten afterwards, like a read
// buffer.
func scan(stream string, size int) Told {
	s := NewScanner("box.example.org")
	for len(stream) > 0 {
		n := min(size, len(stream))
		piece := []byte(stream[:n])
		s.Scan(piece)
		clear(piece)
		stream = stream[n:]
	}
	return s.Told()
}

func TestScannerTitle(t *testing.T) {
	long := strings.Repeat("é", 3000)
	for stream, want := range map[string]string{
		"plain text ; 0;no":                                                "",
		"\x1b]0;both\x07":                                                  "both",
		"\x1b]2;title\x1b\\":                                               "title",
		"\x1b]0;a\x07\x1b]1;icon\x07":                                      "a",
		"\x1b]0;a\x07\x1b]2;\x07":                                          "",
		"\x1b]0;a\x07\x1b]2\x07\x1b]\x07":                                  "a",
		"\x1b];zero\x07":                                                   "zero",
		"\x1b]2;semi;colon\x07":                                            "semi;colon",
		"\x1b]2;caf\xc3\xa9 \xe6\x97\xa5\x07":                              "café 日",
		"\x1b]2;bad\xff\xfeutf\xc3\x07":                                    "bad\uFFFDutf\uFFFD",
		"\x1b]2;one\ntwo\r\x7f\u0085\tthree\x07":                           "onetwothree",
		"\x1b]2;a\x9cb\x07":                                                "a\uFFFDb", // not an ST in UTF-8
		"\xc2\x9d2;c1\x07":                                                 "",         // U+009D is not an OSC
		"\x9d2;c1\x07":                                                     "",
		"\x1b]0;a\x07\x1b]2;gone\x18\x1b]2;gone\x1a\x07":                   "a",
		"\x1b]0;a\x07\x1b]2;gone\x1b[0mtext\x07":                           "a",
		"\x1b]2;gone\x1b]2;new\x07":                                        "new",
		"\x1b]2;twice\x1b\x1b\\":                                           "twice",
		"\x1b]2;bell\x1b\x07":                                              "bell",
		"\x1bPtmux;\x1b\x1b]2;through\x07\x1b\\":                           "through",
		"\x1bP0;1|2;no\x07\x1b\\\x1b]2;yes\x07":                            "yes",
		"\x1b_2;apc\x07\x1b\\\x1b^pm\x1b\\\x1bXsos\x18":                    "",
		"\x1b]52;c;AAAA\x07\x1b]10;?\x07":                                  "",
		"\x1b]2;" + long + "\x07":                                          long[:titleBytes],
		"\x1b]2;x" + long + "\x07":                                         ("x" + long)[:titleBytes-1],
		"\x1b]2;a\x07\x1b[22;0t\x1b]2;b\x07\x1b[22t\x1b]2;c\x07\x1b[23;2t": "b",
		"\x1b]2;a\x07\x1b[22;2t\x1b]2;b\x07\x1b[23;0;0t":                   "a",
		"\x1b]2;a\x07\x1b[22;1t\x1b]2;b\x07\x1b[23;0t\x1b[23t":             "b",    // only the icon
		"\x1b]2;keep\x07\x1bc":                                             "keep", // as xterm's RIS
	} {
		if got := scan(stream, len(stream)).Title; got != want {
			t.Errorf("%.60q: title %.60q, want %.60q", stream, got, want)
		}
	}
}

func TestScannerDirectory(t *testing.T) {
	for stream, want := range map[string]string{
		"7;file:///home/me":          "/home/me",
		"7;file://localhost/a%20b":   "/a b",
		"7;file://BOX.example.org/x": "/x",
		"7;file://box/caf%C3%a9":     "/café",
		"7;FILE://box/":              "/",
		"7;file://elsewhere/x":       "/before",
		"7;file://user@box/x":        "/before",
		"7;file://box":               "/before",
		"7;http:///x":                "/before",
		"7;/x":                       "/before",
		"7;":                         "",
		"7;file:///100%/raw %zz%4":   "/100%/raw %zz%4",
		"7;file:///a?b#c;d":          "/a?b#c;d",
		"7;file:///nul%00":           "/before",
		"7;file:///new%0aline":       "/new\nline",
		"7;file:///raw\nline":        "/before",
		"7;file:///bytes%ff":         "", // not UTF-8, so it cannot be reported
		"7;file:///bytes\xff":        "",
		"7;file:///" + strings.Repeat("x", pathBytes-1):     "/" + strings.Repeat("x", pathBytes-1),
		"7;file:///" + strings.Repeat("x", pathBytes):       "/before",
		"7;file:///" + strings.Repeat("%41", pathBytes-1):   "/" + strings.Repeat("A", pathBytes-1),
		"7;file:///" + strings.Repeat("%41", stringBytes/3): "/before",
		"9;9;/conemu":                        "/conemu",
		`9;9;"C:\Users\me"`:                  `C:\Users\me`,
		"9;9;relative":                       "/before",
		"9;4;1;50":                           "/before",
		"9;a notification":                   "/before",
		"633;P;Cwd=/vs\\x20code\\x3b\\\\x41": `/vs code;\x41`,
		"633;P;Cwd=/vs;nonce":                "/vs",
		"633;P;IsWindows=False":              "/before",
		"633;A":                              "/before",
		"1337;CurrentDir=/iterm 2;%41":       "/iterm 2;%41",
		"1337;RemoteHost=me@elsewhere":       "/before",
		"133;A":                              "/before",
		"77;file:///x":                       "/before",
	} {
		for _, end := range []string{"\x07", "\x1b\\"} {
			if got := scan("\x1b]7;file:///before\x07\x1b]"+stream+end, 1<<20).Directory; got != want {
				t.Errorf("%.60q: directory %.60q, want %.60q", stream, got, want)
			}
		}
	}
}

func TestScannerBells(t *testing.T) {
	for stream, want := range map[string]int64{
		"a\ab\a\a\x1b[1mc\ad":           4,
		"\x1b[3\a1m\x1b\a[0m":           2, // a control inside of a sequence
		"\x1b(\aB":                      1,
		"\x1b]0;title\a\a":              1,
		"\x1bPdcs\a\x1b\\":              0,
		"\x1b]0;x\x18\a":                1,
		"\x1b]0;x\x1b[m\a":              1,
		strings.Repeat("\a", 1000):      1000,
		"\x1b]0;t\a\x1b[m" + "\a\xc2\a": 2,
	} {
		if got := scan(stream, len(stream)).Bells; got != want {
			t.Errorf("%q: %d bells, want %d", stream, got, want)
		}
	}
}

func TestScannerModes(t *testing.T) {
	all := Modes{true, true, true, true, true, MouseAny, MouseSGR, false, false}
	const on = "\x1b[?1;2004;1049;1004h\x1b=\x1b[?1000h\x1b[?1003h\x1b[?1006h"
	with := func(change func(*Modes)) Modes {
		m := all
		change(&m)
		return m
	}
	for stream, want := range map[string]Modes{
		"":                            all,
		"\x1bc":                       {},
		"\x1b[!p":                     with(func(m *Modes) { m.ApplicationCursor, m.ApplicationKeypad = false, false }),
		"\x1b[?1l":                    with(func(m *Modes) { m.ApplicationCursor = false }),
		"\x1b>":                       with(func(m *Modes) { m.ApplicationKeypad = false }),
		"\x1b[?66l":                   with(func(m *Modes) { m.ApplicationKeypad = false }),
		"\x1b[?66l\x1b[?66h":          all,
		"\x1b[?2004l":                 with(func(m *Modes) { m.BracketedPaste = false }),
		"\x1b[?1047l":                 with(func(m *Modes) { m.AlternateScreen = false }),
		"\x1b[?47l":                   with(func(m *Modes) { m.AlternateScreen = false }),
		"\x1b[?1004l":                 with(func(m *Modes) { m.FocusEvents = false }),
		"\x1b[?1000l":                 with(func(m *Modes) { m.Mouse = MouseOff }), // as in xterm
		"\x1b[?9h":                    with(func(m *Modes) { m.Mouse = MouseX10 }),
		"\x1b[?1002h":                 with(func(m *Modes) { m.Mouse = MouseButton }),
		"\x1b[?1005l":                 all, // another encoding is on
		"\x1b[?1006l":                 with(func(m *Modes) { m.MouseEncoding = MouseLegacy }),
		"\x1b[?1005h":                 with(func(m *Modes) { m.MouseEncoding = MouseUTF8 }),
		"\x1b[?1015h":                 with(func(m *Modes) { m.MouseEncoding = MouseURXVT }),
		"\x1b[?1016h":                 with(func(m *Modes) { m.MouseEncoding = MouseSGRPixels }),
		"\x1b[?25;1;7l":               with(func(m *Modes) { m.ApplicationCursor = false }),
		"\x1b[?\r1l":                  with(func(m *Modes) { m.ApplicationCursor = false }),
		"\x1b[?;1l":                   with(func(m *Modes) { m.ApplicationCursor = false }),
		"\x1b[1l\x1b[4l":              all, // not private
		"\x1b[?1$p\x1b[?1s\x1b[>1l":   all,
		"\x1b[?1:0l\x1b[1?1l":         all,
		"\x1b[?65537l\x1b[?10000001l": all,
		"\x1b[?1\x18l\x1b[?1\x1al":    all,
		"\x1b[?1\xc3\xa9l":            all,
		"\x1b[?1\x1b[?l":              all,
		"\x1b(c\x1b#8\x1b%G":          all,
		"\x1b]0;\x1bc":                {}, // aborts the string, and resets
		"\x1b[" + strings.Repeat("1;", 40) + "1m":     all,
		"\x1b[?" + strings.Repeat("0;", 29) + "1l":    with(func(m *Modes) { m.ApplicationCursor = false }),
		"\x1b[?" + strings.Repeat("0;", 30) + "1l":    all, // more parameters than xterm takes
		"\x1b[?" + strings.Repeat("9", 100_000) + "l": all,
	} {
		if got := scan(on+stream, len(on+stream)).Modes; got != want {
			t.Errorf("%.60q: %+v, want %+v", stream, got, want)
		}
	}
}

// material are the parts of random streams: the controls, and pieces of all that a scanner searches for.
var material = []string{
	"\x1b", "\x1b", "[", "]", "?", "h", "l", "p", "!", "t", ";", "\a", "\a", "\x18", "\x1a", "\\", "c", "=", ">", "(", "P", "_",
	"0;", "2;", "7;", "file://", "/", "box", "%41", "é", "\xff", "\x9b", "1", "1049", "2004", "1000", "22", "23", "m", "\r\n", "text ",
	"\x1b[?1h", "\x1b]0;x\a", "\x1b[31m", "\x1b[22;0t", "\x1b[23t", "\x1b]7;file:///a\x1b\\",
}

// TestScannerSeesNoEdges checks that the result does not depend on how a stream is cut, even into single bytes.
func TestScannerSeesNoEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	changed := 0
	for range 3000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(material[r.IntN(len(material))])
		}
		stream := b.String()
		whole := scan(stream, 1<<20)
		if whole != (Told{}) {
			changed++
		}
		for _, size := range []int{1, 2, 3, 1 + r.IntN(20)} {
			if got := scan(stream, size); got != whole {
				t.Fatalf("%q in pieces of %d:\n%+v, whole\n%+v", stream, size, got, whole)
			}
		}
	}
	if changed < 1000 {
		t.Errorf("only %d of 3000 streams said anything", changed)
	}
}

// TestScannerIsBounded checks that an endless string, endless parameters and endless pushes use next to no memory.
func TestScannerIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine computes: the race detector sees nothing here, and takes ten times as long")
	}
	for name, c := range map[string]struct{ head, body, tail string }{
		"title":      {"\x1b]0;", strings.Repeat("x", 1<<10), "\x07"},
		"cut title":  {"\x1b]0;", strings.Repeat("x", 1<<10), "\x18"},
		"clipboard":  {"\x1b]52;c;", strings.Repeat("QUJD", 1<<8), "\x1b\\"},
		"sixel":      {"\x1bPq", strings.Repeat("#1", 1<<9), "\x1b\\"},
		"parameters": {"\x1b[?", strings.Repeat("1;", 1<<9), "h"},
		"number":     {"\x1b[?", strings.Repeat("9", 1<<10), "h"},
		"pushes":     {"", "\x1b]0;" + strings.Repeat("y", titleBytes) + "\x07" + strings.Repeat("\x1b[22t", 100), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewScanner("")
			s.Scan([]byte(c.head))
			body := []byte(c.body)
			for range 10 << 10 {
				s.Scan(body)
				if cap(s.text) > 2*stringBytes || len(s.titles) > titleStack {
					t.Fatalf("it holds %d bytes and %d titles", cap(s.text), len(s.titles))
				}
			}
			s.Scan([]byte(c.tail + "\x1b]2;after\x07"))
			if cap(s.text) > 512 || s.Told().Title != "after" {
				t.Errorf("%d bytes are left, title %.20q", cap(s.text), s.Told().Title)
			}
		})
	}
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte("\x1b]0;t\a\x1b[?1;1000h\x1b]7;file:///a%20b\x1b\\"), uint8(3))
	for _, m := range material {
		f.Add([]byte("\x1b[?2004h"+m+m+"\x1b]2;x"), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		whole, cut := scan(string(stream), len(stream)+1), scan(string(stream), int(size)+1)
		if whole != cut {
			t.Errorf("whole %+v, in pieces %+v", whole, cut)
		}
		if len(whole.Title) > titleBytes || len(whole.Directory) > pathBytes || strings.ContainsAny(whole.Title, "\x00\n\x1b\x7f") {
			t.Errorf("told %+v", whole)
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	line := func(format string) []byte {
		var out []byte
		for i := range 1000 {
			out = fmt.Appendf(out, format, i)
		}
		return out
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"plain", line("%d: the quick brown fox jumps over the lazy dog, and on it goes\r\n")},
		{"coloured", line("\x1b[32m%d\x1b[0m \x1b[1;34mINFO\x1b[0m the quick brown fox \x1b[38;5;196mjumps\x1b[0m\r\n")},
		{"utf8", line("%d: příliš žluťoučký kůň úpěl ďábelské ódy 日本語\r\n")},
		{"moves", line("\x1b[%d;1H\x1b[K\x1b[7mx\x1b[m\x1b[?25l\x1b[?25h")},
		{"titles", line("\x1b]0;%d\x07text")},
		{"bells", []byte(strings.Repeat("\a", 64<<10))},
		{"sixel", []byte("\x1bPq" + strings.Repeat("#0~~@@vv@@~~$", 5000) + "\x1b\\")},
		{"queries", line("\x1b[6n\x1b[c\x1b]11;?\x07%d")},
		{"escapes", []byte(strings.Repeat("\x1b", 64<<10))},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := NewScanner("box")
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			for b.Loop() {
				s.Scan(c.data)
				s.Queries()
			}
		})
	}
}
