package match

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	StopClock()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func compile(t testing.TB, pattern, flags string) *Pattern {
	t.Helper()
	p, err := Compile(pattern, flags)
	if err != nil {
		t.Fatalf("Compile(%q, %q): %v", pattern, flags, err)
	}
	return p
}

// compileUnhurried removes the time limit of a pattern, for tests that are not about time and may run on a busy
// machine.
func compileUnhurried(t testing.TB, pattern, flags string) *Pattern {
	t.Helper()
	p := compile(t, pattern, flags)
	p.engine.setLimit(0)
	return p
}

// texts returns hits as "start-end text", or the reason of a removal.
func texts(hits []Hit) []string {
	list := []string{}
	for _, h := range hits {
		if h.Removed != nil {
			list = append(list, h.Removed.Error())
			continue
		}
		list = append(list, fmt.Sprintf("%d-%d %s", h.Match.Start, h.Match.End, h.Match.Text))
	}
	return list
}

// Steps of a table: the bytes fed, "|" for Settle; the hits of each follow "→".
func TestWhenMatchesCount(t *testing.T) {
	type step struct {
		feed string // settle, if "<settle>"
		want string // texts, joined by commas
	}
	const settle = "<settle>"
	for _, test := range []struct {
		name, pattern, flags string
		raw                  bool
		steps                []step
	}{
		{"a literal prompt at once", `>>> `, "", false, []step{{">>", ""}, {"> ", "0-4 >>> "}, {settle, ""}}},
		{"alternative prompts at once", `>>> |\.\.\. `, "", false, []step{{"... ", "0-4 ... "}}},
		{"greedy digits wait", `(\d+)`, "", false, []step{{"12", ""}, {"3", ""}, {settle, "0-3 123"}}},
		{"greedy digits end", `(\d+)`, "", false, []step{{"12", ""}, {" ", "0-2 12"}}},
		{"digits and a blank at once", `(\d+) `, "", false, []step{{"12", ""}, {" ", "0-3 12 "}}},
		{"longer first waits", `foobar|foo`, "", false, []step{{"foo", ""}, {"b", ""}, {"x", "0-3 foo"}}},
		{"longer first comes", `foobar|foo`, "", false, []step{{"foo", ""}, {"bar", "0-6 foobar"}}},
		{"shorter first at once", `foo|foobar`, "", false, []step{{"foo", "0-3 foo"}, {"bar", ""}}},
		{"an earlier start may win", `foobar|oo`, "", false, []step{{"foo", ""}, {"bar", "0-6 foobar"}}},
		{"an earlier start fails", `foobar|oo`, "", false, []step{{"foo", ""}, {"d", "1-3 oo"}}},
		{"end of text waits", `\$ $`, "", false, []step{{"~$ ", ""}, {settle, "1-3 $ "}}},
		{"end of text was none", `\$ $`, "", false, []step{{"~$ ", ""}, {"l", ""}, {settle, ""}}},
		{"end of line, m", `a$`, "m", false, []step{{"a", ""}, {"\r\n", "0-1 a"}}},
		{"word boundary waits", `foo\b`, "", false, []step{{"foo", ""}, {"-", "0-3 foo"}}},
		{"word goes on", `foo\b`, "", false, []step{{"foo", ""}, {"d", ""}, {settle, ""}}},
		{"lookahead waits", `foo(?=bar)`, "", false, []step{{"foo", ""}, {"ba", ""}, {"r", "0-3 foo"}}},
		{"negative lookahead waits", `foo(?!bar)`, "", false, []step{{"foo", ""}, {"ba", ""}, {"z", "0-3 foo"}}},
		{"negative lookahead settles", `foo(?!bar)`, "", false, []step{{"foo", ""}, {settle, "0-3 foo"}}},
		{"look-behind over chunks", `(?<=user: )\w+!`, "", false, []step{{"us", ""}, {"er: ", ""}, {"jo!", "6-9 jo!"}}},
		{"reference", `(["']).*?\1`, "", false, []step{{`a "b'`, ""}, {`c" d`, `2-7 "b'c"`}}},
		{"reference at the start", `(?=(a.))\1c|b`, "", false, []step{{"ab", ""}, {"c", "0-3 abc"}}},
		{"lazy at once", `a.*?b`, "", false, []step{{"axb", "0-3 axb"}}},
		{"dot stops at the line", `x.*`, "", false, []step{{"xy", ""}, {"z\n", "0-3 xyz"}}},
		{"across lines", `BEGIN[^]*?END`, "", false, []step{{"BEGIN\n1\n", ""}, {"2\nEN", ""}, {"D", "0-13 BEGIN\n1\n2\nEND"}}},
		{"no match twice", `aa`, "", false, []step{{"aaa", "0-2 aa"}, {"a", "2-4 aa"}}},
		{"empty matches are not reported", `x*`, "", false, []step{{"ab", ""}, {"xx", ""}, {"c", "2-4 xx"}, {settle, ""}}},
		{"only the start of the stream", `^a`, "", false, []step{{"a", "0-1 a"}, {"a\na", ""}}},
		{"each line, m", `^a`, "m", false, []step{{"a", "0-1 a"}, {"a\n", ""}, {"a", "3-4 a"}}},
		{"escape sequences", `red text`, "", false, []step{{"\x1b[3", ""}, {"1mred\x1b[0", ""}, {"m te\x1b]0;t\x07xt", "5-23 red text"}}},
		{"escape sequences, raw", `\x1b\[31m(\w+)\x1b`, "", true, []step{{"\x1b[3", ""}, {"1mred\x1b", "0-9 \x1b[31mred\x1b"}}},
		{"a split character", `é!`, "", false, []step{{"\xc3", ""}, {"\xa9!", "0-3 é!"}}},
		{"bytes that are not UTF-8", `a\uFFFD{3}b`, "", false, []step{{"a\xff\xe2\x82", ""}, {"b", "0-5 a\uFFFD\uFFFD\uFFFDb"}}},
		{"a cut character is no character", `\uFFFD`, "", false, []step{{"\xe2\x82", ""}, {settle, ""}, {"x", "0-1 \uFFFD,1-2 \uFFFD"}}},
		{"settled, then more", `\d+`, "", false, []step{{"12", ""}, {settle, "0-2 12"}, {"34 ", "2-4 34"}}},
		{"an empty end takes nothing away", `foobar|$`, "", false, []step{{"foo", ""}, {settle, ""}, {"bar", "0-6 foobar"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := NewSet(0)
			s.Add(1, compile(t, test.pattern, test.flags), Options{Raw: test.raw})
			for i, step := range test.steps {
				pending := s.Pending()
				var hits []Hit
				if step.feed == settle {
					hits = s.Settle()
				} else {
					hits = s.Feed([]byte(step.feed))
				}
				if got := strings.Join(texts(hits), ","); got != step.want {
					t.Fatalf("step %d, %q: got %q, want %q", i, step.feed, got, step.want)
				}
				if step.feed == settle && len(hits) > 0 && !pending {
					t.Fatalf("step %d: Settle returned a match though Pending was false", i)
				}
			}
		})
	}
}

func TestMatchCarriesGroupsNamesAndLine(t *testing.T) {
	s := NewSet(1000)
	s.Add(7, compile(t, `(?<key>\w+)=(x)?(?<value>\d+);`, ""), Options{})
	hits := s.Feed([]byte("first\r\n\x1b[1mset \x1b[32mport=80; done\r\nlast"))
	if len(hits) != 1 {
		t.Fatalf("got %d hits, want 1", len(hits))
	}
	h := hits[0]
	str := func(s string) *string { return &s }
	want := Hit{ID: 7, Match: &Match{
		Start: 1020, End: 1028, Text: "port=80;", Line: "set port=80; done",
		Groups: []*string{str("port"), nil, str("80")},
		Named:  map[string]*string{"key": str("port"), "value": str("80")},
	}}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("got %+v, want %+v", h.Match, want.Match)
	}
}

