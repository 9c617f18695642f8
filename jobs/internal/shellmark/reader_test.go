package shellmark

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const nonce = "0123456789abcdef0123456789abcdef"

func marked(payload string) string { return opening + nonce + ";" + payload + "\a" }

// read passes pieces to a Reader, and returns all its output, with the positions of marks in it.
func read(pieces ...string) (string, []Mark) {
	r := NewReader(nonce)
	var out []byte
	var all []Mark
	for _, piece := range pieces {
		b, marks := r.Read([]byte(piece))
		for _, m := range marks {
			m.At += len(out)
			all = append(all, m)
		}
		out = append(out, b...)
	}
	return string(append(out, r.Close()...)), all
}

var readings = []struct {
	name, in, out string
	marks         []Mark
}{
	{name: "nothing"},
	{name: "plain", in: "abc\r\ndef", out: "abc\r\ndef"},
	{
		name: "a command that was typed", in: "$ " + marked("R") + "ls\r\n" + marked("B;0;ls") + "a\r\n" + marked("E;0;1;/a%3Bb%0A;ls") + "$ ",
		out: "$ ls\r\na\r\n$ ",
		marks: []Mark{
			{Kind: Ready, At: 2}, {Kind: Began, At: 6, Text: "ls"}, {Kind: Ended, At: 9, Exit: 1, Cwd: "/a;b\n", Text: "ls"},
		},
	},
	{
		name: "a directory that is not exact, until the hook tells it", in: marked("B;1;") + "a" + marked("e;1;/x^A\\n") + "%   \r" + marked("E;1;1;/x%01%0A") + "$ " + marked("R"),
		out:   "a%   \r$ ",
		marks: []Mark{{Kind: Began, Seq: 1}, {Kind: Ended, At: 1, Seq: 1, Exit: 1, Cwd: "/x\x01\n"}, {Kind: Ready, At: 8}},
	},
	{
		name: "the same where no hook tells it", in: marked("B;1;") + "a" + marked("e;1;/x^A") + "$ " + marked("R"),
		out:   "a$ ",
		marks: []Mark{{Kind: Began, Seq: 1}, {Kind: Ended, At: 1, Seq: 1, Exit: 1, Cwd: "/x^A"}, {Kind: Ready, At: 3}},
	},
	{
		name: "one of ours", in: "$ " + marked("L;1;1") + ` \builtin eval "$__shelld_c"` + "\r\n\x1b[?2004l\rcat\r\n" + marked("B;1;") + "x" + marked("E;1;0;/") + "\r\n",
		out:   "$ \x1b[?2004lcat\r\nx\r\n",
		marks: []Mark{{Kind: Loaded, Seq: 1, At: 2}, {Kind: Began, At: 15, Seq: 1}, {Kind: Ended, At: 16, Seq: 1, Cwd: "/"}},
	},
	{
		name: "drawn twice, in colours, wrapped, beside output of another",
		in: marked("L;1;1") + "noise\r\n" + " set __shelld_b 1; builtin eval \"$__shelld_e$__shelld_c\"\r\x1b[7C\x1b[34mset __she\r\nlld_b\x1b[m 1; builtin eval \x1b[33m\"$__shelld_e$__shelld_c\"\x1b[m\x1b(B\r\n" +
			marked("R") + "\x1b]0;t\a\rtext\r\n" + marked("B;1;"),
		out:   "noise\r\n\x1b[34m\x1b[m\x1b[33m\x1b[m\x1b(B\x1b]0;t\atext\r\n",
		marks: []Mark{{Kind: Loaded, Seq: 1}, {Kind: Began, At: 38, Seq: 1}},
	},
	{
		name: "no line where one should be", in: marked("L;1;1") + "eval $x\r\n" + marked("B;1;"), out: "eval $x\r\n",
		marks: []Mark{{Kind: Loaded, Seq: 1}, {Kind: Began, At: 9, Seq: 1}},
	},
	{
		name: "as it stands", in: marked("L;1;0") + "eval \"$__shelld_c\"\r\n" + marked("B;1;"), out: "eval \"$__shelld_c\"\r\n",
		marks: []Mark{{Kind: Loaded, Seq: 1}, {Kind: Began, At: 20, Seq: 1}},
	},
	{
		name: "too much before it begins", in: marked("L;1;1") + strings.Repeat("x", maxRegion) + `\builtin eval "$__shelld_c"` + marked("B;1;"),
		out:   strings.Repeat("x", maxRegion) + `\builtin eval "$__shelld_c"`,
		marks: []Mark{{Kind: Loaded, Seq: 1}, {Kind: Began, At: maxRegion + 27, Seq: 1}},
	},
	{
		name: "told twice, or out of turn", in: marked("E;0;1;/") + marked("B;0;x") + marked("R") + marked("L;1;1") + "o" + marked("e;2;/a;%41") + marked("E;0;0;/b") + marked("H;2;3"),
		out:   "o",
		marks: []Mark{{Kind: Began, Text: "x"}, {Kind: Ended, At: 1, Exit: 2, Cwd: "/a;%41"}, {Kind: Ran, Seq: 2, At: 1, Exit: 3}},
	},
	{
		name: "a prompt that is drawn again for a key of ours", in: "abc$ " + marked("R") + "\r\x1b[K\r" + marked("L;1;0;1") + marked("e;0;/") + "$ " + marked("R") + "ls\r\n" + marked("B;1;"),
		out:   "abc$ ls\r\n",
		marks: []Mark{{Kind: Ready, At: 5}, {Kind: Loaded, Seq: 1, At: 5}, {Kind: Ready, At: 5}, {Kind: Began, At: 9, Seq: 1}},
	},
	{
		name: "the same with a line of ours behind it", in: "abc$ " + marked("R") + "\r\x1b[K" + marked("L;1;1;1") + "$ " + marked("R") + ` \builtin eval "$__shelld_c" ` + "\r\ncat\r\n" + marked("B;1;"),
		out:   "abc$ cat\r\n",
		marks: []Mark{{Kind: Ready, At: 5}, {Kind: Loaded, Seq: 1, At: 5}, {Kind: Began, At: 10, Seq: 1}},
	},
	{
		name: "the same for hidden code, twice", in: "abc$ " + marked("R") + "\r\x1b[K\r" + marked("H;3;2;1") + "$ " + marked("R") + "\x1b[K\x1b[A\r\x1b[K" + marked("H;4;0;1") + "$ " + marked("R") + "x",
		out:   "abc$ x",
		marks: []Mark{{Kind: Ready, At: 5}, {Kind: Ran, Seq: 3, At: 5, Exit: 2}, {Kind: Ready, At: 5}, {Kind: Ran, Seq: 4, At: 5}, {Kind: Ready, At: 5}},
	},
	{
		name: "what was typed is erased", in: "$ " + marked("R") + "x\r\x1b[K\r" + marked("L;1;0;1") + "$ " + marked("R") + "ls\r\n" + marked("B;1;"),
		out:   "$ x\r\x1b[K\r$ ls\r\n",
		marks: []Mark{{Kind: Ready, At: 2}, {Kind: Loaded, Seq: 1, At: 8}, {Kind: Ready, At: 10}, {Kind: Began, At: 14, Seq: 1}},
	},
	{
		name: "a prompt that does not come again", in: "$ " + marked("R") + "\r\x1b[K" + marked("L;1;0;1") + "% ls\r\n" + marked("B;1;"),
		out:   "$ \r\x1b[K% ls\r\n",
		marks: []Mark{{Kind: Ready, At: 2}, {Kind: Loaded, Seq: 1, At: 2}, {Kind: Began, At: 12, Seq: 1}},
	},
	{
		name: "erased for another key binding", in: "$ " + marked("R") + "\r\x1b[K\x1b[B" + marked("R") + "\r\x1b[" + marked("L;1;0"),
		out: "$ \r\x1b[K\x1b[B\r\x1b[", marks: []Mark{{Kind: Ready, At: 2}, {Kind: Ready, At: 9}, {Kind: Loaded, Seq: 1, At: 12}},
	},
	{
		name: "a line that is interrupted before it begins", in: marked("R") + marked("L;1;1") + ` \builtin eval "$__shelld_c"` + "^C\r\n" + marked("D;1;x") + "$ " + marked("R") + marked("L;2;0") + "ls^C" + marked("e;130;/") + marked("D;2") + marked("D;2"),
		out:   "^C\r\n$ ls^C",
		marks: []Mark{{Kind: Ready}, {Kind: Loaded, Seq: 1}, {Kind: Dropped, Seq: 1, At: 4}, {Kind: Ready, At: 6}, {Kind: Loaded, Seq: 2, At: 6}, {Kind: Dropped, Seq: 2, At: 10}},
	},
	{
		name: "a line that fish has dropped", in: marked("D;0") + marked("L;1;1") + ` set __shelld_b 1; builtin eval "$__shelld_e$__shelld_c"` + "^C" + marked("D;1") + "\r\n" + marked("R"),
		out: "^C\r\n", marks: []Mark{{Kind: Loaded, Seq: 1}, {Kind: Dropped, Seq: 1, At: 2}, {Kind: Ready, At: 4}},
	},
	{
		name: "the same before the prompt stands again", in: "$ " + marked("R") + "\r\x1b[K" + marked("L;1;0;1") + "$ ^C\r\n" + marked("D;1") + "$ " + marked("R"),
		out:   "$ \r\x1b[K$ ^C\r\n$ ",
		marks: []Mark{{Kind: Ready, At: 2}, {Kind: Loaded, Seq: 1, At: 2}, {Kind: Dropped, Seq: 1, At: 12}, {Kind: Ready, At: 14}},
	},
	{
		name: "what is told once more before hidden code runs", in: "abc$ " + marked("R") + "\r\x1b[K\r" + marked("E;0;0;/") + marked("H;3;2;1") + "$ " + marked("R") + "x",
		out:   "abc$ x",
		marks: []Mark{{Kind: Ready, At: 5}, {Kind: Ran, Seq: 3, At: 5, Exit: 2}, {Kind: Ready, At: 5}},
	},
	{
		name: "what is told once more", in: marked("L;3;0") + "a\r\n" + marked("B;3") + "x" + marked("B;3") + "y" + marked("E;3;1;/a") + marked("R") + marked("E;3;1;/a") + marked("B;3") + marked("D;3") + marked("E;2;0;/") + marked("R") + marked("B;0;b") + marked("E;0;0;/b") + marked("E;0;0;/b"),
		out: "a\r\nxy",
		marks: []Mark{
			{Kind: Loaded, Seq: 3}, {Kind: Began, Seq: 3, At: 3}, {Kind: Ended, Seq: 3, At: 5, Exit: 1, Cwd: "/a"}, {Kind: Ready, At: 5}, {Kind: Ready, At: 5},
			{Kind: Began, At: 5, Text: "b"}, {Kind: Ended, At: 5, Cwd: "/b"},
		},
	},
	{
		name: "an end whose beginning an interrupt has taken away", in: marked("L;3;1") + ` \builtin eval "$__shelld_c"` + "^C\r\n" + marked("E;3;130;/a") + "$ " + marked("R") + "^C" + marked("E;3;130;/a") + marked("R"),
		out:   "^C\r\n$ ^C",
		marks: []Mark{{Kind: Loaded, Seq: 3}, {Kind: Began, Seq: 3, At: 4}, {Kind: Ended, Seq: 3, At: 4, Exit: 130, Cwd: "/a"}, {Kind: Ready, At: 6}, {Kind: Ready, At: 8}},
	},
	{
		name: "an end whose beginning a signal has kept from being written", in: marked("L;3;1") + ` \builtin eval "$__shelld_c"` + "\r\none\r\n" + marked("E;3;0;/a") + "$ " + marked("R"),
		out:   "one\r\n$ ",
		marks: []Mark{{Kind: Loaded, Seq: 3}, {Kind: Began, Seq: 3}, {Kind: Ended, Seq: 3, At: 5, Cwd: "/a"}, {Kind: Ready, At: 7}},
	},
	{
		name: "the same behind another whose end went with it", in: marked("B;3") + "a" + marked("E;4;0;/") + marked("B;0;c") + marked("E;6;1;/c") + marked("R"),
		out: "a",
		marks: []Mark{
			{Kind: Began, Seq: 3}, {Kind: Began, Seq: 4, At: 1}, {Kind: Ended, Seq: 4, At: 1, Cwd: "/"}, {Kind: Began, At: 1, Text: "c"},
			{Kind: Began, Seq: 6, At: 1}, {Kind: Ended, Seq: 6, At: 1, Exit: 1, Cwd: "/c"}, {Kind: Ready, At: 1},
		},
	},
	{
		name: "what was told to begin, and did not", in: marked("L;3;0") + marked("B;3") + "^C" + marked("D;3") + marked("e;0;/") + marked("D;3") + marked("R"),
		out:   "^C",
		marks: []Mark{{Kind: Loaded, Seq: 3}, {Kind: Began, Seq: 3}, {Kind: Ended, Seq: 3, At: 2, Exit: 130}, {Kind: Ready, At: 2}},
	},
	{name: "the marks of others", in: "\x1b]633;A\a\x1b]133;C\a\x1b]633;shelld;R\a", out: "\x1b]633;A\a\x1b]133;C\a\x1b]633;shelld;R\a"},
	{name: "another nonce", in: strings.ReplaceAll(marked("R"), "f;", "e;"), out: strings.ReplaceAll(marked("R"), "f;", "e;")},
	{name: "what no hook writes", in: "a" + marked("X") + marked("E;x;1;/") + marked("E;1;x;/") + marked("D;-1") + marked("L") + marked("") + "b", out: "ab"},
	{name: "a half at the end", in: "a" + opening + nonce[:30], out: "a" + opening + nonce[:30]},
	{name: "a whole one without its end", in: "a" + strings.TrimSuffix(marked("R"), "\a"), out: "a" + strings.TrimSuffix(marked("R"), "\a")},
	{name: "beginnings", in: "\x1b\x1b]\x1b]6\x1b]633;she" + marked("R") + "\x1b", out: "\x1b\x1b]\x1b]6\x1b]633;she\x1b", marks: []Mark{{Kind: Ready, At: 15}}},
}

