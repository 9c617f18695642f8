package redact

import (
	"slices"
	"sort"
)

// A Set is the values that are taken out of streams: an automaton whose states are their
// prefixes, in the order of their length. State 0 is the empty one.
type Set struct {
	// By state:
	label []byte  // the last byte of the prefix
	kids  []int32 // the first of its children, which stand side by side, in order; one more than there are states
	fail  []int32 // the longest other prefix that it ends with
	depth []int32 // its length
	whole []int32 // the length of the longest value that it ends with; 0: none
	keep  []int32 // how many of its last bytes a pause does not set free

	root   [256]int32 // what a byte leads to from state 0
	filter filter

	values []string // sorted
	path   []int32  // by state, which value begins with it

	quoting quoting
}

// New returns the set of some values. Empty ones are left out. There may be as many as there
// is memory for: each byte of them takes some 25, and a set 41 KiB at most.
func New(values []string) *Set {
	values = slices.Clone(values)
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) > 0 && values[0] == "" {
		values = values[1:]
	}
	s := &Set{values: values}
	s.grow(values)
	s.link()
	s.filter.init(values)
	return s
}

// A span is the sorted values that begin with the prefix of a state.
type span struct{ from, to int }

// grow makes the states, each behind all that are shorter. The sorted values that share a
// prefix stand side by side, and so do those that go on with the same byte.
func (s *Set) grow(values []string) {
	spans := []span{{0, len(values)}}
	s.add(0, 0, 0)
	for v := 0; v < len(spans); v++ {
		d := int(s.depth[v])
		at, to := spans[v].from, spans[v].to
		s.kids = append(s.kids, int32(len(spans)))
		shortest := 0 // of the values that go on
		for at < to {
			if len(values[at]) == d { // it ends here, and stands first
				s.whole[v] = int32(d)
				at++
				continue
			}
			b := values[at][d]
			n := sort.Search(to-at, func(i int) bool { return values[at+i][d] > b })
			for _, value := range values[at : at+n] {
				if shortest == 0 || len(value) < shortest {
					shortest = len(value)
				}
			}
			spans = append(spans, span{at, at + n})
			s.add(b, d+1, at)
			at += n
		}
		if shortest > 0 && 2*d >= shortest {
			s.keep[v] = int32(d)
		}
	}
	s.kids = append(s.kids, int32(len(spans)))
}

func (s *Set) add(label byte, depth, value int) {
	s.label = append(s.label, label)
	s.depth = append(s.depth, int32(depth))
	s.fail, s.whole, s.keep = append(s.fail, 0), append(s.whole, 0), append(s.keep, 0)
	s.path = append(s.path, int32(value))
}

// link finds for each state the longest other one that it ends with, and what follows from
// that.
func (s *Set) link() {
	for v := range s.label {
		for c := s.kids[v]; c < s.kids[v+1]; c++ {
			if v == 0 {
				s.root[s.label[c]] = c
				continue
			}
			f := s.next(s.fail[v], s.label[c])
			s.fail[c] = f
			if s.whole[c] == 0 {
				s.whole[c] = s.whole[f]
			}
			if s.keep[c] == 0 {
				s.keep[c] = s.keep[f]
			}
		}
	}
}

// next is the state behind one more byte.
func (s *Set) next(v int32, b byte) int32 {
	for v != 0 {
		for c, end := s.kids[v], s.kids[v+1]; c < end; c++ {
			if s.label[c] == b {
				return c
			}
		}
		v = s.fail[v]
	}
	return s.root[b]
}

// prefix is what a state stands for.
func (s *Set) prefix(v int32) string {
	if v == 0 {
		return ""
	}
	return s.values[s.path[v]][:s.depth[v]]
}
