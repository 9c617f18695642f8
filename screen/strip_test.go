package screen

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// stripped returns a stream without its queries, taken in pieces of a size.
func stripped(t *testing.T, stream string, size int) string {
	t.Helper()
	var out, waiting []byte
	var open Open
	for len(stream) > 0 {
		n := min(size, len(stream))
		waiting = append(waiting, stream[:n]...)
		stream = stream[n:]
		var held int
		out, held, open = StripQueries(out, waiting, open)
		if held >= queryBytes || held > len(waiting) {
			t.Fatalf("%d bytes are held", held)
		}
		waiting = bytes.Clone(waiting[len(waiting)-held:])
	}
	return string(append(out, waiting...))
}

// without returns the same, based on the queries that a scanner has found.
func without(stream string) string {
	var b strings.Builder
	from := int64(0)
	for _, q := range ask(stream, 100) {
		b.WriteString(stream[from:q.From])
		if (Open{}).After([]byte(stream[from:q.From])).aborted() {
			b.WriteByte(can)
		}
		b.Write(appendControls(nil, []byte(stream[q.From:q.To])))
		from = q.To
	}
	return b.String() + stream[from:]
}

// shows returns the screen of a terminal after a stream.
func shows(stream string) string {
	term := NewTerminal(40, 12, 100)
	term.Write([]byte(stream))
	s := term.Snapshot(100)
	var b strings.Builder
	for _, l := range append(s.History, s.Lines...) {
		fmt.Fprintf(&b, "%q %v\n", l.FullText(), l.Runs())
	}
	fmt.Fprint(&b, s.Cursor)
	return b.String()
}

// The stripped stream shows the same as the whole one, whatever the queries have aborted.
func TestStrippedShowsTheSame(t *testing.T) {
	for i := range uint64(fewer(3000)) {
		g := newGrammar(7, i)
		var b strings.Builder
		for range 1 + g.IntN(12) {
			b.WriteString(g.sequence())
			if g.IntN(2) == 0 {
				b.WriteString(asking[g.IntN(len(asking))])
			}
		}
		stream := b.String()
		for _, size := range []int{1, 7, 1 << 20} {
			out := stripped(t, stream, size)
			if got, want := shows(out), shows(stream); got != want {
				t.Fatalf("seed %d: %q in pieces of %d became\n%q\nand shows\n%s, want\n%s", i, stream, size, out, got, want)
			}
		}
	}
}

func TestStripQueries(t *testing.T) {
	for stream, want := range map[string]string{
		"": "", "plain": "plain", "é\x1b[31mred": "é\x1b[31mred",
		"a\x1b[cb": "ab", "\x1b[6n\x1b[?6n\x1b[5n": "", "\x1b[>q\x1b[18t\x1bZ": "", "\x1b[?2004$p": "",
		"\x1b[2 q\x1b[22t\x1b[!p\x1b[?25h\x1b[1c":        "\x1b[2 q\x1b[22t\x1b[!p\x1b[?25h\x1b[1c",
		"\x1b]11;?\x07\x1b]11;#fff\x07":                  "\x1b]11;#fff\x07",
		"\x1b]0;title\x07\x1b]4;1;?\x1b\\x":              "\x1b]0;title\x07x",
		"\x1bP$qm\x1b\\\x1bPq#0~\x1b\\":                  "\x1bPq#0~\x1b\\",
		"\x1bP+q544e\x1b\\\x1bP$q\x18":                   "\x1bP$q\x18",
		"\x1b]11;?\x1b[c\x1b\\":                          "\x1b]11;?\x18\x1b\\",
		"\x1b[\r\ac\x1b[3\x1b[cx":                        "\r\a\x1b[3\x18x",
		"\x1b\x1b[c\x1b\x18[c":                           "\x1b\x18\x1b\x18[c",
		"\x1b]0;tit\x1b[cHELLO\r\nWORLD":                 "\x1b]0;tit\x18HELLO\r\nWORLD",
		"\x1b[3\x1b[c1mX\x1b(\x1bZB":                     "\x1b[3\x181mX\x1b(\x18B",
		"\xe4\x1b[c\xb8\xad\x1b[c\xe4\xb8\xad\x1b[c":     "\xe4\x18\xb8\xad\xe4\xb8\xad",
		"\x1bP1;1|17/ab\x1b\x1b[cX\x1b^a\a\x1b\\\x1b[cY": "\x1bP1;1|17/ab\x1b\x18X\x1b^a\a\x1b\\Y",
		"\x1b[?1;2":            "\x1b[?1;2",
		"\x1b[?u\x1b[c\x1b[?u": "\x1b[?u\x1b[?u", // not answered: left to other terminals
		"\x1b]10;?;" + strings.Repeat("x", queryBytes): "\x1b]10;?;" + strings.Repeat("x", queryBytes),
	} {
		for _, size := range []int{1, 2, 3, 1 << 20} {
			if got := stripped(t, stream, size); got != want {
				t.Errorf("%.60q in pieces of %d: %.60q, want %.60q", stream, size, got, want)
			}
		}
		if got := without(stream); got != want {
			t.Errorf("%.60q as a scanner has it: %.60q, want %.60q", stream, got, want)
		}
	}
}

