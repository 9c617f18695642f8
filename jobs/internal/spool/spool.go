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

// Options configure what a spool keeps, and where.
type Options struct {
	// Memory is the approximate number of newest bytes kept in memory.
	Memory int

	// File is the file for the output: a new and empty file, open for reading and writing (not for appending) under its
	// absolute name. The spool owns it from then on. If File and Create are nil, the spool is the same as New(Memory).
	File *os.File

	// Create makes such a file, in place of File, when the first byte is stored, so that a stream without output has no
	// file. An error counts as a failed write to the file, except that Create may be called again.
	Create func() (*os.File, error)

	// DiskHead and DiskTail are the numbers of first and of newest bytes that the file keeps.
	DiskHead, DiskTail int64

	// Tag is a name of the stream that no other stream has. ReadStored uses it to recognise the file. "": the file will
	// not be read by ReadStored.
	Tag string

	// Record must write down the ranges of the finished file, before Finish replaces the file by one with marker lines:
	// ReadStored cannot distinguish these from output otherwise. If it returns an error, the file stays as it is. nil:
	// ReadStored will not be used.
	Record func(kept []Range) error

	// Wraps must write down the result of [Spool.Placed] at that time, before the contents of the file begin to differ
	// from the stream: ReadStored ignores a mark in a file for which nothing was written down. An error ends the
	// storing, and the file stays as it is. nil: ReadStored will not be used. Append calls it until it returns nil.
	Wraps func() error

	// Total limits all spools that share it. A spool that gets no more from it wraps within the space that it has.
	Total *Budget

	// Failed is called once, by Append, if the file cannot be written. From then on, new output is only in memory; what
	// is in the file stays readable. If descriptors or memory are short, the spool first retries, as long as Memory
	// holds what the file lacks.
	Failed func(error)

	// Unread reports stored bytes that a Read has skipped because they could not be read, though they may still exist,
	// and the error. It may be called from any goroutine, and must not block.
	Unread func(Range, error)
}

// A Spool is the stored output of one stream.
type Spool struct {
	// Immutable:
	tag    string
	total  *Budget
	onFail func(error)
	record func(kept []Range) error
	wraps  func() error // may be nil
	unread func(Range, error)

	end      atomic.Int64 // published after the bytes below it are readable
	firstNUL atomic.Int64 // offset of the first NUL byte; noNUL: none so far

	over      atomic.Bool // finished, closed or removed: nothing is retried
	appending sync.Mutex  // held by Append, by a retry in its place, and by Finish; locked before ending

	// Set by the appender, at its first byte, under ending:
	file    *os.File // nil: memory only
	out     *output  // the same file
	writeAt func(p []byte, pos int64) (int, error)

	markLine []byte // also set by the appender: the mark after the ring; nil: not written yet

	// Guarded by appending:
	begun bool        // the file exists, or none will be made
	late  error       // why the file temporarily lacks bytes that are in memory (late.go)
	again *time.Timer // triggers a retry; nil until the first one

	ending sync.Mutex               // held by Finish, Close and Remove, and while the file is made; locked before mu
	create func() (*os.File, error) // guarded by ending; nil: the file was made, or will not be made

	mu      sync.RWMutex // protects the fields below; not held during writes to a file
	mem     memory
	disk    layout
	placed  int64 // the bytes before this offset are in the file, as far as it keeps them; see Placed
	charged int64 // to total
	src     source
	failed  error // why the file is no longer written
	damaged bool  // Finish has found that the file was truncated or has a hole, and has not replaced it
}

// New returns an empty spool in memory that keeps about max bytes at most (at least two segments of 64 KiB): the first
// eighth of max from the start of the stream, the rest from its end.
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

// End returns the offset after the last byte appended.
func (s *Spool) End() int64 { return s.end.Load() }

// Append appends p and returns the new end. Only one goroutine may append; p is copied. If there is a file, it costs
// one write; in a ring another one for the mark, and another one if the ring wraps.
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

// store writes p to the file. It returns the offset after the bytes that are in the file, and the error that ends the
// storing.
func (s *Spool) store(p []byte, off, end int64) (stored int64, err error) {
	if s.failed != nil || len(p) == 0 && s.late == nil { // only the appender writes s.failed
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

// storePieces writes p, which ends at end, after the stored bytes.
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
		if err != nil { // n may be less than the bytes written: os.File does not count the last piece
			return e.From + int64(n), err
		}
	}
	if !wraps {
		return end, nil
	}
	return end, s.mark(end)
}

// unprepare undoes prepare: nothing was written, and the bytes withdrawn for it are still in the file.
func (s *Spool) unprepare(before layout, charged int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.charge(charged - s.charged)
	s.disk, s.charged = before, charged
}

// beginRing first records (wraps) that the file, which equals the stream up to off, will become a ring, and then writes
// the mark. Nothing is overwritten yet.
func (s *Spool) beginRing(off int64) error {
	if s.wraps != nil {
		if err := s.wraps(); err != nil {
			return orNotYet(err)
		}
	}
	return s.mark(off)
}

// grant returns by how many of n bytes the file may grow. The caller holds mu.
func (s *Spool) grant(n int64) int64 {
	got := s.total.take(n)
	s.charged += got
	return got
}

