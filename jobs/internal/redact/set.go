package redact

import (
	"slices"
	"sort"
)

// A Set holds the values to remove from streams: an automaton whose states are the prefixes of the values, in
// order of their length. State 0 is the empty prefix.
type Set struct {
	// By state:
	label []byte  // the last byte of the prefix
	kids  []int32 // its first child; children are adjacent and in order; there is one entry more than states
	fail  []int32 // the longest other prefix that is its suffix
	depth []int32 // its length
	whole []int32 // length of the longest value that is its suffix; 0: none
	keep  []int32 // number of its last bytes that a pause does not release

	root   [256]int32 // next state by byte, from state 0
	filter filter

	values []string // sorted
	path   []int32  // by state: the index of a value with this prefix

	quoting quoting
}

// New returns the set of some values. Empty values are dropped. Their number is limited only by memory: about 25
// bytes for each byte of a value, plus at most 41 KiB per set.
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

// A span is the range of sorted values with the prefix of a state.
type span struct{ from, to int }

// grow creates the states, each after all shorter ones. Sorted values that share a prefix are adjacent, and so
// are those that continue with the same byte.
func (s *Set) grow(values []string) {
	spans := []span{{0, len(values)}}
	s.add(0, 0, 0)
	for v := 0; v < len(spans); v++ {
		d := int(s.depth[v])
		at, to := spans[v].from, spans[v].to
		s.kids = append(s.kids, int32(len(spans)))
		shortest := 0 // length of the shortest value that continues
		for at < to {
			if len(values[at]) == d { // it ends here, and sorts first
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

// link finds for each state the longest other state that is its suffix, and derives whole and keep from it.
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

// next returns the state after one more byte.
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

// prefix returns the prefix of a state.
func (s *Set) prefix(v int32) string {
	if v == 0 {
		return ""
	}
	return s.values[s.path[v]][:s.depth[v]]
}