func TestStripQueriesHolds(t *testing.T) {
	for stream, want := range map[string]int{
		"x": 0, "x\x1b": 1, "x\x1b[": 2, "\x1b[?25": 5, "\x1b[31m\x1b[3": 3, "\x1b]": 2, "\x1b]1": 3, "\x1b]0": 3, "\x1b]0;": 0, "\x1b]011": 5, "\x1b]02": 0, "\x1b]10;rgb": 8, "\x1b]13": 0, "\x1b]2;x": 0,
		"\x1bP": 2, "\x1bP+": 3, "\x1bPq": 0, "\x1bP$qm\x1b": 6, "\x1b]11;?\x1b": 7, "\x1b(": 0, "\x1b_": 0, "\x1bO": 0,
		"\x1b[" + strings.Repeat("1", queryBytes-3): queryBytes - 1,
		"\x1b[" + strings.Repeat("1", queryBytes-2): 0,
	} {
		out, held, _ := StripQueries(nil, []byte(stream), Open{})
		if held != want || string(out) != stream[:len(stream)-held] {
			t.Errorf("%.60q: %d bytes are held, and %q is out; want %d", stream, held, out, want)
		}
	}
}

func TestStripQueriesAsScanned(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(asking[r.IntN(len(asking))])
		}
		stream := b.String()
		want := without(stream)
		for _, size := range []int{1, 2, 3, 1 + r.IntN(20), 1 << 20} {
			if got := stripped(t, stream, size); got != want {
				t.Fatalf("%q in pieces of %d:\n%q, want\n%q", stream, size, got, want)
			}
		}
	}
}

func FuzzStripQueries(f *testing.F) {
	for _, m := range asking {
		f.Add([]byte(m+"\x1b[c"), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		want := without(string(stream))
		for _, n := range []int{int(size) + 1, len(stream) + 1} {
			if got := stripped(t, string(stream), n); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", stream, n, got, want)
			}
		}
	})
}

func BenchmarkStripQueries(b *testing.B) {
	var coloured, moves []byte
	for i := range 1000 {
		coloured = fmt.Appendf(coloured, "\x1b[32m%d\x1b[0m \x1b[1;34mINFO\x1b[0m the quick brown fox \x1b[38;5;196mjumps\x1b[0m\r\n", i)
		moves = fmt.Appendf(moves, "\x1b[%d;1H\x1b[K\x1b[7mx\x1b[m\x1b[?25l\x1b[?25h", i)
	}
	for name, data := range map[string][]byte{"coloured": coloured, "moves": moves, "plain": bytes.Repeat([]byte("plain text\r\n"), 5000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			var out []byte
			for b.Loop() {
				out, _, _ = StripQueries(out[:0], data, Open{})
			}
		})
	}
}