func TestHitsAreInOrder(t *testing.T) {
	s := NewSet(0)
	s.Add(3, compile(t, `b`, ""), Options{})
	s.Add(2, compile(t, `ab`, ""), Options{Raw: true})
	s.Add(1, compile(t, `c`, ""), Options{})
	var got []string
	for _, h := range s.Feed([]byte("abcab")) {
		got = append(got, fmt.Sprintf("%d@%d", h.ID, h.Match.End))
	}
	if want := []string{"2@2", "3@2", "1@3", "2@5", "3@5"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOnceRemoveAndReplace(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `a`, ""), Options{Once: true})
	s.Add(2, compile(t, `a`, ""), Options{})
	s.Add(3, compile(t, `\d+`, ""), Options{Once: true})
	if got := s.Feed([]byte("aa1")); len(got) != 3 || s.Len() != 2 {
		t.Fatalf("got %v and %d patterns, want 3 matches and 2 patterns", texts(got), s.Len())
	}
	if got := texts(s.Settle()); len(got) != 1 || s.Len() != 1 {
		t.Fatalf("Settle: got %v and %d patterns, want the number and 1 pattern", got, s.Len())
	}
	s.Add(2, compile(t, `b`, ""), Options{Raw: true})
	if got := texts(s.Feed([]byte("ab"))); len(got) != 1 || got[0] != "4-5 b" {
		t.Fatalf("after the replacement: got %v, want 4-5 b", got)
	}
	s.Remove(2)
	s.Remove(99)
	if got := s.Feed([]byte("ab")); len(got) != 0 || s.Len() != 0 {
		t.Fatalf("after the removal: got %v", texts(got))
	}
}

