package spool

import (
	"cmp"
	"slices"
)

// An extent is a range and its position in the file.
type extent struct {
	Range
	pos int64
}

// A layout maps every kept byte to its position in the file. It only does arithmetic, without files and locks. A byte
// keeps its position as long as it is kept.
type layout struct {
	headMax int64
	roomMax int64 // head and ring together

	room    int64 // bytes of the file that are in use, or about to be
	end     int64 // offset after the last byte in the file
	divided bool  // into head and ring; before that, the file equals the stream
	head    int64 // [0, head) stays; 0 until divided
	start   int64 // offset of the ring's oldest byte, once divided

	packed []extent // if not nil: replaces all fields above except end, permanently
}

// prepare makes room for bytes from off on, up to end or, if the file is divided by this, to the end of the part that
// equals the stream, and returns that offset. It withdraws the ring's oldest bytes, which they will overwrite. It
// appends the extents to write to: usually one, more at an edge. Bytes that cannot be kept are left out.
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

// wraps reports whether writing up to end overwrites older bytes or leaves some out: the file no longer equals the
// stream.
func (l *layout) wraps(end int64) bool { return l.divided && end > l.room }

// divide ends the growth of the file. If the spool got less space than its maximum, because the budget is used up, at
// most half of that is for the head: without a tail it could store nothing more.
func (l *layout) divide() {
	l.divided = true
	l.head = l.headMax
	if l.room < l.roomMax {
		l.head = min(l.headMax, l.room/2)
	}
	l.start = l.head
}

func (l *layout) ring() int64 { return l.room - l.head }

// locate appends the extents of the kept bytes of [from, to).
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

// cut withdraws the bytes after the first size bytes of the file, permanently.
func (l *layout) cut(size int64) {
	var buf [4]extent
	left := []extent{}
	for _, e := range l.locate(0, l.end, buf[:0]) {
		e.To = min(e.To, e.From+size-e.pos)
		left = add(left, e)
	}
	l.packed = left
}

// add appends e unless it is empty.
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

// next returns the first extent of kept bytes at or after off.
func (l *layout) next(off int64) (e extent, ok bool) {
	var buf [4]extent
	if ext := l.locate(off, l.end, buf[:0]); len(ext) > 0 {
		return ext[0], true
	}
	return e, false
}

// still returns the first contiguous part of r that is kept now.
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

// like reports whether the file equals the stream, from the first byte to end.
func (l *layout) like(end int64) bool {
	e, ok := l.next(0)
	return end == 0 || ok && e == extent{Range{0, end}, 0}
}

// ranges appends the kept ranges, in order; adjacent ones are not merged.
func (l *layout) ranges(to []Range) []Range {
	var buf [4]extent
	for _, e := range l.locate(0, l.end, buf[:0]) {
		to = append(to, e.Range)
	}
	return to
}

// merge sorts ranges, and joins those that touch or overlap.
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

// Length returns the total number of bytes in ranges that do not overlap.
func Length(all []Range) (n int64) {
	for _, r := range all {
		n += r.To - r.From
	}
	return n
}
