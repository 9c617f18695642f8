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

// texts shows hits as "start-end text", or the reason of a removal.
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

// Steps of a table: the bytes fed, "|" for Settle; what each reported follows "→".
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
