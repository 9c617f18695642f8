package echo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/spool"
)

// The modes of a terminal for a program that a shell runs, for a line editor, and for a password.
var (
	cookedAttrs = proc.Attrs{Canonical: true, Echo: true, Signals: true, CRToNL: true, EOF: 4, Intr: 3, Kill: 0x15, Erase: 0x7f,
		Shown: proc.EchoAttrs{Caret: true, EraseBack: true, KillLine: true, KillErases: true, Process: true, NLToCRNL: true}}
	rawAttrs    = proc.Attrs{}
	hiddenAttrs = proc.Attrs{Canonical: true, CRToNL: true}
)

// quietTime is the usual time of silence in these tests.
const quietTime = 50 * time.Millisecond

// An echoRun simulates a caller that matches output. It records the output to be matched, with "|" at each restart of
// matching, and the echoes found.
type echoRun struct {
	output string
	f      *Finder
	at     int64
	seen   strings.Builder
	echoes []string
}

func newEchoRun(input string, attrs proc.Attrs) *echoRun { return behindPrompt("", input, attrs) }

// behindPrompt starts a run with output that came before the input.
func behindPrompt(prompt, input string, attrs proc.Attrs) *echoRun {
	end := int64(len(prompt))
	return &echoRun{output: prompt, at: end, f: New(&Typed{Data: []byte(input), Attrs: attrs, Armed: end}, storedText(prompt))}
}

// A storedText is stored output of which nothing was dropped.
type storedText string

func (s storedText) Read(p []byte, off int64) (n int, at int64) { return copy(p, s[off:]), off }

func (r *echoRun) feedTo(end int64) {
	if end = min(end, int64(len(r.output))); end > r.at {
		r.seen.WriteString(r.output[r.at:end])
		r.at = end
	}
}

func (r *echoRun) pass(e Found, ok bool) {
	if !ok {
		return
	}
	r.echoes = append(r.echoes, r.output[e.From:e.To])
	r.feedTo(e.Pass)
	if e.To > r.at {
		r.seen.WriteByte('|')
		r.at = e.To
	}
}

func (r *echoRun) feed(b string) {
	r.output += b
	for r.f != nil && !r.f.done && r.f.next < int64(len(r.output)) {
		r.pass(r.f.Feed([]byte(r.output[r.f.next:])))
	}
	r.advance()
}

func (r *echoRun) advance() {
	if r.f == nil {
		r.feedTo(int64(len(r.output)))
		return
	}
	r.feedTo(r.f.free)
}

func (r *echoRun) quiet() {
	for r.f != nil && r.f.Patience(quietTime) > 0 {
		r.pass(r.f.Quiet())
		r.advance()
	}
}

func (r *echoRun) end() {
	if r.f != nil {
		r.pass(r.f.End())
	}
	r.advance()
}

// A shell that completes a word may pause in the middle of an echo. The rest is still echo.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		input, output string
		want          time.Duration
	}{
		{"typ\t -t x\r", "", 0},
		{"typ\t -t x\r", "$ ", quietTime},
		{"typ\t -t x\r", "$ t", stallTime},
		{"typ\t -t x\r", "$ typ", stallTime},
		{"typ\t -t x\r", "$ type", stallTime},
		{"typ\t -t x\r", "$ type -", stallTime},
		{"typ\t -t x\r", "$ type -t x", stallTime},
		{"typ\t -t x\r", "$ type -t x\r\nfile", 0},
		{"a\rb\r", "a\r\nA\r\n> ", quietTime},
	} {
		r := newEchoRun(c.input, rawAttrs)
		r.feed(c.output)
		if got := r.f.Patience(quietTime); got != c.want {
			t.Errorf("%q, %q: %v, want %v", c.input, c.output, got, c.want)
		}
	}
}

