package rpc

import "shelld/jobs"

// rangeWithout is what is stored of a range but for some parts of it, which ascend,
// and what of that was dropped. behind is how much of the text stands before the
// first gap.
func rangeWithout(j *jobs.Job, name jobs.Stream, r jobs.Range, skip []jobs.Range) (text []byte, gaps []jobs.Range, behind int64) {
	at, left := r.From, int64(0)
	take := func(to int64) {
		part, dropped := j.Range(name, jobs.Range{From: at, To: to})
		if gaps == nil && dropped != nil {
			behind = max(dropped[0].From-r.From-left, 0)
		}
		text, gaps = append(text, part...), append(gaps, dropped...)
	}
	for _, s := range skip {
		take(s.From)
		at, left = s.To, left+s.To-s.From
	}
	take(r.To)
	return text, gaps, behind
}
