package spool

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync/atomic"
)

// errCut says that the file is shorter than what was written to it. Every process with write access
// can truncate it, and a job may write to its own output files. What is written behind a cut leaves
// a hole, which reads as NUL bytes.
var errCut = errors.New("the file was truncated by another process while output was written to it")

// An output is the file that the appender writes to.
type output struct {
	file   *os.File
	length int64 // that it has by what was written
	left   int64 // how much of it is left; set with errCut

	holed atomic.Bool // a reader has found a hole: see Spool.unprinted
}

// WriteAt fails with errCut, and has written nothing, if the file was cut before. What is cut in the
// same instant, between the look and the write, or was made as long as before, is seen by who reads it.
func (o *output) WriteAt(p []byte, pos int64) (n int, err error) {
	size, err := o.file.Seek(0, io.SeekEnd) // Cheaper than Stat, which allocates; WriteAt needs no offset.
	if err != nil {
		return 0, err
	}
	if size < o.length {
		return 0, o.cut(size)
	}
	if o.holed.Load() {
		return 0, o.cut(size)
	}
	n, err = o.file.WriteAt(p, pos)
	o.length = max(o.length, pos+int64(n))
	return n, err
}

func (o *output) cut(left int64) error {
	o.left = left
	return &fs.PathError{Op: "write", Path: o.file.Name(), Err: errCut}
}

// withdraw takes back what was behind the end of a file that was cut. The caller holds mu.
func (s *Spool) withdraw(err error) {
	if !errors.Is(err, errCut) {
		return
	}
	s.disk.cut(s.out.left)
	left := min(s.charged, s.out.left)
	s.total.charge(left - s.charged)
	s.charged = left
}

// noNUL is the offset of the first NUL byte of a stream that has none.
const noNUL = math.MaxInt64

// noteNUL notes where the first NUL byte was printed. It is called before p, which begins at off, is in the file.
func (s *Spool) noteNUL(p []byte, off int64) {
	if s.firstNUL.Load() != noNUL {
		return
	}
	if i := bytes.IndexByte(p, 0); i >= 0 {
		s.firstNUL.Store(off + int64(i))
	}
}

// unprinted returns where in p, which was read from the file and begins at off, a hole begins and ends: NUL bytes
// before the first one that was printed. The size of a file that was cut and made longer again does not tell
// that it has a hole. Behind the first NUL byte that was printed nobody can say: some file systems make holes of
// NUL bytes that were written.
func (s *Spool) unprinted(p []byte, off int64) (from, to int) {
	n := len(p)
	p = p[:min(int64(n), max(s.firstNUL.Load()-off, 0))]
	if from = bytes.IndexByte(p, 0); from < 0 {
		return n, n
	}
	for to = from; to < len(p) && p[to] == 0; to++ {
	}
	return from, to
}
