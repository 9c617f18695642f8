package jobs

// Range returns the stored bytes of a range and the ranges of it that were dropped. It takes no more memory than the
// stored bytes.
func (j *Job) Range(name Stream, r Range) (data []byte, gaps []Range) {
	st := j.output.stream(name)
	if st == nil {
		return nil, nil
	}
	at := r.From
	for _, k := range st.spool.Kept() {
		from, to := max(k.From, at), min(k.To, r.To)
		if from >= to {
			continue
		}
		part, dropped := st.spool.ReadRange(from, to)
		if from > at {
			gaps = append(gaps, Range{From: at, To: from})
		}
		gaps = append(gaps, dropped...) // dropped during the reads
		data, at = append(data, part...), to
	}
	if at < r.To {
		gaps = append(gaps, Range{From: at, To: r.To})
	}
	return data, gaps
}