func TestFinderSkipsEcho(t *testing.T) {
	noise := strings.Repeat("noise\r\n", 20)
	for _, c := range []struct {
		name, input string
		attrs       proc.Attrs
		output      []string // "" is silence
		want        string   // the output that is matched before the end
		rest        string   // the output that is matched at the end
	}{
		{"a line", "hello\r", cookedAttrs, []string{"hello\r\nhello\r\n"}, "|hello\r\n", ""},
		{"its echo alone", "hello\r", cookedAttrs, []string{"hel", "lo\r\n"}, "|", ""},
		{"behind what was in flight", "b\r", cookedAttrs, []string{"a> b\r\nb\r\n"}, "a> |b\r\n", ""},
		{"a part that goes on otherwise", "hello\r", cookedAttrs, []string{"helhello\r\n1"}, "hel|1", ""},
		{"a part is kept back", "hello\r", cookedAttrs, []string{"xhel"}, "x", "hel"},
		{"a part and silence", "hello\r", cookedAttrs, []string{"xhel", "", "lo\r\ny"}, "xhel|y", ""},
		{"lines with answers between", "a\rb\r", cookedAttrs, []string{"a\r\nA\r\nb\r\nB\r\n"}, "|A\r\n|B\r\n", ""},
		{"lines at once", "a\rb\r", cookedAttrs, []string{"a\r\nb\r\nA\r\nB\r\n"}, "||A\r\nB\r\n", ""},
		{"no line end", "y", cookedAttrs, []string{"yes"}, "|es", ""},
		{"an interrupt and what it throws away", "abc\x03", cookedAttrs, []string{"ab", "^C\r\n$ "}, "|\r\n$ ", ""},
		{"an interrupt whose echo is lost", "abc\x03", cookedAttrs, []string{"gone", ""}, "gone", ""},
		{"an interrupt alone", "\x03", cookedAttrs, []string{"x^C\r\n$ "}, "x|\r\n$ ", ""},
		{"a password", "secret\r", hiddenAttrs, []string{"is secret"}, "is secret", ""},
		{"nothing typed that shows", "\x1b[A\x1bOP\r", rawAttrs, []string{"A"}, "A", ""},

		{"a line editor's", "print(1)\r", rawAttrs, []string{"print(1)\r\n1\r\n>>> "}, "|1\r\n>>> ", ""},
		{"with colours", "ab c\r", rawAttrs, []string{"\x1b[1ma\x1b[mb\x1b[3C\x1b[32mc\x1b[m\x1b[?2004l\r\nc\r\n"}, "|c\r\n", ""},
		{"drawn again", "ab\r", rawAttrs, []string{"a\ba\x1b[Kb\bb\r\nab"}, "|ab", ""},
		{"drawn again behind a tab", "x\tab\r", rawAttrs, []string{"xyz a\ba\x1b[Kb\bb\r\nab"}, "|ab", ""},
		{"wrapped", "abcdef\r", rawAttrs, []string{"abc \rdef\r\nabc"}, "|abc", ""},
		{"behind a prompt", "b\r", rawAttrs, []string{"a> b\r\nb\r\n"}, "|b\r\n", ""},
		{"in pieces", "hello\r", rawAttrs, []string{"h", "el", "lo", "\r", "\n", "x"}, "|x", ""},
		{"blanks at its end", "a  \r", rawAttrs, []string{"a  \r\n b"}, "| b", ""},
		{"more blanks than were typed", "a ", rawAttrs, []string{"a   b"}, "|  b", ""},
		{"two line ends", "a\r", rawAttrs, []string{"a\r\n\r\nb"}, "|\nb", ""},
		{"a completion", "ec\tfoo\r", rawAttrs, []string{"echo foo\r\nfoo\r\n"}, "|foo\r\n", ""},
		{"lines of an editor", "1\r2\r", rawAttrs, []string{"1\r\nA\r\n> 2\r\nB\r\n"}, "|A\r\n> |B\r\n", ""},
		{"the second line late", "1\r2\r", rawAttrs, []string{"1\r\nA\r\n", "", "> 2\r\nB\r\n"}, "|A\r\n> |B\r\n", ""},
		{"a line end that has not come", "ab\r", rawAttrs, []string{"ab"}, "", "|"},
		{"a line end late", "ab\r", rawAttrs, []string{"ab", "", "\r\n"}, "|\r\n", ""},
		{"silence, then the answer", "y", rawAttrs, []string{"Deleted."}, "Deleted.", ""},
		{"the answer, then silence", "y", rawAttrs, []string{"Deleted.", "", "y"}, "Deleted.y", ""},
		{"a word that goes on", "y", rawAttrs, []string{"yes", ""}, "yes", ""},
		{"a word that ends so", "y", rawAttrs, []string{"only", ""}, "only", ""},
		{"a word, and then the key", "y", rawAttrs, []string{"yes, only y: 1"}, "yes, only y: 1", ""},
		{"a word, and then the echo", "yes", rawAttrs, []string{"yesterday, only yes: 1"}, "|: 1", ""},
		{"a word, and then the echo at its end", "yes", rawAttrs, []string{"yesterday yes", "", "1"}, "|1", ""},
		{"room is bounded", "zzz\r", rawAttrs, []string{strings.Repeat(noise, 3) + "zzz\r\n"}, strings.Repeat(noise, 3) + "zzz\r\n", ""},
		{"a stalled beginning", "hello", rawAttrs, []string{"help h", "", "x"}, "help hx", ""},
	} {
		r := newEchoRun(c.input, c.attrs)
		for _, piece := range c.output {
			if piece == "" {
				r.quiet()
			} else {
				r.feed(piece)
			}
		}
		before := r.seen.String()
		r.end()
		if rest := strings.TrimPrefix(r.seen.String(), before); before != c.want || rest != c.rest {
			t.Errorf("%s: matched %q, then %q; want %q, then %q", c.name, before, rest, c.want, c.rest)
		}
	}
}

