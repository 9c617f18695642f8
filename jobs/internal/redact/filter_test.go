package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// begins returns, for each place in a text, the first later place with the beginning of a value, or as much of it
// as there is room for: the filter must not skip any of these.
func begins(values []string, text string) []int {
	all := make([]int, len(text)+1)
	all[len(text)] = len(text)
	for at := len(text) - 1; at >= 0; at-- {
		all[at] = all[at+1]
		for _, v := range values {
			if n := min(len(v), len(text)-at); text[at:at+n] == v[:n] {
				all[at] = at
			}
		}
	}
	return all
}

// TestFilterPassesOverNoValue checks that the filter skips no value, wherever it is, whatever surrounds it, and
// however long the values are. With few letters, many blocks match that belong to no value; high bytes share
// table entries with ASCII.
func TestFilterPassesOverNoValue(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 6))
	for range 5_000 {
		letters := []string{"ab", "abcdefgh", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "a\xe1\x01\x81"}[r.IntN(4)]
		shortest := 1 + r.IntN(12)
		var values []string
		for range 1 + r.IntN(4) {
			values = append(values, word(r, letters, shortest+r.IntN(40)))
		}
		text := word(r, letters+" .", r.IntN(120)) + values[r.IntN(len(values))]
		text = text[:len(text)-r.IntN(2)*r.IntN(len(text))] + word(r, letters+" .", r.IntN(2)*r.IntN(120))
		s, p, begins := New(values), []byte(text), begins(values, text)
		for from := range p {
			if at, want := s.filter.skip(p, from), begins[from]; at < from || at > want {
				t.Fatalf("values %q, text %q: from %d on, it goes to %d, past %d", values, text, from, at, want)
			}
		}
	}
}

// TestFilterPassesOverTheRest checks that text unlike any value is skipped up to the end, where an incomplete
// value may begin.
func TestFilterPassesOverTheRest(t *testing.T) {
	for _, n := range []int{6, 7, 8, 31, 32, 33, 100} {
		values := []string{strings.Repeat("x", n), strings.Repeat("y", n+1)}
		window := min(n, maxWindow)
		if n == shortWindow+1 {
			window = shortWindow
		}
		s := New(values)
		for size := range 200 {
			text := []byte(strings.Repeat("-", size))
			if at, want := s.filter.skip(text, 0), max(0, size-window+1); at != want {
				t.Errorf("values of %d bytes, %d others: it goes to %d, not to %d", n, size, at, want)
			}
		}
	}
}
