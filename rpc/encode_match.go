package rpc

import (
	"maps"
	"slices"
	"strconv"

	"shelld.dev/shelld/schema"
)

// appendMatched appends the params of job/patternMatched to dst. Clients wait for matches, and encoding/json took as
// long as finding the match.
func appendMatched(dst []byte, p *schema.JobPatternMatchedParams) []byte {
	number := func(member string, n int64) { dst = strconv.AppendInt(append(dst, member...), n, 10) }
	text := func(member, s string) { dst = appendJSONString(append(dst, member...), []byte(s)) }
	number(`{"handle":`, p.Handle)
	number(`,"seq":`, p.Seq)
	if p.N != nil {
		number(`,"n":`, *p.N)
	}
	number(`,"watchId":`, p.WatchID)
	text(`,"match":`, p.Match)
	dst = append(dst, `,"groups":[`...)
	for i, g := range p.Groups {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTextOrNull(dst, g)
	}
	dst = append(dst, `],"named":{`...)
	for i, name := range slices.Sorted(maps.Keys(p.Named)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONString(dst, []byte(name)), ':')
		dst = appendTextOrNull(dst, p.Named[name])
	}
	text(`},"line":`, p.Line)
	text(`,"stream":`, string(p.Stream))
	number(`,"offset":`, p.Offset)
	number(`,"endOffset":`, p.EndOffset)
	if p.Row != nil {
		number(`,"row":`, *p.Row)
		number(`,"col":`, *p.Col)
	}
	if p.Suppressed != nil {
		number(`,"suppressed":`, *p.Suppressed)
	}
	if p.Truncated != nil {
		dst = strconv.AppendBool(append(dst, `,"truncated":`...), *p.Truncated)
	}
	return append(dst, '}')
}

func appendTextOrNull(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return appendJSONString(dst, []byte(*s))
}
