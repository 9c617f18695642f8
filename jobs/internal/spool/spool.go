package spool

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A Range is the half-open interval [From, To) of absolute offsets.
type Range struct{ From, To int64 }

// Options say what a spool keeps, and where.
type Options struct {
	// Memory is how many of the newest bytes are kept in memory, about.
	Memory int

	// File is where output is stored: a new and empty file, open for reading and
	// writing (not for appending) under its absolute name. It is the spool's from
	// then on. Without it the spool is one of New(Memory).
	File *os.File

	// Create makes such a file, in place of File, when the first byte is stored: a
	// stream that prints nothing has none. If it can't, that is as if the file
	// could not be written, and it may be called again.
	Create func() (*os.File, error)

	// DiskHead and DiskTail are how many of the first and of the newest bytes the
	// file keeps.
	DiskHead, DiskTail int64

	// Tag says which stream this is, in a name that no other has: whoever finds the
	// file reads it by that. "": nobody will.
	Tag string

	// Record writes down which ranges the file will hold, before Finish puts another
	// one into its place that has lines of our own: whoever finds the file then
	// cannot tell them from output (see ReadStored). An error leaves the file as it
	// is. nil: nobody will.
	Record func(kept []Range) error

	// Wraps writes down, as [Spool.Placed] tells it then, that the file is about to be
	// unlike the stream, before it is: whoever finds the file believes no mark in it of
	// which nothing was written down (see ReadStored). An error ends the storing, and
	// leaves the file as it is. nil: nobody will. Append calls it, and not again when it
	// has returned no error.
	Wraps func() error

	// Total limits all spools that share it. One that gets no more from it wraps
	// in the room that it has.
	Total *Budget

	// Failed is called once, by Append, when the file can't be written. From then
	// on new output is in memory alone; what is in the file stays readable. Where it
	// is descriptors or memory that are short, it is tried again first, for as long
	// as Memory has what the file lacks.
	Failed func(error)

	// Unread is told what stored bytes a Read has gone past since they could not be read,
	// though they may be there, and why. Any goroutine may call it, and it must not wait.
	Unread func(Range, error)
}

// A Spool is the stored output of one stream.
type Spool struct {
	// Immutable:
	tag    string
	total  *Budget
	onFail func(error)
	record func(kept []Range) error
	wraps  func() error // nil: nobody is told
	unread func(Range, error)

	end      atomic.Int64 // published after the bytes below it are readable
	firstNUL atomic.Int64 // where the first NUL byte was printed; noNUL: nowhere yet

	over      atomic.Bool // it was finished, closed or removed: nothing is tried again
	appending sync.Mutex  // held by Append, by who tries again in its place, and by Finish; before ending

	// Set by the appender, at its first byte, under ending:
	file    *os.File // nil: memory only
	out     *output  // the same file
	writeAt func(p []byte, pos int64) (int, error)

	markLine []byte // the same: what stands behind the ring; nil: nothing yet

	// Guarded by appending:
	begun bool        // there is a file, or none will be made
	late  error       // why the file lacks what is in memory, for now (late.go)
	again *time.Timer // has that tried again; nil until the first time

	ending sync.Mutex               // held by Finish, Close and Remove, and to make the file; before mu
	create func() (*os.File, error) // guarded by ending; nil: made, or not to be made any more

	mu      sync.RWMutex // protects the fields below; no file is written under it
	mem     memory
	disk    layout
	placed  int64 // what lies before it is in the file, as far as that keeps it; see Placed
	charged int64 // to total
	src     source
	failed  error // why the file is written no more
	damaged bool  // Finish has found that the file was cut or has a hole, and has not replaced it
}

// New returns an empty spool in memory that keeps at most about max bytes (at
// least two segments of 64 KiB): the first eighth of them and the newest of the
// rest.
func New(max int) *Spool {
	s := &Spool{mem: newMemory(max/8, max-max/8, segmentSize)}
	s.Unpin()
	return s
}

