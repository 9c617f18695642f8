package spool

import (
	"cmp"
	"slices"
)

// An extent says where in the file a range is.
type extent struct {
	Range
	pos int64
}

// A layout says where in the file every kept byte is. It is arithmetic alone: it
// knows nothing of files and locks. A byte keeps its place for as long as it is
// kept.
type layout struct {
	headMax int64
	roomMax int64 // head and ring together

	room    int64 // bytes of the file that are taken up, or about to be
	end     int64 // offset behind the last byte that is in the file
	divided bool  // into head and ring; before, the file is like the stream
	head    int64 // [0, head) stays; 0 until divided
	start   int64 // of the ring's oldest byte, once divided

	packed []extent // if not nil: instead of all the above but end, and for good
}

// prepare makes place for bytes from off on, up to end or to where the file ends to be like
// the stream, and returns how far. That withdraws the oldest of the ring where they will be.
// It appends the extents to write them to: one as a rule, more at an edge. What can't be
// kept of them is left out.
func (l *layout) prepare(off, end int64, grant func(int64) int64, to []extent) (ext []extent, behind int64) {
	if l.packed != nil {
		return to, end
	}
	if !l.divided {
		got := grant(min(end-off, l.roomMax-l.room))
		l.room += got
		if got < end-off {
			l.divide()
			if got > 0 {
				end = off + got
			}
		}
	}
	if l.divided {
		l.start = max(l.start, end-l.ring())
	}
	return l.locate(off, end, to), end
}

// wraps says whether writing up to end overwrites what is older, or leaves something out: the
// file is not like the stream any more.
func (l *layout) wraps(end int64) bool { return l.divided && end > l.room }

// divide ends the file's growth. A spool that got less than it may have, because
// the budget is used up, gives at most half of that to the head: without a tail it
// could store nothing more.
func (l *layout) divide() {
	l.divided = true
	l.head = l.headMax
	if l.room < l.roomMax {
		l.head = min(l.headMax, l.room/2)
	}
	l.start = l.head
}

func (l *layout) ring() int64 { return l.room - l.head }

// locate appends the extents of what is kept of [from, to).
func (l *layout) locate(from, to int64, ext []extent) []extent {
	if l.packed != nil {
		return overlap(l.packed, from, to, ext)
	}
	if !l.divided {
		return add(ext, extent{Range{from, to}, from})
	}
	ext = add(ext, extent{Range{from, min(to, l.head)}, from})
	for at := max(from, l.start); at < to; {
		in := (at - l.head) % l.ring()
		n := min(to-at, l.ring()-in)
		ext = add(ext, extent{Range{at, at + n}, l.head + in})
		at += n
	}
	return ext
}

// cut takes back what is behind the first size bytes of the file, for good.
func (l *layout) cut(size int64) {
	var buf [4]extent
	left := []extent{}
	for _, e := range l.locate(0, l.end, buf[:0]) {
		e.To = min(e.To, e.From+size-e.pos)
		left = add(left, e)
	}
	l.packed = left
}

// add appends e, if there is anything in it.
func add(ext []extent, e extent) []extent {
	if e.From >= e.To {
		return ext
	}
	return append(ext, e)
}

func overlap(all []extent, from, to int64, ext []extent) []extent {
	for _, e := range all {
		a := max(from, e.From)
		ext = add(ext, extent{Range{a, min(to, e.To)}, e.pos + a - e.From})
	}
	return ext
}

// next returns the first extent that is kept and not below off.
func (l *layout) next(off int64) (e extent, ok bool) {
	var buf [4]extent
	if ext := l.locate(off, l.end, buf[:0]); len(ext) > 0 {
		return ext[0], true
	}
	return e, false
}

// still returns the first run of r that is kept now.
func (l *layout) still(r Range) (Range, bool) {
	var buf [4]extent
	ext := l.locate(r.From, min(r.To, l.end), buf[:0])
	if len(ext) == 0 {
		return Range{}, false
	}
	run := ext[0].Range
	for _, e := range ext[1:] {
		if e.From != run.To {
			break
		}
		run.To = e.To
	}
	return run, true
}

// like says whether the file is what was written, from the first byte to end.
func (l *layout) like(end int64) bool {
	e, ok := l.next(0)
	return end == 0 || ok && e == extent{Range{0, end}, 0}
}

// ranges appends what is kept, in order; neighbours are not merged.
func (l *layout) ranges(to []Range) []Range {
	var buf [4]extent
	for _, e := range l.locate(0, l.end, buf[:0]) {
		to = append(to, e.Range)
	}
	return to
}

// merge sorts ranges and makes one of those that touch or overlap.
func merge(all []Range) []Range {
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	out := all[:0]
	for _, r := range all {
		if i := len(out) - 1; i >= 0 && r.From <= out[i].To {
			out[i].To = max(out[i].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Length is how many bytes ranges that do not overlap have together.
func Length(all []Range) (n int64) {
	for _, r := range all {
		n += r.To - r.From
	}
	return n
}
