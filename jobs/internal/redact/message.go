package redact

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// quoting is the set of the same values, and of what they are within quotes. It is made when a
// message is cleaned first.
type quoting struct {
	once sync.Once
	set  *Set
}

// CleanMessage is Clean for words that quote what they speak of, as Go or JSON does, and leave
// out its end behind a …, as messages do. Before each … half of a value or more is replaced as
// well; a value that has a … of its own goes on behind it.
func (s *Set) CleanMessage(text string) string {
	s.quoting.once.Do(func() { s.quoting.set = s.quoted() })
	r := NewRedactor(s.quoting.set)
	var clean strings.Builder
	at := 0
	upTo := func(end int) {
		clean.Write(r.Write([]byte(text[at:end])))
		at = end
	}
	for i := nextEllipsis(text, 0); i >= 0; i = nextEllipsis(text, at) {
		for _, end := range cuts(text[:i]) {
			upTo(max(end, at))
			r.cut()
		}
		upTo(i + len(ellipsis))
	}
	upTo(len(text))
	clean.Write(r.Flush())
	return clean.String()
}

const ellipsis = "…"

func nextEllipsis(text string, at int) int {
	if i := strings.Index(text[at:], ellipsis); i >= 0 {
		return at + i
	}
	return -1
}

// cuts is where what is quoted may have been cut off in a text whose end was left out, in order:
// before the quotation mark that was put behind it, and before a ? for a part of a character.
func cuts(text string) []int {
	all := []int{len(text)}
	for _, end := range []string{`"`, "?"} {
		if less, is := strings.CutSuffix(text, end); is {
			text = less
			all = append([]int{len(text)}, all...)
		}
	}
	return all
}

// cut replaces half of a value or more with which the input ends. What comes may go on with it.
func (r *Redactor) cut() {
	if n := r.end - r.free(); n > 0 {
		r.cover(r.end-n, r.end)
	}
}

func (s *Set) quoted() *Set {
	all := s.values
	for _, v := range s.values {
		inJSON, err := json.Marshal(v)
		if err != nil {
			panic(err) // a string is JSON
		}
		for _, q := range []string{strconv.Quote(v), string(inJSON)} {
			if q = q[1 : len(q)-1]; q != v {
				all = append(all[:len(all):len(all)], q)
			}
		}
	}
	if len(all) == len(s.values) {
		return s
	}
	return New(all)
}