// Open returns an empty spool.
func Open(o Options) *Spool {
	if o.File == nil && o.Create == nil {
		return New(o.Memory)
	}
	head := max(o.DiskHead, 0)
	s := &Spool{
		tag:    o.Tag,
		total:  o.Total,
		onFail: o.Failed,
		record: o.Record,
		wraps:  o.Wraps,
		unread: o.Unread,
		create: o.Create,
		mem:    newMemory(0, o.Memory, min(max(o.Memory/4, 1), segmentSize)),
		disk:   layout{headMax: head, roomMax: head + max(o.DiskTail, 0)},
	}
	s.firstNUL.Store(noNUL)
	s.Unpin()
	if o.File != nil {
		s.begun = true
		s.use(o.File)
	}
	return s
}

// use makes f the file.
func (s *Spool) use(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file, s.out = f, &output{file: f}
	s.writeAt = s.out.WriteAt
	s.src = source{open: f, path: f.Name()}
}

// End returns the offset behind the last byte appended.
func (s *Spool) End() int64 { return s.end.Load() }

// Append stores p behind what is there and returns the new end. Only one
// goroutine may append; p is copied. With a file it costs one write to it; in a ring
// one more for its mark, and one where the ring wraps.
func (s *Spool) Append(p []byte) int64 {
	s.appending.Lock()
	defer s.appending.Unlock()
	return s.append(p)
}

func (s *Spool) append(p []byte) int64 {
	off := s.end.Load()
	end := off + int64(len(p))
	s.noteNUL(p, off)
	stored, err := s.store(p, off, end)
	err = s.await(err)
	s.mu.Lock()
	s.mem.append(p)
	s.disk.end = stored
	if err != nil {
		s.failed = err
		s.withdraw(err)
	}
	s.end.Store(end)
	s.mu.Unlock()
	if err != nil && s.onFail != nil {
		s.onFail(err)
	}
	return end
}

// store writes p to the file and returns the offset behind what is in it, with
// the error that ends the storing.
func (s *Spool) store(p []byte, off, end int64) (stored int64, err error) {
	if s.failed != nil || len(p) == 0 && s.late == nil { // only we write s.failed
		return s.disk.end, nil
	}
	if s.isTooLate() {
		return s.disk.end, s.late
	}
	stored, err = s.ready(off)
	if err == nil && s.file != nil {
		stored, err = s.storePieces(p, stored, end)
	}
	return stored, err
}

