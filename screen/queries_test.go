package screen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// ask reads all of a stream in pieces of a size, and returns the queries in it.
func ask(stream string, size int) (all []Query) {
	s := NewScanner("box")
	for len(stream) > 0 {
		n := min(size, len(stream))
		piece := []byte(stream[:n])
		s.Scan(piece)
		clear(piece)
		stream = stream[n:]
		asked, _ := s.Queries()
		all = append(all, asked...)
	}
	return all
}

// answers returns the typed answers to a stream; <FROM-TO> stands for those that need the screen.
func answers(stream string) string {
	var b strings.Builder
	for _, q := range ask(stream, 1<<20) {
		if q.Screen {
			fmt.Fprintf(&b, "<%d-%d>", q.From, q.To)
		}
		b.Write(q.Answer(Display{Cols: 132, Rows: 43, Version: "1.2 \x1b\xe9"}))
	}
	return b.String()
}

func TestQueries(t *testing.T) {
	for stream, want := range map[string]string{
		"": "", "plain\x05": "", // no answerback

		"\x1b[c": "\x1b[?62;22c", "\x1b[0c": "\x1b[?62;22c", "\x1b[1c": "", "\x1b[?c": "", "\x1bZ": "\x1b[?62;22c",
		"\x1b[>c": "\x1b[>1;10;0c", "\x1b[>0c": "\x1b[>1;10;0c", "\x1b[=c": "\x1bP!|00000000\x1b\\",
		"\x1b[?62;22c\x1b[>1;10;0c": "", // the answers, as a terminal's echo would show them

		"\x1b[5n": "\x1b[0n", "\x1b[0n": "", "\x1b[?5n": "", "\x1b[?15n": "\x1b[?13n", "\x1b[?25n": "\x1b[?20n", "\x1b[?26n": "\x1b[?27;1;0;0n", "\x1b[6n": "<0-4>", "ab\x1b[?6n": "<2-7>",

		"\x1b[>q": "\x1bP>|shelld(1.2 ??)\x1b\\", "\x1b[>0q": "\x1bP>|shelld(1.2 ??)\x1b\\", "\x1b[>1q": "", "\x1b[q": "",

		"\x1b[14t": "\x1b[4;688;1056t", "\x1b[14;2t": "\x1b[4;688;1056t", "\x1b[16t": "\x1b[6;16;8t",
		"\x1b[18t": "\x1b[8;43;132t", "\x1b[19t": "\x1b[9;43;132t",
		"\x1b]2;secret\a\x1b[21t": "\x1b]l\x1b\\", "\x1b[22t\x1b[23t\x1b[8;10;10t\x1b[11t\x1b[?14t": "",

		"\x1b[?u\x1b[>4;1m\x1b[1;1;1;1;1;1*y\x1b[x": "", // kitty's keys, checksums: not answered
		"\x1b[\rc":                "\x1b[?62;22c",
		"\x1b[c\x1b[5\x18n\x1b[c": "\x1b[?62;22c\x1b[?62;22c",
		"\x1b]0;\x1b[c":           "\x1b[?62;22c", // aborts the string
		"\x1b]0;[c\x1b[c\a":       "\x1b[?62;22c",
		"\x1bPtmux;\x1b[c\x1b\\":  "\x1b[?62;22c",

		"\x1b[" + strings.Repeat("0", queryBytes-3) + "c": "\x1b[?62;22c",
		"\x1b[" + strings.Repeat("0", queryBytes-2) + "c": "",
	} {
		if got := answers(stream); got != want {
			t.Errorf("%.60q: answered %q, want %q", stream, got, want)
		}
	}
}