// A line editor may draw the line with the echo again before it ends.
func TestFinderSkipsRedraws(t *testing.T) {
	paste := func(s string) string { return "\x1b[200~" + s + "\x1b[201~" }
	const right = "\x1b[C\x1b[C"
	for _, c := range []struct{ name, prompt, input, output, want, rest string }{
		{"behind a prompt", "$ ", paste("echo a") + "\r", "\x1b[7mecho a\x1b[27m\r" + right + "echo a\r\n\x1b[?2004l\ra\r\n", "|a\r\n", ""},
		{"with the prompt", "x\n\x1b[1mme$\x1b[m ", paste("echo a") + "\r", "\x1b[7mecho a\x1b[27m\r\x1b[Kme$ echo a\r\na", "|a", ""},
		{"step by step", "", paste("echo a") + "\r", "\x1b[7mecho a\x1b[27m\b\b\b\b\b\becho a\r\na", "|a", ""},
		{"with a blank", "$ ", paste("echo a ") + "\r", "\x1b[7mecho a \x1b[27m\b\b\b\b\b\b\becho a \r\na", "|a", ""},
		{"its end", "$ ", "x " + paste("y y") + "\r", "x \x1b[7my y\x1b[27m\b\b\by y\r\ny", "|y", ""},
		{"twice", "$ ", "ab\r", "ab\r$ ab\r\x1b[K$ ab\r\nab", "|ab", ""},
		{"wrapped", "$ ", "abcd\r", "ab \rcd\x1b[A\r" + right + "ab \rcd\r\nabcd", "|abcd", ""},
		{"lines", "$ ", paste("l1\rl2") + "\r", "l1\r\n\rl2\x1b[A\r" + right + "l1\r\n\rl2\r\n\x1b[?2004l\rl1\r\n", "||l1\r\n", ""},
		{"lines with an end", "$ ", paste("l1\rl2\r") + "\r", "l1\r\n\rl2\r\n\r\x1b[2A" + right + "l1\r\n\rl2\r\n\r\x1b[A\r\n\rl2", "||l2", ""},
		{"an empty line", "$ ", paste("l1\r\rl2") + "\r", "l1\r\n\r\r\n\rl2\x1b[2A\r" + right + "l1\r\n\r\r\n\rl2\r\nl2", "|\n\r|l2", ""},
		{"then an answer", "$ ", "ab", "ab\rab\x1b[K: ab", "|\x1b[K: ab", ""},

		{"an answer", "$ ", "ab\r", "ab\r\nab\r\n", "|ab\r\n", ""},
		{"an answer on its line", "$ ", "y", "y\rDeleting", "|\rDeleting", ""},
		{"an answer that begins so", "$ ", "ab\r", "ab\rabandoned", "|abandoned", ""},
		{"an answer like its end", "$ ", "a b", "a b\rb\r\n", "|\rb\r\n", ""},
		{"an answer like the prompt", "del? ", "y", "y\rdel? no", "|\rdel? no", ""},
		{"a spinner", "", "y", "y |\b/\b-", "| |\b/\b-", ""},
		{"no end", "$ ", "ab\r", "ab\r$ a", "", "|$ a"},
		{"at the end", "$ ", "ab\r", "ab\r$ ab", "", "|"},
	} {
		for size := 1; size <= len(c.output); size++ {
			r := behindPrompt(c.prompt, c.input, rawAttrs)
			for part := range slices.Chunk([]byte(c.output), size) {
				r.feed(string(part))
			}
			before := r.seen.String()
			r.end()
			if rest := strings.TrimPrefix(r.seen.String(), before); before != c.want || rest != c.rest {
				t.Errorf("%s, by %d: matched %q, then %q; want %q, then %q", c.name, size, before, rest, c.want, c.rest)
				break
			}
		}
	}
}