// storePieces writes p, which stands before end, behind what is stored.
func (s *Spool) storePieces(p []byte, stored, end int64) (int64, error) {
	off := end - int64(len(p))
	for stored < end {
		to := end
		if s.tag != "" {
			to = min(end, stored+markStep)
		}
		var err error
		if stored, err = s.storePiece(p[stored-off:to-off], stored, to); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

func (s *Spool) storePiece(p []byte, off, end int64) (stored int64, err error) {
	var buf [4]extent
	s.mu.Lock()
	before, charged := s.disk, s.charged
	todo, end := s.disk.prepare(off, end, s.grant, buf[:0])
	s.placed = off
	s.mu.Unlock()
	wraps := s.tag != "" && s.disk.wraps(end) && s.disk.ring() > 0
	if wraps && s.markLine == nil {
		if err := s.beginRing(off); err != nil {
			s.unprepare(before, charged)
			return off, err
		}
	}
	for _, e := range todo {
		n, err := s.writeAt(p[e.From-off:e.To-off], e.pos)
		if err != nil { // n may be less than what was written: os.File does not count the last piece
			return e.From + int64(n), err
		}
	}
	if !wraps {
		return end, nil
	}
	return end, s.mark(end)
}

// unprepare takes it back that place was made: nothing was written there, and what was withdrawn for it
// is in the file as before.
func (s *Spool) unprepare(before layout, charged int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.charge(charged - s.charged)
	s.disk, s.charged = before, charged
}

// beginRing has it written down that the file, which is like the stream up to off, will be a
// ring, and then marks it as one. Nothing is overwritten yet.
func (s *Spool) beginRing(off int64) error {
	if s.wraps != nil {
		if err := s.wraps(); err != nil {
			return orNotYet(err)
		}
	}
	return s.mark(off)
}

// grant returns how many of n bytes the file may grow by. The caller holds mu.
func (s *Spool) grant(n int64) int64 {
	got := s.total.take(n)
	s.charged += got
	return got
}

// Read copies stored bytes into p, from the first kept offset that is not below
// off, and returns how many and where they begin. at > off means that [off, at)
// was dropped, or can't be read any more; n == 0 means that nothing at or behind
// at is stored yet. It never reads across a dropped range. Bytes that are on disk
// alone are read from there.
func (s *Spool) Read(p []byte, off int64) (n int, at int64) {
	n, at, _ = s.read(p, off, false)
	return n, at
}

// TryRead is Read for those who can tell that what is stored could not be read, for want of
// descriptors, say, or since the disk has failed: it returns that as an error, and has read nothing.
// Read steps over what is stored there, and tells Options.Unread. A file that somebody has taken
// away or cut is no error: what was in it is dropped.
func (s *Spool) TryRead(p []byte, off int64) (n int, at int64, err error) {
	return s.read(p, off, true)
}

func (s *Spool) read(p []byte, off int64, try bool) (n int, at int64, err error) {
	n, at, err = s.readPiece(p, max(off, 0), try)
	for n > 0 && n < len(p) {
		next := at + int64(n)
		more, from, _ := s.readPiece(p[n:], next, try) // An error is for the next call.
		if more == 0 || from != next {
			break
		}
		n += more
	}
	return n, at, err
}

// ReadNow is Read for those who must not wait, neither for a disk nor for who has the
// spool: ok is false where they would have to.
func (s *Spool) ReadNow(p []byte, off int64) (n int, at int64, ok bool) {
	if !s.mu.TryRLock() {
		return 0, off, false
	}
	defer s.mu.RUnlock()
	off = max(off, 0)
	m, inMemory := s.mem.next(off)
	e, onDisk := s.disk.next(off)
	switch {
	case inMemory && (!onDisk || m <= e.From):
		return s.mem.read(p, m), m, true
	case !onDisk:
		return 0, max(off, s.end.Load()), true
	}
	return 0, off, false
}

// readPiece reads from one place: memory, or one extent of the file. What can't be read is tried
// once more, since some of what is in the way is over at once.
func (s *Spool) readPiece(p []byte, off int64, try bool) (n int, at int64, err error) {
	first, tried := off, int64(-1)
	const unlocked = 3 // looks, before the appender is held up
	for look := 0; len(p) > 0; look++ {
		s.mu.RLock()
		m, inMemory := s.mem.next(off)
		e, onDisk := s.disk.next(off)
		switch {
		case inMemory && (!onDisk || m <= e.From):
			n = s.mem.read(p, m)
			s.mu.RUnlock()
			return n, m, nil
		case !onDisk:
			at = max(off, s.end.Load()) // under the lock: what comes later is not lost
			s.mu.RUnlock()
			return 0, at, nil
		}
		if inMemory && m < e.To {
			e.To = m // What can't be read of the file must not hide what is in memory.
		}
		run, ok, err := s.readDisk(p, e, look >= unlocked)
		switch {
		case ok:
			return int(run.To - run.From), run.From, nil
		case isReadError(err) && tried != off:
			tried = off
		case try && isReadError(err):
			return 0, first, err
		case run != (Range{}):
			s.past(run, err)
			off = run.To
		}
	}
	return 0, off, nil
}

// past tells of what a Read goes past. What somebody has taken away is no news for who has, and
// nobody can do anything about it.
func (s *Spool) past(r Range, err error) {
	if s.unread != nil && isReadError(err) {
		s.unread(r, err)
	}
}

// isReadError says whether what could not be read may still be there.
func isReadError(err error) bool {
	return err != nil && !errors.Is(err, errGone) && !errors.Is(err, errCut) && !errors.Is(err, io.EOF)
}

// readDisk reads from an extent and moves what of it is still kept to the front
// of p. Without such, it returns the range that can't be read, or the empty one
// if a second look is worth it. The caller holds mu for reading; it is released.
func (s *Spool) readDisk(p []byte, e extent, locked bool) (run Range, ok bool, err error) {
	src := s.src
	if !locked {
		s.mu.RUnlock()
	}
	n, err := src.readAt(p[:min(int64(len(p)), e.To-e.From)], e.pos)
	if !locked {
		s.mu.RLock()
	}
	run, ok = s.disk.still(Range{e.From, e.From + int64(n)})
	swapped := s.src.open != src.open // closed under us, perhaps
	s.mu.RUnlock()
	switch {
	case ok:
		copy(p, p[run.From-e.From:run.To-e.From])
		from, to := s.unprinted(p[:run.To-run.From], run.From)
		if from > 0 {
			return Range{run.From, run.From + int64(from)}, true, nil
		}
		s.out.holed.Store(true)
		return Range{run.From, run.From + int64(to)}, false, errCut
	case n > 0 || swapped:
		return Range{}, false, nil
	case errors.Is(err, errGone):
		s.forget()
	}
	return e.Range, false, err
}

// Kept returns the ranges that can be read, in order and apart from each other: as
// a rule none, one, or the head and the tail with a gap between them; three where
// the file failed in the middle.
func (s *Spool) Kept() []Range {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kept()
}

// kept is Kept for those who hold mu.
func (s *Spool) kept() []Range {
	if s.end.Load() == 0 {
		return nil
	}
	all := make([]Range, 0, 6)
	all = s.mem.ranges(all)
	return merge(s.disk.ranges(all))
}

// Stored returns the ranges that are in the file. Others of Kept are in memory
// alone.
func (s *Spool) Stored() []Range {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return merge(s.disk.ranges(nil))
}

// Placed returns which ranges are in the file and up to where, those too of which End does not
// tell yet. Where the file is a ring, or about to be one, something is missing before that,
// and not in the head.
func (s *Spool) Placed() (kept []Range, end int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.disk
	if l.packed == nil {
		l.end = max(l.end, s.placed)
	}
	return merge(l.ranges(nil)), max(s.end.Load(), l.end)
}

// Newest returns how many of the newest bytes are in memory for sure, however many came
// before them.
func (s *Spool) Newest() int64 {
	m := &s.mem // what is looked at is immutable
	return int64((m.tailMax/m.segment - 1) * m.segment)
}

// Pin keeps what is stored and comes from off on, whatever that takes: memory grows by
// what is appended until off is moved on. Whoever pins has to see to it that this is
// bounded. Offsets below what is kept pin all of it.
// It waits for nobody, and holds from the next Append on.
func (s *Spool) Pin(off int64) { s.mem.pin.Store(off) }

// Unpin ends that.
func (s *Spool) Unpin() { s.Pin(noPin) }

// Err returns why the file is written no more, as Failed was told; nil where it is.
func (s *Spool) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failed
}

// A Usage is what a spool holds, in bytes.
type Usage struct {
	Memory  int64 // taken for what is kept in memory
	Dropped int64 // that came and can't be read any more
}

// Usage returns what the spool holds now.
func (s *Spool) Usage() Usage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Usage{s.mem.taken(), s.end.Load() - Length(s.kept())}
}

// ReadRange returns the stored bytes of [from, to) and the ranges in it that were
// dropped, or can't be read.
func (s *Spool) ReadRange(from, to int64) (data []byte, gaps []Range) {
	data, gaps, _ = s.readRange(from, to, false)
	return data, gaps
}

// TryReadRange is ReadRange as TryRead is Read. What comes behind an error is one of the gaps.
func (s *Spool) TryReadRange(from, to int64) (data []byte, gaps []Range, err error) {
	return s.readRange(from, to, true)
}

func (s *Spool) readRange(from, to int64, try bool) (data []byte, gaps []Range, err error) {
	data = make([]byte, 0, max(to-from, 0))
	for from < to {
		n, at, err := s.read(data[len(data):len(data)+int(to-from)], from, try)
		if err != nil {
			return data, append(gaps, Range{from, to}), err
		}
		if at > from {
			gaps = append(gaps, Range{from, min(at, to)})
		}
		if n == 0 || at >= to {
			break
		}
		n = int(min(int64(n), to-at))
		data = data[:len(data)+n]
		from = at + int64(n)
	}
	return data, gaps, nil
}
