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

// wholeBytes is the most that is read at once of a range with an echo in it.
const wholeBytes = 8 << 20

// excerpt is what an answer quotes of a range, without the parts to skip.
func excerpt(j *jobs.Job, name jobs.Stream, r jobs.Range, plain bool, maxBytes int, skip []jobs.Range) ([]byte, *jobs.Truncated) {
	if r.To-r.From > wholeBytes {
		return longExcerpt(j, name, r, plain, maxBytes, skip)
	}
	if len(skip) == 0 {
		return j.Excerpt(name, r, plain, maxBytes)
	}
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

// longExcerpt is excerpt for a range that is not read as a whole: up to the last echo,
// which is at its beginning, and head and tail of what is behind that.
func longExcerpt(j *jobs.Job, name jobs.Stream, r jobs.Range, plain bool, maxBytes int, skip []jobs.Range) ([]byte, *jobs.Truncated) {
	for len(skip) > 0 && skip[len(skip)-1].To > r.From+wholeBytes/2 {
		skip = skip[:len(skip)-1] // an echo comes soon, or was none
	}
	if len(skip) == 0 {
		return j.Excerpt(name, r, plain, maxBytes)
	}
	from := skip[len(skip)-1].To
	head, tr := excerpt(j, name, jobs.Range{From: r.From, To: from}, plain, maxBytes/2, skip)
	tail, rest := j.Excerpt(name, jobs.Range{From: from, To: r.To}, plain, maxBytes-len(head))
	switch {
	case tr == nil && rest != nil:
		rest.HeadBytes += int64(len(head))
		tr = rest
	case rest != nil: // one seam is told: the first
		tr.OmittedBytes += rest.OmittedBytes
		tr.OmittedLines += rest.OmittedLines
		tr.TailBytes += int64(len(tail))
	case tr != nil:
		tr.TailBytes += int64(len(tail))
	}
	return append(head, tail...), tr
}
