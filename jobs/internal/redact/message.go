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
// out its end behind a …, as messages do.
func (s *Set) CleanMessage(text string) string {
	s.quoting.once.Do(func() { s.quoting.set = s.quoted() })
	parts := strings.Split(text, "…")
	last := len(parts) - 1
	for i, part := range parts[:last] {
		cut, ended := strings.CutSuffix(part, `"`)
		if parts[i] = s.quoting.set.CleanPart(cut); ended {
			parts[i] += `"`
		}
	}
	parts[last] = s.quoting.set.Clean(parts[last])
	return strings.Join(parts, "…")
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