func TestModeQueries(t *testing.T) {
	for _, c := range []struct{ stream, mode, want string }{
		{"", "?0", "0"}, {"", "?2027", "0"}, {"", "?1001", "0"}, {"", "?9999", "0"},
		{"\x1b[?2027h\x1b[?9999h", "?2027", "0"},
		{"", "?1", "2"}, {"\x1b[?1h", "?1", "1"},
		{"", "?3", "2"}, {"\x1b[?3h", "?3", "2"}, {"\x1b[?40;3h", "?3", "1"}, {"\x1b[?40h", "?40", "1"},
		{"", "?5", "2"}, {"\x1b[?5h", "?5", "1"}, {"\x1b[?6h", "?6", "1"},
		{"", "?7", "1"}, {"\x1b[?7l", "?7", "2"},
		{"\x1b[?9h", "?9", "1"}, {"\x1b[?9h", "?1000", "2"}, {"\x1b[?9h\x1b[?1003h", "?9", "2"},
		{"", "?12", "1"}, {"\x1b[2 q", "?12", "2"}, {"\x1b[2 q\x1b[?12h", "?12", "1"},
		{"", "?25", "1"}, {"\x1b[?25l", "?25", "2"}, {"\x1b[?25l\x1bc", "?25", "1"}, {"\x1b[?25l\x1b[!p", "?25", "1"},
		{"\x1b[?45;69;1045;95h", "?45", "1"}, {"\x1b[?45;69h", "?69", "1"}, {"\x1b[?45;69h\x1b[!p", "?69", "2"},
		{"\x1b=", "?66", "1"}, {"\x1b[?67h", "?67", "1"},
		{"\x1b[?1049h", "?47", "1"}, {"\x1b[?1049h", "?1047", "1"}, {"\x1b[?47h", "?1049", "1"}, {"", "?1049", "2"},
		{"\x1b[?1048h", "?1048", "1"},
		{"\x1b[?1000h", "?1000", "1"}, {"\x1b[?1002h", "?1000", "2"}, {"\x1b[?1002h", "?1002", "1"},
		{"\x1b[?1004h", "?1004", "1"}, {"", "?1004", "2"},
		{"", "?1005", "2"}, {"\x1b[?1005h", "?1005", "1"}, {"\x1b[?1006h", "?1006", "1"}, {"\x1b[?1006h", "?1015", "2"},
		{"\x1b[?1015h", "?1015", "1"}, {"\x1b[?1016h", "?1016", "1"},
		{"", "?2004", "2"}, {"\x1b[?2004h", "?2004", "1"}, {"\x1b[?2004h\x1bc", "?2004", "2"},
		{"\x1b[?6h\x1b7\x1b[?6l\x1b8", "?6", "1"}, {"\x1b[?6h\x1b[s\x1b[?6l\x1b[u", "?6", "1"}, {"\x1b[?6h\x1b[?1049h\x1b[?6l\x1b[?1049l", "?6", "1"},
		{"\x1b[?69h\x1b[?40h\x1b[?3h", "?69", "2"}, {"\x1b[?7s\x1b[?7l\x1b[?7r", "?7", "1"}, {"\x1b[?7s\x1bc\x1b[?7l\x1b[?7r", "?7", "2"},
		{"", "?41", "2"}, {"\x1b[?41h", "?41", "1"},
		{"", "?2026", "2"}, {"\x1b[?2026h", "?2026", "1"},
		{"", "", "0"}, {"", "1", "4"}, {"", "2", "2"}, {"\x1b[2h", "2", "1"}, {"", "3", "2"},
		{"", "4", "2"}, {"\x1b[4h", "4", "1"}, {"\x1b[4h\x1b[!p", "4", "2"}, {"\x1b[?4h", "4", "2"},
		{"", "12", "1"}, {"\x1b[12l", "12", "2"}, {"", "20", "2"}, {"\x1b[20h", "20", "1"}, {"", "99", "0"},
	} {
		mode := c.mode
		if mode == "" || mode == "?" {
			mode += "0"
		}
		want := "\x1b[" + mode + ";" + c.want + "$y"
		if got := answers(c.stream + "\x1b[" + c.mode + "$p"); got != want {
			t.Errorf("%q, mode %s: %q, want %q", c.stream, c.mode, got, want)
		}
	}
}

