package match

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A randomText makes output of few words, so that patterns made of the same ones match often, with escape sequences and
// broken UTF-8 in between.
func randomText(r *rand.Rand) []byte {
	words := []string{
		"a", "a", "b", "b", "ab", "ba", "foo", "bar", "foobar", "12", "7", " ", " ", "-", "\n", "\r\n", "\r",
		"é", "K", "日本", "\u2028", "\x1b[31m", "\x1b]0;ab\x07", "\x1b(B", "\x07", "\xff", "\xe2\x82", "\xc3", "\"", "A", "_",
	}
	var b []byte
	for range r.IntN(40) {
		b = append(b, words[r.IntN(len(words))]...)
	}
	return b
}

// randomPattern makes a pattern over the same words. It leaves out nested unbounded loops: they are about time, which
// has its own test.
func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{
		"a", "b", "foo", "bar", ".", `\d`, `\w`, `\s`, `[ab]`, `[^a]`, `[^\n]`, `\n`, `é`, " ", `-`, `\uFFFD`, `日`, `"`, "k", `[^]`,
	}
	edges := []string{"^", "$", `\b`, `\B`, "(?=a)", "(?!b)", `(?=\s)`, `(?!\w)`, "(?<=a)", "(?<!b)", `(?<=^.*)`, "(?=.*b)", `\1`, `(?<=(a|b))`, `(?=(a|b))\1`}
	quantifiers := []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0,2}?"}
	var b strings.Builder
	for range 1 + r.IntN(3) {
		switch n := r.IntN(10); {
		case n < 5 || depth == 0:
			b.WriteString(atoms[r.IntN(len(atoms))])
			if a := b.String(); r.IntN(3) == 0 && !strings.HasSuffix(a, "foo") && !strings.HasSuffix(a, "bar") {
				b.WriteString(quantifiers[r.IntN(len(quantifiers))])
			}
		case n < 7:
			b.WriteString(edges[r.IntN(len(edges))])
		case n < 9:
			open := []string{"(", "(?:"}[r.IntN(2)]
			b.WriteString(open + randomPattern(r, depth-1) + ")")
			if r.IntN(4) == 0 {
				b.WriteString([]string{"?", "{2}", "{0,3}", "??"}[r.IntN(4)])
			}
		default:
			b.WriteString("(?:" + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")")
		}
	}
	return b.String()
}

func randomFlags(r *rand.Rand) string {
	var flags string
	for _, f := range []string{"i", "m", "s", "u"} {
		if r.IntN(4) == 0 {
			flags += f
		}
	}
	return flags
}

// A trace is the part of a match that a test compares; the line depends on how much of it had come.
type trace struct {
	start, end int64
	text       string
	groups     []string
}

func tracesOf(t *testing.T, hits []Hit) []trace {
	t.Helper()
	var list []trace
	for _, h := range hits {
		if h.Removed != nil {
			t.Fatalf("pattern %d was removed: %v", h.ID, h.Removed)
		}
		tr := trace{h.Match.Start, h.Match.End, h.Match.Text, nil}
		for _, g := range h.Match.Groups {
			if g == nil {
				tr.groups = append(tr.groups, "<none>")
			} else {
				tr.groups = append(tr.groups, *g)
			}
		}
		list = append(list, tr)
	}
	return list
}

// An oracleText is the plain or raw text of an output, made the slow way, with the raw range of every byte of it.
type oracleText struct {
	text   []byte
	starts []int64
	ends   []int64
}

func newOracleText(out []byte, raw bool) oracleText {
	var kept []byte
	var at []int64
	var strip Stripper
	for i, c := range out {
		if raw || len(strip.Append(nil, []byte{c})) > 0 {
			kept, at = append(kept, c), append(at, int64(i))
		}
	}
	var o oracleText
	for i := 0; i < len(kept) && utf8.FullRune(kept[i:]); {
		c, size := utf8.DecodeRune(kept[i:])
		for j, b := range []byte(string(c)) {
			from := i + min(j, size-1)
			_ = b
			o.starts, o.ends = append(o.starts, at[from]), append(o.ends, at[from]+1)
		}
		o.text = append(o.text, string(c)...)
		i += size
	}
	return o
}

// oracle matches the whole text at once with the engine alone, as matchAll does. A pattern that takes too long on it is
// not usable for a test of matches; otherwise, p has no time limit afterwards.
func oracle(p *Pattern, o oracleText) (list []trace, ok bool) {
	const enough = timeLimit / 2
	p.engine.setLimit(enough)
	defer p.engine.setLimit(0)
	began := time.Now()
	for from := 0; from <= len(o.text); {
		m, err := p.engine.findFar(o.text, from)
		if err != nil || time.Since(began) > enough {
			return nil, false
		}
		if m == nil {
			break
		}
		if m[0].from == m[0].to {
			_, size := utf8.DecodeRune(o.text[m[0].to:])
			from = m[0].to + max(size, 1)
			continue
		}
		tr := trace{o.starts[m[0].from], o.ends[m[0].to-1], string(o.text[m[0].from:m[0].to]), nil}
		for _, g := range m[1:] {
			if g.from < 0 {
				tr.groups = append(tr.groups, "<none>")
			} else {
				tr.groups = append(tr.groups, string(o.text[g.from:g.to]))
			}
		}
		list = append(list, tr)
		from = m[0].to
	}
	return list, true
}