// A pattern that is added later sees the same text as in a Set of its own.
func TestJoiningIsLikeAnOwnSet(t *testing.T) {
	for _, pattern := range []string{`^b`, `(?<=a)b`, `\Bb`, `b`, `(?<=^b)c`} {
		for _, raw := range []bool{false, true} {
			shared := NewSet(0)
			shared.Add(1, compile(t, `zzz`, ""), Options{Raw: raw})
			shared.Feed([]byte("line\n\x1b[1ma"))
			if !shared.AtStart() {
				t.Fatal("AtStart is false in plain text")
			}
			own := NewSet(shared.Offset())
			for _, s := range []*Set{shared, own} {
				s.Add(2, compile(t, pattern, ""), Options{Raw: raw})
			}
			rest := []byte("bcb\r\nb ")
			a := append(shared.Feed(rest), shared.Settle()...)
			b := append(own.Feed(rest), own.Settle()...)
			if !reflect.DeepEqual(a, b) || len(b) == 0 && pattern != `(?<=a)b` && pattern != `\Bb` {
				t.Errorf("/%s/ raw=%v: joined %v, in a Set of its own %v", pattern, raw, texts(a), texts(b))
			}
		}
	}
}

func TestAtStart(t *testing.T) {
	s := NewSet(5)
	for _, step := range []struct {
		feed string
		want bool
	}{{"", true}, {"a", true}, {"\x1b[", false}, {"1m", true}, {"\xe6\x97", false}, {"\xa5", true}, {"\x1b]0;", false}} {
		s.Feed([]byte(step.feed))
		if got := s.AtStart(); got != step.want {
			t.Errorf("after %q: AtStart is %v", step.feed, got)
		}
	}
	s.Skip(7)
	if !s.AtStart() || s.Offset() != 5+1+2+2+3+4+7 {
		t.Errorf("after a gap: AtStart %v, Offset %d", s.AtStart(), s.Offset())
	}
}

func TestGap(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `foo(\d*)bar`, ""), Options{})
	s.Add(2, compile(t, `^x`, "m"), Options{})
	s.Add(3, compile(t, `(?<!y)z`, ""), Options{})
	s.Add(4, compile(t, `\d+`, ""), Options{})
	s.Feed([]byte("foo1\x1b]0;"))
	s.Skip(100)
	if s.Pending() {
		t.Error("a match before the gap is pending after it")
	}
	got := texts(s.Feed([]byte("2bar xz\nx ")))
	if want := []string{"108-109 2", "114-115 z", "116-117 x"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSettleOnlyWhatIsPending(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `>>> `, ""), Options{})
	s.Add(2, compile(t, `listening on (\d+)`, ""), Options{})
	for _, step := range []struct {
		feed    string
		pending bool
	}{{">>> >>", false}, {"\nlistening on ", false}, {"80", true}, {"80", true}, {"\n", false}} {
		s.Feed([]byte(step.feed))
		if s.Pending() != step.pending {
			t.Errorf("after %q: Pending is %v", step.feed, s.Pending())
		}
	}
	s.Feed([]byte("listening on 9"))
	if got := texts(s.Settle()); len(got) != 1 || s.Pending() {
		t.Errorf("Settle: %v, then pending %v", got, s.Pending())
	}
	if got := s.Settle(); len(got) != 0 {
		t.Errorf("Settle again: %v", texts(got))
	}
}