func TestRead(t *testing.T) {
	for _, r := range readings {
		t.Run(r.name, func(t *testing.T) {
			out, marks := read(r.in)
			if out != r.out || !slices.Equal(marks, r.marks) {
				t.Fatalf("got  %q\nwant %q\ngot  %+v\nwant %+v", out, r.out, marks, r.marks)
			}
		})
	}
}

// TestSplits divides the input at each position, at two positions, and into single bytes.
func TestSplits(t *testing.T) {
	for _, r := range readings {
		if len(r.in) > 1000 {
			continue
		}
		check := func(pieces ...string) {
			t.Helper()
			if out, marks := read(pieces...); out != r.out || !slices.Equal(marks, r.marks) {
				t.Fatalf("%s: %q gave %q, %+v", r.name, pieces, out, marks)
			}
		}
		check(strings.Split(r.in, "")...)
		for i := range len(r.in) {
			check(r.in[:i], r.in[i:])
			for j := i; j < len(r.in); j += 7 {
				check(r.in[:i], r.in[i:j], r.in[j:])
			}
		}
	}
}

// TestFlush releases held output at each position: a mark that continues afterwards is still recognised.
func TestFlush(t *testing.T) {
	whole := "ab" + marked("R") + "c"
	for i := range len(whole) {
		r := NewReader(nonce)
		b, marks := r.Read([]byte(whole[:i]))
		out, n := string(b), len(marks)
		held := r.Held()
		b = r.Flush()
		if len(b) != held || r.Held() != 0 {
			t.Fatalf("%d: %d bytes were held, %q came", i, held, b)
		}
		out += string(b)
		if i < 2+len(r.prefix) && len(out) != i {
			t.Errorf("%d: %q is all that came", i, out)
		}
		b, marks = r.Read([]byte(whole[i:]))
		out += string(b)
		if n+len(marks) != 1 || !strings.HasSuffix(out, "c") || strings.Contains(out, "R\a") {
			t.Errorf("%d: %q, %d marks", i, out, n+len(marks))
		}
	}
	r := NewReader(nonce)
	r.Read([]byte(marked("L;1;1") + "eval"))
	if got := string(r.Flush()); got != "eval" || r.Held() != 0 {
		t.Errorf("%q", got)
	}
	if out, marks := r.Read([]byte("x" + marked("B;1;"))); string(out) != "x" || len(marks) != 1 || marks[0].At != 1 {
		t.Errorf("%q, %+v", out, marks)
	}
}

