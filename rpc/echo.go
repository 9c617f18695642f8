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

// excerpt is what an answer quotes of a range, without the parts to skip.
func excerpt(j *jobs.Job, name jobs.Stream, r jobs.Range, plain bool, maxBytes int, skip []jobs.Range) ([]byte, *jobs.Truncated) {
	if len(skip) == 0 {
		return j.Excerpt(name, r, plain, maxBytes)
	}
	// It is read as a whole: what follows an echo is an answer, and as long as one.
	text, gaps, behind := rangeWithout(j, name, r, skip)
	seam := int64(len(text)) // where the first gap is
	if len(gaps) > 0 {
		seam = min(behind, seam)
	}
	if plain {
		head := jobs.Plain(text[:seam])
		text = []byte(head + jobs.Plain(text[seam:]))
		seam = int64(len(head))
	}
	cut, tr := jobs.Clip(text, maxBytes)
	for _, g := range gaps {
		if tr == nil {
			tr = &jobs.Truncated{HeadBytes: seam, TailBytes: int64(len(cut)) - seam}
		}
		tr.OmittedBytes += g.To - g.From
	}
	return cut, tr
}
