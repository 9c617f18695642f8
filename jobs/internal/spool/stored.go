package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
)

// A Stored reads the file of a stream from outside its server, while that lives or after it has died. It reads like the
// result of [Spool.Finish].
type Stored struct {
	size   int64 // of the finished text
	parts  []part
	kept   []Range
	end    int64
	isRing bool

	file   io.ReaderAt
	found  int64 // size of the file
	tag    string
	places layout // of the kept bytes; in a ring, of those not overwritten since
	watch  *Watch // nil: the file is no longer written
}

// maxOffset is the largest offset that is accepted: no stream gets that far, and JSON could not represent larger ones.
const maxOffset = 1<<53 - 1

// A part is a piece of the finished text: from the file, or a marker line.
type part struct {
	at   int64 // in the finished text
	size int64
	file io.ReaderAt
	pos  int64 // in file
}

// A Record is what was written down about a stream's file, outside it, before the file was put in order. Marker lines
// in the file only count if the record confirms them, because a job can print such a line.
type Record struct {
	Kept []Range
	End  int64

	// Final means that the record was written after the end of the stream, by its server or by the process that
	// finished its leftovers.
	Final bool

	// Unwritten means that the file was put in order by a version that wrote no record: lines at the positions of
	// markers count.
	Unwritten bool
}

// ReadStored examines a file of size bytes that belongs to the stream tag; see Options. The record comes from
// elsewhere; if it does not match the file, it is ignored.
func ReadStored(file io.ReaderAt, size int64, tag string, record Record) (*Stored, error) {
	s := &Stored{file: file, found: size, tag: tag}
	if record.Unwritten {
		kept, end, err := unmarked(file, size)
		s.inOrder(kept, end)
		return s, err
	}
	end, ok, err := record.order(file, size)
	if err != nil {
		return nil, err
	}
	if ok {
		s.inOrder(record.Kept, end)
		return s, nil
	}
	l, isMarked, err := readMark(file, size, tag)
	if err != nil {
		return nil, err
	}
	if isMarked && record.tellsOf(&l, size) {
		record.refine(&l)
		s.isRing, s.end, s.places = true, l.end, l
		s.kept = merge(l.ranges(nil))
		s.arrange(file, &l)
		return s, nil
	}
	s.inOrder(keep(nil, 0, size), size)
	return s, nil
}

// inOrder sets up s for a file that contains the kept ranges in readable order.
func (s *Stored) inOrder(kept []Range, end int64) {
	s.kept, s.end = kept, end
	s.add(s.file, 0, s.found)
	s.places = layout{end: end, packed: []extent{}}
	pos, next := int64(0), int64(0)
	for _, r := range kept {
		if r.From > next {
			pos += int64(len(Marker(next, r.From)))
		}
		s.places.packed = add(s.places.packed, extent{r, pos})
		pos += r.To - r.From
		next = r.To
	}
}

// Ordered reports whether the file is in readable order. If not, it is to be put in order (see Finish).
func (s *Stored) Ordered() bool { return !s.isRing }

// Kept returns the ranges that are in the file.
func (s *Stored) Kept() []Range { return s.kept }

// End returns the offset after the newest byte that is certainly in the file.
func (s *Stored) End() int64 { return s.end }

// Size returns the size of the finished text.
func (s *Stored) Size() int64 { return s.size }