// The first output decides whether a program echoes keys.
func TestEchoOfKeysComesFirst(t *testing.T) {
	for _, c := range []struct{ name, prompt, input, output, want string }{
		{"its echo", "Delete? ", "y", "y\r\ny it is", "|\r\ny it is"},
		{"behind a movement", "Delete? ", "y", "\x1b[1m \by\r\n", "|\r\n"},
		{"behind the prompt again", "x\nDelete? ", "y", "\rDelete? y\r\ny", "|\r\ny"},
		{"behind the prompt's end", "Delete? ", "y", "\b\b? y\r\ny", "|\r\ny"},
		{"two", "", "ab", "a\ba\x1b[Kb\bb:ab", "|:ab"},
		{"a paste", "", "\x1b[200~y\x1b[201~", "\x1b[7my\x1b[27m y", "|\x1b[27m y"},
		{"an answer", "Delete? ", "y", "Deleted y", "Deleted y"},
		{"like the prompt", "Delete? ", "y", "\rDeleted y", "\rDeleted y"},
		{"with its word", "two: ", "2", "You chose 2", "You chose 2"},
		{"on a new line", "two: ", "2", "\r\n2 it is", "\r\n2 it is"},
		{"half of it", "", "ab", "a ab", "a ab"},
		{"a longer word", "", "y", "yes y", "yes y"},

		{"more, and an answer", "Name: ", "Bob", "Hello, Bob!", "Hello, Bob!"},
		{"more, on a later line", "> ", "Bob\r", "a is Bob\r\n> Bob\r\nBob", "|Bob"},
		{"more, drawn again", "> ", "Bob\r", "hint\r> Bob\r\nBob", "|Bob"},
		{"more, and no prompt yet", "", "Bob\r", "> Bob\r\nBob", "|Bob"},
		{"more, behind a key", "> ", "\x1b[A Bob\r", "Hi Bob\r\nBob", "|Bob"},
	} {
		r := behindPrompt(c.prompt, c.input, rawAttrs)
		for _, b := range []byte(c.output) {
			r.feed(string(b))
		}
		r.quiet()
		r.end()
		if got := r.seen.String(); got != c.want {
			t.Errorf("%s: matched %q, want %q", c.name, got, c.want)
		}
	}
}