// feedSplit feeds out in random chunks.
func feedSplit(r *rand.Rand, s *Set, out []byte, most int) []Hit {
	var hits []Hit
	for len(out) > 0 {
		n := min(1+r.IntN(most), len(out))
		chunk := slices.Clone(out[:n])
		hits = append(hits, s.Feed(chunk)...)
		for i := range chunk {
			chunk[i] = 'X' // a Set keeps nothing of its input
		}
		out = out[n:]
	}
	return hits
}

func TestMatchesDependOnBytesAlone(t *testing.T) {
	const triples = 10_000 / slowdown // One goroutine computes.
	r := rand.New(rand.NewPCG(1, 2))
	matches, slow := 0, 0
	for i := range triples {
		out, pattern, flags, raw := randomText(r), randomPattern(r, 2), randomFlags(r), r.IntN(4) == 0
		p, err := Compile(pattern, flags)
		if err != nil {
			continue // for example \1 without a group under u
		}
		what := fmt.Sprintf("triple %d: /%s/%s raw=%v on %q", i, pattern, flags, raw, out)
		want, ok := oracle(p, newOracleText(out, raw))
		if !ok {
			slow++
			continue
		}
		whole := NewSet(0)
		whole.Add(1, p, Options{Raw: raw})
		settledWhole := tracesOf(t, whole.Feed(out))
		pending := whole.Pending()
		finalWhole := tracesOf(t, whole.Settle())
		if len(finalWhole) > 0 && !pending {
			t.Fatalf("%s: not pending, but Settle returned %v", what, finalWhole)
		}
		if got := slices.Concat(settledWhole, finalWhole); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
		}
		split := NewSet(0)
		split.Add(1, p, Options{Raw: raw})
		settled := tracesOf(t, feedSplit(r, split, out, 1+r.IntN(12)))
		final := tracesOf(t, split.Settle())
		if !reflect.DeepEqual(settled, settledWhole) || !reflect.DeepEqual(final, finalWhole) {
			t.Fatalf("%s:\nin chunks %v then %v\nat once   %v then %v", what, settled, final, settledWhole, finalWhole)
		}
		matches += len(settled) + len(final)
	}
	if matches < triples || slow > triples/10 {
		t.Errorf("%d matches in %d triples, of which %d were too slow: the generator is no good", matches, triples, slow)
	}
}

// The results of Feed are those of the whole output, whatever bytes follow.
func TestSettledMatchesNeverChange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	checked := 0
	for i := range fewer(2_000) {
		out, pattern, flags := randomText(r), randomPattern(r, 2), randomFlags(r)
		p, err := Compile(pattern, flags)
		if err != nil {
			continue
		}
		if _, ok := oracle(p, newOracleText(out, false)); !ok {
			continue
		}
		s := NewSet(0)
		s.Add(1, p, Options{})
		settled := tracesOf(t, s.Feed(out))
		checked += len(settled)
		for range 4 {
			more := append(slices.Clone(out), randomText(r)...)
			want, ok := oracle(p, newOracleText(more, false))
			if !ok {
				break
			}
			if len(want) < len(settled) || len(settled) > 0 && !reflect.DeepEqual(want[:len(settled)], settled) {
				t.Fatalf("text %d, /%s/%s: %q settled %v, but with %q it would be %v", i, pattern, flags, out, settled, more[len(out):], want)
			}
		}
	}
	if checked < fewer(2_000)/2 {
		t.Errorf("only %d settled matches were checked", checked)
	}
}

// The machine decides what is settled, so it has to agree with the engine.
func TestMachineAgreesWithEngine(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	agreed := 0
	for i := range fewer(4_000) {
		pattern, flags := randomPattern(r, 3), randomFlags(r)
		p, err := Compile(pattern, flags)
		if err != nil {
			continue
		}
		text := newOracleText(randomText(r), false).text
		var m machine
		m.load(p.prog, text)
		for pos := 0; pos < len(text); {
			result, end := m.try(pos)
			if result == spent {
				break
			}
			if result == open {
				_, pos = m.ahead(pos)
				continue
			}
			spans, err := p.engine.findFar(text, pos)
			if err != nil {
				break
			}
			here := spans != nil && spans[0].from == pos
			if here != (result == matched) || here && !sameGroups(&m, spans, pos, end) {
				t.Fatalf("pattern %d, /%s/%s on %q at %d: machine %v to %d %v, engine %v", i, pattern, flags, text, pos, result, end, m.regs, spans)
			}
			agreed++
			_, pos = m.ahead(pos)
		}
	}
	if agreed < 4_000 {
		t.Errorf("only %d attempts were compared", agreed)
	}
}

// sameGroups compares the engine's spans with the machine's match and registers.
func sameGroups(m *machine, spans []span, start, end int) bool {
	if spans[0] != (span{start, end}) {
		return false
	}
	for i, sp := range spans[1:] {
		if sp != (span{m.regs[2*i+2], m.regs[2*i+3]}) {
			return false
		}
	}
	return true
}