// FuzzReader checks that divisions of the input never lose a byte or change a mark, and that no other output becomes
// one.
func FuzzReader(f *testing.F) {
	for _, r := range readings {
		f.Add([]byte(r.in), uint16(7))
	}
	f.Fuzz(func(t *testing.T, p []byte, cut uint16) {
		at := min(int(cut), len(p))
		whole, marks := read(string(p))
		parts, again := read(string(p[:at]), string(p[at:]))
		if whole != parts || !slices.Equal(marks, again) {
			t.Fatalf("%q cut at %d: %q, %+v; whole: %q, %+v", p, at, parts, again, whole, marks)
		}
		if !bytes.Contains(p, []byte(opening+nonce)) && (whole != string(p) || len(marks) > 0) {
			t.Fatalf("%q gave %q, %+v", p, whole, marks)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	line := "the quick brown fox jumps over the lazy dog, and goes home again for a while\r\n"
	colours := "\x1b[32mdrwxr-xr-x\x1b[0m 2 \x1b[1;34muser\x1b[0m \x1b[38;5;208mgroup\x1b[0m 4096 \x1b[01;34mname\x1b[0m\r\n"
	for _, bench := range []struct{ name, text string }{{"text", line}, {"colours", colours}} {
		for _, size := range []int{4 << 10, 64 << 10} {
			p := []byte(strings.Repeat(bench.text, size/len(bench.text)+1)[:size])
			b.Run(fmt.Sprintf("%s/%d", bench.name, size), func(b *testing.B) {
				r := NewReader(nonce)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					r.Read(p)
				}
			})
		}
	}
}
