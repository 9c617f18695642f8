package match

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct {
		pattern, flags string
		pos            int
		message        string // a part of it
	}{
		{`é(`, "", 1, "not closed"},
		{`a)`, "", 1, "unmatched"},
		{`日本*+`, "", 3, "nothing to repeat"},
		{`a**`, "", 2, "nothing to repeat"},
		{`a{2}{3}`, "", 4, "nothing to repeat"},
		{`{1}`, "", 0, "nothing to repeat"},
		{`{`, "u", 0, "nothing to repeat"},
		{`a{`, "u", 1, "not complete"},
		{`]`, "u", 0, "lone bracket"},
		{`a{3,2}`, "", 1, "out of order"},
		{`a{0,65537}`, "", 1, "above 65536"},
		{`a{99999999999999999999}`, "", 1, "above 65536"},
		{`(?:a{300}){300}`, "", 0, "multiply"},
		{`x[b-a]`, "", 2, "range out of order"},
		{`[a`, "", 0, "class is not closed"},
		{`[\d-z]`, "u", 1, "end of a range"},
		{`^*`, "", 1, "assertion"},
		{`\b+`, "", 2, "assertion"},
		{`(?=a)*`, "u", 5, "assertion"},
		{`(?<=a)*`, "", 6, "assertion"},
		{`a\`, "", 1, "backslash ends"},
		{`(?>a)`, "", 0, "kind of group"},
		{`x(?#c)`, "", 1, "kind of group"},
		{`(?i)a`, "", 0, "kind of group"},
		{`(?i:a)`, "", 0, "kind of group"},
		{`(?P<n>a)`, "", 0, "kind of group"},
		{`(?'n'a)`, "", 0, "kind of group"},
		{`(?(1)a|b)`, "", 0, "kind of group"},
		{`(?<>a)`, "", 3, "name is not complete"},
		{`(?<a`, "", 3, "name is not complete"},
		{`(?<1>a)`, "", 3, "an invalid character in a group name"},
		{`(?<a-b>a)`, "", 4, "an invalid character in a group name"},
		{`(?<a>x)(?<a>y)`, "", 7, "same name"},
		{`(?<a>(?<a>y))`, "", 0, "same name"},
		{`(?<a>x)\k<b>`, "", 7, "no group has the name"},
		{`(?<a>x)\k`, "", 7, "without a group name"},
		{`(?<a>x)[\k]`, "", 8, "named groups"},
		{`\k<b>`, "u", 0, "no group has the name"},
		{`\2(a)`, "u", 0, "does not exist"},
		{`\01`, "u", 0, "octal"},
		{`\-`, "u", 0, "an invalid escape"},
		{`\a`, "u", 0, "an invalid escape"},
		{`\c`, "u", 0, "without a letter"},
		{`\x4`, "u", 0, "incomplete"},
		{`\u{}`, "u", 0, "incomplete"},
		{`\u{110000}`, "u", 0, "10FFFF"},
		{`\p`, "u", 0, "property escape"},
		{`ab\p{Nonsense}`, "u", 2, "no such"},
		{`[a\p{Nonsense}]`, "u", 0, "no such"},
		{"a\xffb", "", 1, "UTF-8"},
		{"\uFFFD\xff", "", 1, "UTF-8"},
		{strings.Repeat("a", MaxPattern+1), "", MaxPattern, "longer"},
		{strings.Repeat("(", MaxNesting+1), "", MaxNesting, "deeper"},
		{strings.Repeat(`[\W_]`, 40), "i", 0, "large character sets"},
	} {
		_, err := Compile(test.pattern, test.flags)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Compile(%.40q, %q) = %v, want a SyntaxError", test.pattern, test.flags, err)
			continue
		}
		if syntax.Pos != test.pos || !strings.Contains(syntax.Message, test.message) {
			t.Errorf("Compile(%.40q, %q): %q at %d, want %q at %d", test.pattern, test.flags, syntax.Message, syntax.Pos, test.message, test.pos)
		}
	}
}