func TestStringQueries(t *testing.T) {
	for stream, want := range map[string]string{
		"\x1bP$qm\x1b\\": "<0-7>", "\x1bP$qr\x1b\\": "<0-7>", "\x1bP$qs\x1b\\": "<0-7>",
		"\x1bP$q q\x1b\\":                                        "\x1bP1$r1 q\x1b\\",
		"\x1b[2 q\x1bP$q q\x1b\\":                                "\x1bP1$r2 q\x1b\\",
		"\x1b[5 q\x1b[?12l\x1bP$q q\x1b\\":                       "\x1bP1$r6 q\x1b\\",
		"\x1b[4 q\x1b[9 q\x1bP$q q\x1b\\":                        "\x1bP1$r4 q\x1b\\",
		"\x1b[4 q\x1b[ q\x1bP$q q\x1b\\":                         "\x1bP1$r1 q\x1b\\",
		"\x1bP$q\"p\x1b\\":                                       "\x1bP1$r62;1\"p\x1b\\",
		"\x1bP$q\"q\x1b\\":                                       "\x1bP1$r0\"q\x1b\\",
		"\x1b[1\"q\x1bP$q\"q\x1b\\":                              "\x1bP1$r1\"q\x1b\\",
		"\x1b[1\"q\x1b[2\"q\x1bP$q\"q\x1b\\":                     "\x1bP1$r0\"q\x1b\\",
		"\x1bP$q\x1b\\\x1bP$qt\x1b\\":                            "\x1bP0$r\x1b\\\x1bP0$r\x1b\\",
		"\x1bP$qm\a\x1b\\\x1bP1$qm\x1b\\\x1bP\x1b\\\x1bP$\x1b\\": "",
		"\x1bP$qm\x18\x1bP$qm\x1b[m\x1bX$qm\x1b\\":               "",

		"\x1bP+q544e\x1b\\":                  "\x1bP1+r544e=787465726D2D323536636F6C6F72\x1b\\",
		"\x1bP+q436F;636f6c6f7273\x1b\\":     "\x1bP1+r436F=323536\x1b\\\x1bP1+r636f6c6f7273=323536\x1b\\",
		"\x1bP+q4D73;524742\x1b\\":           "\x1bP0+r\x1b\\\x1bP1+r524742=38\x1b\\",
		"\x1bP+q\x1b\\\x1bP+qrm -rf\n\x1b\\": "\x1bP0+r\x1b\\\x1bP0+r\x1b\\",
		"\x1bP+Q544e\x1b\\\x1bP+p544e\x1b\\": "",

		"\x1b]4;1;?\a":                            "\x1b]4;1;rgb:cdcd/0000/0000\a",
		"\x1b]4;255;?\x1b\\":                      "\x1b]4;255;rgb:eeee/eeee/eeee\x1b\\",
		"\x1b]4;0;?;7;?\a":                        "\x1b]4;0;rgb:0000/0000/0000\a\x1b]4;7;rgb:e5e5/e5e5/e5e5\a",
		"\x1b]4;256;?\a\x1b]4;?\a":                "",
		"\x1b]4;1\a\x1b]4;x;?\a":                  "",
		"\x1b]10;?\a":                             "\x1b]10;rgb:e5e5/e5e5/e5e5\a",
		"\x1b]11;?\x1b\\":                         "\x1b]11;rgb:0000/0000/0000\x1b\\",
		"\x1b]10;?;?;?;?\a":                       "\x1b]10;rgb:e5e5/e5e5/e5e5\a\x1b]11;rgb:0000/0000/0000\a\x1b]12;rgb:e5e5/e5e5/e5e5\a",
		"\x1b]12;?\x18\x1b]13;?\a":                "",
		"\x1b]011;?\a\x1b]10\a":                   "\x1b]11;rgb:0000/0000/0000\a",
		"\x1b]+11;?\a\x1b]1x;?\a":                 "",
		"\x1b]11;?\u009c":                         "\x1b]11;rgb:0000/0000/0000\x1b\\",
		"\x1b]11;#102030\a\x1b]11;?\a":            "\x1b]11;rgb:1010/2020/3030\a",
		"\x1b]11;#102030\a\x1b]111\a\x1b]11;?\a":  "\x1b]11;rgb:0000/0000/0000\a",
		"\x1b]11;#102030\a\x1b]111;\a\x1b]11;?\a": "\x1b]11;rgb:0000/0000/0000\a",
		"\x1b]11;#102030\a\x1bc\x1b]11;?\a":       "\x1b]11;rgb:0000/0000/0000\a",
		"\x1b]10;rgb:f/8/0;rgb:ff/80/00;RGB:ffff/8080/0\a\x1b]10;?;?;?\a":                                                     "\x1b]10;rgb:ffff/8888/0000\a\x1b]11;rgb:ffff/8080/0000\a\x1b]12;rgb:ffff/8080/0000\a",
		"\x1b]11;green\a\x1b]11;rgb:1/2\a\x1b]11;#12\a\x1b]11;#12345\a\x1b]11;rgb:fffff/0/0\a\x1b]11;rgb:+1/0/0\a\x1b]11;?\a": "\x1b]11;rgb:0000/0000/0000\a",
		"\x1b]4;1;#abc;2;#000111222\a\x1b]4;1;?;2;?\a":                                                                        "\x1b]4;1;rgb:a0a0/b0b0/c0c0\a\x1b]4;2;rgb:0000/1111/2222\a",
		"\x1b]4;1;#abc;2;#abc\a\x1b]104;2\a\x1b]4;1;?;2;?\a":                                                                  "\x1b]4;1;rgb:a0a0/b0b0/c0c0\a\x1b]4;2;rgb:0000/cdcd/0000\a",
		"\x1b]4;1;#abc;2;#abc\a\x1b]104\a\x1b]4;1;?\a\x1b]112\a":                                                              "\x1b]4;1;rgb:cdcd/0000/0000\a",
		"\x1b]4;1;#ab" + strings.Repeat("0", 40<<10) + "\a\x1b]4;1;?\a":                                                       "\x1b]4;1;rgb:cdcd/0000/0000\a",
	} {
		if got := answers(stream); got != want {
			t.Errorf("%.60q: answered %q, want %q", stream, got, want)
		}
	}
}