func TestLine(t *testing.T) {
	long := strings.Repeat("0123456789", 1000)
	for _, test := range []struct {
		name, pattern, in, want string
		raw                     bool
	}{
		{"whole line", `b`, "x\naba\ny", "aba", false},
		{"CRLF", `b`, "x\r\naba\r\ny", "aba", false},
		{"after a carriage return", `2`, "10%\r20%\r30%", "20%", false},
		{"as far as it has come", `b`, "ab", "ab", false},
		{"starts on a line break", `\nb`, "a\nb", "a", false},
		{"raw shows plain text", `\[31m`, "a\x1b[31mb\x1b[0m\n", "ab", true},
		{"several lines", `a[^]b`, "xa\nby", "xa", false},
		{"not UTF-8", `b`, "\xffb\n", "\uFFFDb", false},
		{"long after", `b`, "ab" + long, "ab" + long[:maxLine-2], false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := NewSet(0)
			s.Add(1, compile(t, test.pattern, ""), Options{Raw: test.raw})
			hits := append(s.Feed([]byte(test.in)), s.Settle()...)
			if len(hits) == 0 || hits[0].Match.Line != test.want {
				t.Errorf("got %+v, want the line %q", hits, test.want)
			}
		})
	}
	s := NewSet(0)
	s.Add(1, compile(t, `MARK`, ""), Options{})
	hits := s.Feed([]byte(strings.Repeat("é", 5000) + "MARK" + long))
	if len(hits) != 1 || len(hits[0].Match.Line) > maxLine || !strings.Contains(hits[0].Match.Line, "éMARK0") {
		t.Fatalf("of a long line the match should see its surroundings, got %.50q…", hits[0].Match.Line)
	}
}

// The strings of a match stay valid when the window moves on.
func TestHitsOwnTheirText(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `key=(\w+);`, ""), Options{})
	hits := s.Feed([]byte("key=value;"))
	for range 100 {
		s.Feed([]byte(strings.Repeat("#", 4096) + "\n"))
	}
	if m := hits[0].Match; m.Text != "key=value;" || *m.Groups[0] != "value" || m.Line != "key=value;" {
		t.Errorf("the match has become %+v", m)
	}
}

func FuzzSet(f *testing.F) {
	f.Add(`(\w+)\s*$`, "foo \x1b[1mbar\r\n\xffx", uint8(4), uint8(0))
	f.Add(`(?<=a)b|c(?!d)`, "abcabcd\xe2\x82", uint8(1), uint8(3))
	f.Fuzz(func(t *testing.T, pattern, out string, chunk, bits uint8) {
		if len(pattern) > 100 || len(out) > 2000 {
			return
		}
		var flags string
		for i, c := range []string{"i", "m", "s", "u"} {
			if bits>>i&1 == 1 {
				flags += c
			}
		}
		p, err := Compile(pattern, flags)
		if err != nil {
			return
		}
		raw := bits&16 != 0
		want, ok := oracle(p, newOracleText([]byte(out), raw))
		if !ok {
			return
		}
		s := NewSet(0)
		s.Add(1, p, Options{Raw: raw})
		var hits []Hit
		for rest := []byte(out); len(rest) > 0; {
			n := min(int(chunk)%16+1, len(rest))
			hits = append(hits, s.Feed(rest[:n])...)
			rest = rest[n:]
		}
		hits = append(hits, s.Settle()...)
		for _, h := range hits {
			if h.Removed != nil {
				return // too slow on a part of the output
			}
		}
		if got := tracesOf(t, hits); !reflect.DeepEqual(got, want) {
			t.Fatalf("/%s/%s on %q:\n got %v\nwant %v", pattern, flags, out, got, want)
		}
	})
}
