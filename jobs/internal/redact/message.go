package redact

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// A quoting is the set of the same values and of their quoted forms. It is built when a message is first cleaned.
type quoting struct {
	once sync.Once
	set  *Set
}

// CleanMessage is Clean for messages that quote text, as Go or JSON does, and truncate it with an ellipsis (…). The text
// before an ellipsis may be the beginning of a secret value: a half or more of one is replaced as well. If a value
// itself contains an ellipsis, the comparison goes on after it.
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

// cuts returns the places at which the quoted text may have been cut in a truncated text, in order: before the
// quotation mark that was added at the end, and before a ? for a part of a character.
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

// cut replaces the end of the input if it is half of a value or more. Later input may continue the value.
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
			panic(err) // This never happens: every string has a JSON form.
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