// ReadAt reads the finished text.
func (s *Stored) ReadAt(p []byte, off int64) (n int, err error) {
	for _, a := range s.parts {
		in := off + int64(n) - a.at
		if in < 0 || in >= a.size || n == len(p) {
			continue
		}
		m, err := a.file.ReadAt(p[n:n+int(min(int64(len(p)-n), a.size-in))], a.pos+in)
		if n += m; err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if int64(m) < a.size-in && n < len(p) {
			return n, io.ErrUnexpectedEOF // the file was truncated during the read
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readMark returns the layout of the ring whose mark ends the file, if there is a mark. That is no proof of a ring: a
// job can print such a mark.
func readMark(file io.ReaderAt, size int64, tag string) (l layout, isRing bool, err error) {
	length := int64(len(appendMark(nil, tag, 0, 0, 0)))
	if size <= length {
		return l, false, nil
	}
	mark, err := readWhole(file, size-length, int(length))
	if err != nil {
		return l, false, err
	}
	var head, end, room int64
	name := fmt.Sprintf("\n[shelld: output of %s that goes on: ", tag)
	if !bytes.HasPrefix(mark, []byte(name)) {
		return l, false, nil
	}
	if n, _ := fmt.Sscanf(string(mark[len(name):]), "head %d, end %d, room %d]\n", &head, &end, &room); n != 3 || markAt(room) != size-length || head < 0 || head >= room || end < 0 || end > maxOffset {
		return l, false, nil
	}
	l = layout{room: room, end: end, divided: true, head: head}
	l.start = min(max(head, end+markStep-l.ring()), max(end, head))
	return l, true, nil
}

// arrange does the same as Spool.copyTo, without copying.
func (s *Stored) arrange(file io.ReaderAt, l *layout) {
	var next int64
	var buf [8]extent
	for _, r := range append(s.kept, Range{l.end, l.end}) {
		if r.From > next {
			line := Marker(next, r.From)
			s.add(bytes.NewReader([]byte(line)), 0, int64(len(line)))
		}
		next = max(next, r.To)
		for _, e := range l.locate(r.From, r.To, buf[:0]) {
			s.add(file, e.pos, e.To-e.From)
		}
	}
}

func (s *Stored) add(file io.ReaderAt, pos, size int64) {
	if size > 0 {
		s.parts = append(s.parts, part{s.size, size, file, pos})
		s.size += size
	}
}

// order returns the end of the stream in a file of size bytes, if the file is in the order that the record describes;
// ok is false if it is not.
func (r *Record) order(file io.ReaderAt, size int64) (end int64, ok bool, err error) {
	if !r.valid() {
		return 0, false, nil
	}
	last := int64(0)
	if n := len(r.Kept); n > 0 {
		last = r.Kept[n-1].To
	}
	// Only a process that knew of bytes lost after all kept ones has written a marker for them.
	for _, end = range []int64{r.End, last} {
		if ok, err = r.holds(file, size, end); ok || err != nil {
			break
		}
	}
	return end, ok, err
}

// holds reports whether a file of size bytes consists of the kept ranges, with a marker line in each gap before end.
func (r *Record) holds(file io.ReaderAt, size, end int64) (bool, error) {
	gaps := r.gaps(end)
	want := Length(r.Kept)
	for _, g := range gaps {
		want += int64(len(Marker(g.From, g.To)))
	}
	if want != size {
		return false, nil
	}
	shift := int64(0) // offset = position + shift
	for _, g := range gaps {
		line := Marker(g.From, g.To)
		found := make([]byte, len(line))
		if _, err := file.ReadAt(found, g.From-shift); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if string(found) != line {
			return false, nil
		}
		shift += g.To - g.From - int64(len(line))
	}
	return true, nil
}

// tellsOf reports whether the record describes a ring with this layout, in a file of size bytes: then the mark is not
// output. This is so if bytes after the same head are missing. It is also so if nothing is missing, but the stream was
// longer than the file: then the bytes that the ring had lost were in memory, and about to be put in order with the
// rest.
func (r *Record) tellsOf(l *layout, size int64) bool {
	if !r.valid() {
		return false
	}
	if len(r.gaps(r.End)) == 0 {
		return !r.Final && r.End > size
	}
	head := int64(0)
	if len(r.Kept) > 0 && r.Kept[0].From == 0 {
		head = r.Kept[0].To
	}
	return head == l.head
}

// refine applies a final record to the layout of a ring, if it can be true: the server knew what it had overwritten,
// and the mark does not show that.
func (r *Record) refine(l *layout) {
	kept := r.Kept
	if l.head > 0 && len(kept) > 0 {
		kept = kept[1:] // which is the head
	}
	switch {
	case !r.Final || len(r.gaps(r.End)) == 0:
	case len(kept) == 0 && r.End >= l.end:
		l.start, l.end = max(r.End, l.head), r.End
	case len(kept) == 1 && kept[0].From >= l.head && kept[0].To-kept[0].From <= l.ring() && kept[0].To >= l.end && kept[0].To-l.end <= markStep:
		l.start, l.end = kept[0].From, kept[0].To
	}
}

// gaps returns the missing ranges before end. end must not lie before the end of the last kept range.
func (r *Record) gaps(end int64) (all []Range) {
	next := int64(0)
	for _, k := range append(slices.Clip(r.Kept), Range{end, end}) {
		all = keep(all, next, k.From)
		next = k.To
	}
	return all
}

// valid reports whether the record can be true of a file: it comes from a file that other processes may have changed.
func (r *Record) valid() bool {
	next := int64(0)
	for _, k := range r.Kept {
		if k.From < next || k.To <= k.From {
			return false
		}
		next = k.To
	}
	return next <= r.End && r.End <= maxOffset
}

var markerLine = regexp.MustCompile(`^\n\[shelld: (\d{1,19}) bytes omitted here, offsets (\d{1,19}) to (\d{1,19})\]\n`)

// unmarked returns the ranges of a stream in a file without a record. A line at the position of a marker counts as one,
// and any other line as output.
func unmarked(file io.ReaderAt, size int64) (kept []Range, end int64, err error) {
	const longest = 128 // more than the length of a marker
	buf := make([]byte, 256<<10)
	shift, next := int64(0), int64(0) // offset = position + shift; next is the stream offset after the last marker
	for pos := int64(0); pos < size; {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), size-pos)], pos)
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			return nil, 0, errors.Join(err, io.ErrUnexpectedEOF)
		}
		last := pos+int64(n) >= size
		i := bytes.Index(buf[:n], []byte("\n[shelld: "))
		if i < 0 || !last && i > n-longest {
			if i < 0 {
				i = max(n-longest, 0)
			}
			if last {
				break
			}
			pos += int64(i)
			continue
		}
		pos += int64(i)
		if from, to, length, ok := parseMarker(buf[i:n]); ok && from == pos+shift && to <= maxOffset-size {
			kept = keep(kept, next, from)
			next = to
			shift += to - from - length
			pos += length
			continue
		}
		pos++
	}
	end = size + shift
	return keep(kept, next, end), end, nil
}

func keep(kept []Range, from, to int64) []Range {
	if from < to {
		kept = append(kept, Range{from, to})
	}
	return kept
}

// parseMarker parses the marker at the beginning of b.
func parseMarker(b []byte) (from, to, length int64, ok bool) {
	m := markerLine.FindSubmatch(b)
	if m == nil {
		return 0, 0, 0, false
	}
	var n [3]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(string(m[i+1]), 10, 64); err != nil {
			return 0, 0, 0, false
		}
	}
	return n[1], n[2], int64(len(m[0])), n[1] < n[2] && n[2]-n[1] == n[0]
}