// The echoes found do not depend on how the output is cut, and all other output is matched once, in
// order.
func TestFinderDependsOnBytesAlone(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 2))
	found := 0
	for range 20_000 {
		attrs := []proc.Attrs{cookedAttrs, rawAttrs}[random.IntN(2)]
		input := randomText(random, []string{"a", "b", "ab", " ", "\r", "\t", "\x03", "\x7f", "\x1b[A", "ü"}, 6)
		output := randomText(random, []string{"a", "b", " ", "\r", "\r\n", "\b", "\x1b[1m", "\x1b[A", "\x1b[D", "\x1b", "^C", "ü", "\xc3", input, visibleEcho(input, attrs), visibleEcho(input, cookedAttrs)}, 14)
		prompt := randomText(random, []string{"a", "b", "\n", "> "}, 3)
		whole, cut := behindPrompt(prompt, input, attrs), behindPrompt(prompt, input, attrs)
		whole.feed(output)
		for rest := output; rest != ""; {
			n := 1 + random.IntN(len(rest))
			cut.feed(rest[:n])
			rest = rest[n:]
		}
		whole.end()
		cut.end()
		if whole.seen.String() != cut.seen.String() || !slices.Equal(whole.echoes, cut.echoes) {
			t.Fatalf("seed %d: typed %q, output %q:\nat once  %q %q\nin parts %q %q", seed, input, output, whole.seen.String(), whole.echoes, cut.seen.String(), cut.echoes)
		}
		if len(whole.echoes) == 0 && whole.seen.String() != output {
			t.Fatalf("seed %d: typed %q, output %q: no echo, and matched %q", seed, input, output, whole.seen.String())
		}
		found += len(whole.echoes)
	}
	if found < 2000 {
		t.Errorf("%d echoes were found", found)
	}
}

func randomText(r *rand.Rand, words []string, most int) string {
	var s strings.Builder
	for range r.IntN(most) {
		s.WriteString(words[r.IntN(len(words))])
	}
	return s.String()
}

func visibleEcho(input string, attrs proc.Attrs) string {
	var s strings.Builder
	for _, line := range kernelShows([]byte(input), attrs, false).lines {
		s.Write(line)
	}
	return s.String()
}

// A long line of one letter is the worst case of a search.
func TestFinderIsLinear(t *testing.T) {
	input := strings.Repeat("a", 60_000) + "b"
	for _, attrs := range []proc.Attrs{{Echo: true}, rawAttrs} {
		r := newEchoRun(input, attrs)
		for range 100 {
			r.feed(strings.Repeat("a", 2000))
		}
		r.end()
		if len(r.echoes) > 0 {
			t.Errorf("found %d", len(r.echoes))
		}
	}
}

// Find returns the same for each size of its buffer, and only echo within its range.
func TestFind(t *testing.T) {
	const output = "> in flight a\r\nA\r\nbb\r\nB"
	for _, c := range []struct {
		input string
		attrs proc.Attrs
		in    spool.Range
		want  string
	}{
		{"a\rbb\r", cookedAttrs, spool.Range{From: 2, To: int64(len(output))}, "[{12 15} {18 22}]"},
		{"a\rbb\r", cookedAttrs, spool.Range{From: 13, To: 20}, "[{13 15}]"}, // the second line is not complete,
		{"a\rbb\r", cookedAttrs, spool.Range{From: 15, To: 18}, "[]"},
		{"in\r", rawAttrs, spool.Range{From: 2, To: 4}, "[{2 4}]"},
		{"\x1b[A", rawAttrs, spool.Range{From: 2, To: int64(len(output))}, "[]"},
	} {
		typed := &Typed{Data: []byte(c.input), Attrs: c.attrs, Armed: 2}
		for size := 1; size <= len(output); size++ {
			if got := fmt.Sprint(Find(typed, storedText(output), c.in, make([]byte, size))); got != c.want {
				t.Errorf("%q in %v, by %d: %v, want %v", c.input, c.in, size, got, c.want)
				break
			}
		}
	}
}

func TestSeenNeedles(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{"", ""},
		{"\r\n", ""},
		{"ls -l\r", "ls-l 0 enter last"},
		{"a \x1b[D b\rc  ", "a 1, b 0 enter last, c 2 last"},
		{"\x1b[200~pasted text\x1b[201~\r", "pastedtext 0 enter last"},
		{"a\x15b", "a 0, b 0 last"},
		{"\x1bOP\x1bOAx\x1bfy", "x 0, y 0 last"},
		{"a\r\r\nb", "a 0 enter last, b 0 last"},
		{strings.Repeat("x", maxSeen+1), ""},
	} {
		var got []string
		for _, n := range seenNeedles([]byte(c.input)) {
			s := fmt.Sprintf("%s %d", n.text, n.blanks)
			if n.enter {
				s += " enter"
			}
			if n.last {
				s += " last"
			}
			got = append(got, s)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%.40q: %q, want %q", c.input, strings.Join(got, ", "), c.want)
		}
	}
}