// Read copies stored bytes into p, from the first kept offset at or after off, and returns their number and the offset
// of the first one. at > off means that [off, at) was dropped, or can no longer be read; n == 0 means that nothing at
// or after at is stored yet. It never reads across a dropped range. Bytes that are only on disk are read from there.
func (s *Spool) Read(p []byte, off int64) (n int, at int64) {
	n, at, _ = s.read(p, off, false)
	return n, at
}

// TryRead is Read with an error: if stored bytes could not be read, because of a lack of descriptors or a failed disk,
// for example, it returns that error and no bytes. Read skips these bytes, and reports them to Options.Unread. A file
// that another process has removed or truncated is not an error: its bytes count as dropped.
func (s *Spool) TryRead(p []byte, off int64) (n int, at int64, err error) {
	return s.read(p, off, true)
}

func (s *Spool) read(p []byte, off int64, try bool) (n int, at int64, err error) {
	n, at, err = s.readPiece(p, max(off, 0), try)
	for n > 0 && n < len(p) {
		next := at + int64(n)
		more, from, _ := s.readPiece(p[n:], next, try) // The next call returns the error.
		if more == 0 || from != next {
			break
		}
		n += more
	}
	return n, at, err
}

// ReadNow is Read for callers that must not block, neither on a disk nor on the lock of the spool. ok is false if it
// would have to.
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

// readPiece reads from one source: memory, or one extent of the file. After an error it tries once more, since some
// errors are very short.
func (s *Spool) readPiece(p []byte, off int64, try bool) (n int, at int64, err error) {
	first, tried := off, int64(-1)
	const unlocked = 3 // attempts, before the appender is blocked
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
			at = max(off, s.end.Load()) // under the lock: bytes appended later are not skipped
			s.mu.RUnlock()
			return 0, at, nil
		}
		if inMemory && m < e.To {
			e.To = m // Unreadable bytes of the file must not hide bytes in memory.
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

// past reports a range that a Read skips. Bytes that another process has removed are not reported: nothing can be done
// about that.
func (s *Spool) past(r Range, err error) {
	if s.unread != nil && isReadError(err) {
		s.unread(r, err)
	}
}

// isReadError reports whether the unreadable bytes may still exist.
func isReadError(err error) bool {
	return err != nil && !errors.Is(err, errGone) && !errors.Is(err, errCut) && !errors.Is(err, io.EOF)
}

// readDisk reads from an extent, and moves the bytes that are still kept afterwards to the front of p. If there are
// none, it returns the range that cannot be read, or the empty range if another attempt is worthwhile. The caller holds
// mu for reading; readDisk releases it.
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
	swapped := s.src.open != src.open // the file may have been closed during the read
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

// Kept returns the ranges that can be read, in order and disjoint: usually none, one, or the head and the tail with a
// gap between them; three if the file failed in the middle.
func (s *Spool) Kept() []Range {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kept()
}

// kept is Kept for callers that hold mu.
func (s *Spool) kept() []Range {
	if s.end.Load() == 0 {
		return nil
	}
	all := make([]Range, 0, 6)
	all = s.mem.ranges(all)
	return merge(s.disk.ranges(all))
}

// Stored returns the ranges that are in the file. The other ranges of Kept are only in memory.
func (s *Spool) Stored() []Range {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return merge(s.disk.ranges(nil))
}

// Placed returns the ranges that are in the file, and the end of what is stored, including bytes that End does not
// report yet. If the file is a ring, or about to become one, bytes between the head and that end are missing from the
// ranges.
func (s *Spool) Placed() (kept []Range, end int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.disk
	if l.packed == nil {
		l.end = max(l.end, s.placed)
	}
	return merge(l.ranges(nil)), max(s.end.Load(), l.end)
}

// Newest returns how many of the newest bytes are certainly in memory, however long the stream is.
func (s *Spool) Newest() int64 {
	m := &s.mem // only immutable fields are read
	return int64((m.tailMax/m.segment - 1) * m.segment)
}

// Pin keeps everything from off on in memory, without limit: memory grows with each Append until off is moved on. The
// caller must make sure that this is bounded. An offset below the kept bytes pins all of them. Pin does not block, and
// takes effect with the next Append.
func (s *Spool) Pin(off int64) { s.mem.pin.Store(off) }

// Unpin ends the effect of Pin.
func (s *Spool) Unpin() { s.Pin(noPin) }

// Err returns why the file is no longer written, as reported to Failed; nil: it is still written.
func (s *Spool) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failed
}

// A Usage is the size of a spool, in bytes.
type Usage struct {
	Memory  int64 // allocated in memory
	Dropped int64 // appended and no longer readable
}

// Usage returns the current usage of the spool.
func (s *Spool) Usage() Usage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Usage{s.mem.taken(), s.end.Load() - Length(s.kept())}
}

// ReadRange returns the stored bytes of [from, to), and the ranges in it that were dropped or cannot be read.
func (s *Spool) ReadRange(from, to int64) (data []byte, gaps []Range) {
	data, gaps, _ = s.readRange(from, to, false)
	return data, gaps
}

// TryReadRange is ReadRange with an error, as in TryRead. All bytes from the error on are one of the gaps.
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
