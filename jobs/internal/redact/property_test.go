package redact

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// An oracle computes the same result as a Redactor by searching the whole input each time.
type oracle struct {
	values []string
	input  string
	at     int  // begin of the undecided input
	star   bool // the last output is a Mark, for a range that ends at starTo
	starTo int
	seen   []bool // by byte: it was passed on unchanged
	out    strings.Builder
}

// occurrences returns all occurrences of values in the input.
func (o *oracle) occurrences() (all []cover) {
	for _, v := range o.values {
		for i := 0; i+len(v) <= len(o.input); i++ {
			if o.input[i:i+len(v)] == v {
				all = append(all, cover{int64(i), int64(i + len(v))})
			}
		}
	}
	slices.SortFunc(all, func(a, b cover) int {
		if a.from != b.from {
			return int(a.from - b.from)
		}
		return int(a.to - b.to)
	})
	return all
}

// undecided returns the begin of the first value that the end of the input cuts; with half, only if half of it or
// more is present.
func (o *oracle) undecided(half bool) int {
	first := len(o.input)
	for _, v := range o.values {
		for n := 1; n < len(v) && n <= len(o.input); n++ {
			if strings.HasSuffix(o.input, v[:n]) && !(half && 2*n < len(v)) {
				first = min(first, len(o.input)-n)
			}
		}
	}
	return first
}

// unions joins occurrences that overlap or touch.
func (o *oracle) unions() (all []cover) {
	for _, c := range o.occurrences() {
		if n := len(all); n > 0 && c.from <= all[n-1].to {
			all[n-1].to = max(all[n-1].to, c.to)
		} else {
			all = append(all, c)
		}
	}
	return all
}

// release decides all input before an offset.
func (o *oracle) release(to int) {
	for _, u := range o.unions() {
		if int(u.to) <= o.at {
			continue
		}
		if o.star && o.at == o.starTo && int(u.from) <= o.starTo { // it continues
			o.at, o.starTo = int(u.to), int(u.to)
			continue
		}
		from := max(int(u.from), o.at)
		if from > max(to, o.at) {
			break
		}
		o.show(from)
		o.out.WriteString(Mark)
		o.at, o.star, o.starTo = int(u.to), true, int(u.to)
	}
	o.show(to)
}

func (o *oracle) show(to int) {
	for ; o.at < to; o.at++ {
		o.out.WriteByte(o.input[o.at])
		o.seen[o.at] = true
		o.star = false
	}
}

func (o *oracle) write(chunk string) {
	o.input += chunk
	o.seen = append(o.seen, make([]bool, len(chunk))...)
	o.release(o.undecided(false))
}

// check fails the test if half or more of a value was seen before the end of the input.
func (o *oracle) check(t *testing.T) {
	t.Helper()
	for _, c := range o.occurrences() {
		n := 0
		for _, seen := range o.seen[c.from:c.to] {
			if seen {
				n++
			}
		}
		if 2*n >= int(c.to-c.from) {
			t.Fatalf("%d of %d bytes of %q are seen", n, c.to-c.from, o.input[c.from:c.to])
		}
	}
}

// splits gives a redactor and an oracle the same input in the same chunks and pauses, and compares their output
// after each.
func splits(t *testing.T, s *Set, values []string, input string, next func(left int) (n int, pausing bool)) (out string) {
	t.Helper()
	r, o := NewRedactor(s), &oracle{values: values}
	var got strings.Builder
	for left := input; left != ""; {
		n, pausing := next(len(left))
		got.Write(r.Write([]byte(left[:n])))
		o.write(left[:n])
		left = left[n:]
		if _, free := r.Held(); free != max(o.undecided(true)-o.at, 0) {
			t.Fatalf("values %q, input %q up to %q: a pause sets free %d bytes, and %d should be", values, input, left, free, max(o.undecided(true)-o.at, 0))
		}
		if pausing {
			got.Write(r.Pause())
			o.release(o.undecided(true))
		}
		if g, w := got.String(), o.out.String(); g != w {
			t.Fatalf("values %q, input %q up to %q: got %q, want %q", values, input, left, g, w)
		}
	}
	o.check(t)
	got.Write(r.Flush())
	o.release(len(o.input))
	if g, w := got.String(), o.out.String(); g != w {
		t.Fatalf("values %q, input %q: got %q, want %q", values, input, g, w)
	}
	return got.String()
}

func word(r *rand.Rand, letters string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// TestSplits splits inputs with secrets and parts of secrets into random chunks 10,000 times, with and without
// pauses: no secret comes through, and never half of one.
func TestSplits(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	for range 10_000 {
		var values []string
		for range 1 + r.IntN(5) {
			values = append(values, word(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 6+r.IntN(40)))
		}
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString(word(r, "abcdefghij \n", r.IntN(80)))
			v := values[r.IntN(len(values))]
			b.WriteString(v[:len(v)-r.IntN(2)*r.IntN(len(v))]) // or only a part of it
		}
		pauses := r.IntN(2) == 0
		input := b.String() + "."
		out := splits(t, New(values), values, input, func(left int) (int, bool) {
			return min(1+r.IntN(30), left), pauses && r.IntN(3) == 0
		})
		for _, v := range values {
			if strings.Contains(out, v) {
				t.Fatalf("values %q, input %q: %q came through: %q", values, input, v, out)
			}
		}
	}
}

// TestSplitsOfTwoLetters does the same with secrets that overlap as much as possible.
func TestSplitsOfTwoLetters(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	for range 10_000 {
		var values []string
		for range 1 + r.IntN(4) {
			values = append(values, word(r, "ab", 4+r.IntN(9)))
		}
		pauses := r.IntN(4)
		splits(t, New(values), values, word(r, "ab", 10+r.IntN(90))+"c", func(left int) (int, bool) {
			return min(1+r.IntN(6), left), r.IntN(4) < pauses
		})
	}
}

// TestChunksMakeNoDifference checks that without pauses the result does not depend on the chunks.
func TestChunksMakeNoDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 5))
	for range 300 {
		values := append(tokens(8, 40), word(r, "abc", 6), word(r, "abc", 12))
		var b strings.Builder
		for b.Len() < 4000 {
			b.WriteString(word(r, "abc def\n", r.IntN(200)))
			b.WriteString(values[r.IntN(len(values))][:6])
			b.WriteString(values[r.IntN(len(values))])
		}
		s := New(values)
		whole := strings.Join(play(s, b.String(), flush), "")
		cut := NewRedactor(s)
		var got strings.Builder
		for left := b.String(); left != ""; {
			n := min(1+r.IntN(1000), len(left))
			got.Write(cut.Write([]byte(left[:n])))
			left = left[n:]
		}
		got.Write(cut.Flush())
		if got.String() != whole {
			t.Fatalf("in pieces: %q\nas a whole: %q", &got, whole)
		}
	}
}

func FuzzSplits(f *testing.F) {
	f.Add("secret secretary", "a secretary's secret", []byte{3, 130, 2})
	f.Add("abcabc cabca", "abcabcabca", []byte{1})
	f.Fuzz(func(t *testing.T, secrets, input string, cuts []byte) {
		if len(secrets) > 60 || len(input) > 200 || len(cuts) == 0 {
			t.Skip()
		}
		values := slices.DeleteFunc(strings.Split(secrets, " "), func(v string) bool { return v == "" })
		i := 0
		splits(t, New(values), values, input, func(left int) (int, bool) {
			c := cuts[i%len(cuts)]
			i++
			return min(1+int(c&0x3f), left), c&0x80 != 0
		})
	})
}