func TestFlagErrors(t *testing.T) {
	for flags, want := range map[string]string{"g": `'g'`, "im\u00e9": `'é' at character 2`, "ii": "twice", "v": `'v'`, "y": `'y'`, "d": `'d'`} {
		_, err := Compile("a", flags)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile with flags %q: %v, want an error with %s", flags, err, want)
		}
		if errors.As(err, new(*SyntaxError)) {
			t.Errorf("Compile with flags %q: a SyntaxError speaks of the pattern", flags)
		}
	}
	if _, err := Compile("a", "usmi"); err != nil {
		t.Errorf("all four flags: %v", err)
	}
}

// A pattern exactly at a limit is accepted.
func TestAtTheLimits(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("é", MaxPattern),
		strings.Repeat("(", MaxNesting) + strings.Repeat(")", MaxNesting),
		`a{65536}`,
		`(?:a{256}){256}`,
		`(?:(?:a{256})*){256,}`,
		`(?<a>x)|(?<a>y)`,
	} {
		if _, err := Compile(pattern, ""); err != nil {
			t.Errorf("Compile(%.40q): %v", pattern, err)
		}
	}
}

// tooLong is the time limit for work that normally takes milliseconds, on a very busy machine.
const tooLong = 10 * time.Second

// Compile is called while other jobs wait, so no accepted pattern may take long.
func TestCompileIsQuick(t *testing.T) {
	repeat := func(unit string) string { return strings.Repeat(unit, MaxPattern/len([]rune(unit))) }
	for name, pattern := range map[string]string{
		"dots":          repeat("."),
		"starred dots":  repeat(".*"),
		"complements":   repeat(`\W`),
		"sets":          repeat(`[^\n]`),
		"alternatives":  repeat("a|"),
		"same prefixes": repeat("aaaa|"),
		"choices":       repeat("(a|b)"),
		"optional":      repeat("a?"),
		"counts":        repeat("a{65536}"),
		"properties":    repeat(`\p{L}`),
		"lookaheads":    repeat("(?=a)"),
		"look-behinds":  repeat("(?<=a*)"),
		"references":    repeat(`(a)\1`),
		"wide ranges":   repeat("[一-龥]"),
		"nested stars":  strings.Repeat("(?:", MaxNesting) + "a" + strings.Repeat(")*", MaxNesting),
		"nested counts": strings.Repeat("(?:", MaxNesting) + "a" + strings.Repeat("){0,1}", MaxNesting),
		"nested plus":   strings.Repeat("(", MaxNesting) + "a" + strings.Repeat(")+b?", MaxNesting),
		"nested choice": strings.Repeat("(a|", MaxNesting) + "a" + strings.Repeat(")", MaxNesting),
	} {
		for _, flags := range []string{"", "i", "iu", "ms"} {
			began := time.Now()
			_, err := Compile(pattern, flags)
			if took := time.Since(began); took > slowdown*tooLong {
				t.Errorf("%s, flags %q: %v (result %v)", name, flags, took, err)
			}
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{`(?<a>\w+)\s*=\s*(["']).*?\2`, `[^\n\d-z]{2,}?$`, `(?<!a(?=b))\u{1F600}|\cA`, `((a{1,9})*?){3}`} {
		f.Add(seed, uint8(5), "text \x1b[1mab")
	}
	f.Fuzz(func(t *testing.T, pattern string, bits uint8, text string) {
		var flags string
		for i, c := range []string{"i", "m", "s", "u"} {
			if bits>>i&1 == 1 {
				flags += c
			}
		}
		began := time.Now()
		p, err := Compile(pattern, flags)
		if took := time.Since(began); took > slowdown*tooLong {
			t.Fatalf("Compile took %v", took)
		}
		if err != nil {
			return
		}
		s := NewSet(0)
		s.Add(1, p, Options{})
		began = time.Now()
		hits := append(s.Feed([]byte(text)), s.Settle()...)
		if took := time.Since(began); took > slowdown*tooLong {
			t.Fatalf("matching %d bytes took %v", len(text), took)
		}
		last := int64(0)
		for _, h := range hits {
			if h.Match == nil {
				continue
			}
			if h.Match.Start < last || h.Match.End <= h.Match.Start || h.Match.End > int64(len(text)) {
				t.Fatalf("match %d-%d after %d in %d bytes", h.Match.Start, h.Match.End, last, len(text))
			}
			last = h.Match.End
		}
	})
}