// asking are the parts of random streams with queries.
var asking = append([]string{
	"\x1b[c", "\x1b[6n", "\x1b[?6n", "\x1b[>q", "\x1b[?25$p", "\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\x1b]11;?\a", "\x1b]4;1;?\x1b\\",
	"\x1b]11;#123\a", "\x1b]111\a", "\x1b[18t", "$", "q", "+", "c", "n", "5", "6", "10;", "4;", "?",
}, material...)

func TestQueriesSeeNoEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 3000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(asking[r.IntN(len(asking))])
		}
		stream := b.String()
		whole := ask(stream, 1<<20)
		found += len(whole)
		for _, q := range whole {
			if q.From < 0 || q.To > int64(len(stream)) || stream[q.From] != esc || len(q.Answer(Display{})) == 0 != q.Screen {
				t.Fatalf("%q has %+v", stream, q)
			}
			if alone := ask(stream[q.From:q.To], 1<<20); len(alone) != 1 {
				t.Fatalf("%q is a query in %q, and none alone", stream[q.From:q.To], stream)
			}
		}
		for _, size := range []int{1, 2, 3, 1 + r.IntN(20)} {
			if got := ask(stream, size); fmt.Sprint(got) != fmt.Sprint(whole) {
				t.Fatalf("%q in pieces of %d:\n%+v, whole\n%+v", stream, size, got, whole)
			}
		}
	}
	if found < 5000 {
		t.Errorf("only %d queries in 3000 streams", found)
	}
}

// TestQueriesAreBounded checks that a program that asks without end, and is not answered, uses next to no memory.
func TestQueriesAreBounded(t *testing.T) {
	s := NewScanner("")
	flood := []byte(strings.Repeat("\x1b[c\x1b]10;?;?;?\a", 10_000))
	for range 10 {
		s.Scan(flood)
	}
	asked, dropped := s.Queries()
	if len(asked) == 0 || len(asked) > askedBytes/askedCost || len(asked)+dropped != 200_000 {
		t.Errorf("%d are kept, %d dropped", len(asked), dropped)
	}
	s.Scan([]byte("\x1b[c"))
	if asked, dropped = s.Queries(); len(asked) != 1 || dropped != 0 {
		t.Errorf("behind them %d, dropped %d", len(asked), dropped)
	}
}

// After a dropped query nothing more is answered, so that the answers are those of the first queries, without holes.
func TestDroppedQueriesLeaveNoHoles(t *testing.T) {
	s := NewScanner("")
	long := "\x1b]4" + strings.Repeat(";1;?", 100) + "\a" // its answer takes much
	for range 20 {
		s.Scan([]byte(long + "\x1b[c"))
	}
	asked, dropped := s.Queries()
	for i, q := range asked {
		if (i%2 == 0) != q.Colour {
			t.Fatalf("query %d is %.40q", i, q.Answer(Display{}))
		}
	}
	if len(asked) == 0 || len(asked)+dropped != 40 {
		t.Errorf("%d are kept, %d dropped", len(asked), dropped)
	}
}

// Queries that are dropped cost no more than others.
func BenchmarkQueriesInVain(b *testing.B) {
	data := []byte("\x1b]4" + strings.Repeat(";1;?", 4000) + "\a")
	b.SetBytes(int64(len(data)))
	s := NewScanner("")
	for b.Loop() {
		s.Scan(data)
	}
}

func FuzzQueries(f *testing.F) {
	for _, m := range asking {
		f.Add([]byte(m+"\x1b[c"), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		whole, cut := ask(string(stream), len(stream)+1), ask(string(stream), int(size)+1)
		if len(stream) < askedBytes/askedCost && fmt.Sprint(whole) != fmt.Sprint(cut) {
			t.Errorf("whole %+v, in pieces %+v", whole, cut)
		}
		for _, q := range whole {
			for _, c := range q.Answer(Display{80, 24, "v"}) {
				if c < 0x20 && c != esc && c != bel || c >= del {
					t.Errorf("%q is answered %q", stream[q.From:q.To], q.Answer(Display{80, 24, "v"}))
				}
			}
		}
	})
}
