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

// errCut means that the file is shorter than what was written to it. Every process with write access can truncate it,
// and a job may write to its own output files. A write after a truncated end leaves a hole, which reads as NUL bytes.
var errCut = errors.New("the file was truncated by another process while output was written to it")

// An output is the file that the appender writes to.
type output struct {
	file   *os.File
	length int64 // expected, from the writes so far
	left   int64 // remaining length; set with errCut

	holed atomic.Bool // a reader has found a hole: see Spool.unprinted
}

// WriteAt returns errCut, and writes nothing, if the file was truncated before. If it is truncated between the check
// and the write, or truncated and extended to the old length, the reader detects it.
func (o *output) WriteAt(p []byte, pos int64) (n int, err error) {
	size, err := o.file.Seek(0, io.SeekEnd) // Seek is cheaper than Stat, which allocates; WriteAt needs no offset.
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

// withdraw withdraws the bytes after the end of a truncated file. The caller holds mu.
func (s *Spool) withdraw(err error) {
	if !errors.Is(err, errCut) {
		return
	}
	s.disk.cut(s.out.left)
	left := min(s.charged, s.out.left)
	s.total.charge(left - s.charged)
	s.charged = left
}

// noNUL is the offset of the first NUL byte in a stream without any.
const noNUL = math.MaxInt64

// noteNUL notes the offset of the first NUL byte. It is called before p, which begins at off, is in the file.
func (s *Spool) noteNUL(p []byte, off int64) {
	if s.firstNUL.Load() != noNUL {
		return
	}
	if i := bytes.IndexByte(p, 0); i >= 0 {
		s.firstNUL.Store(off + int64(i))
	}
}

// unprinted returns the start and end of the first hole in p, which was read from the file and begins at off: NUL bytes
// before the first one that the stream contains. The size of a file that was truncated and extended again does not show
// the hole. After the first NUL byte of the stream, holes cannot be detected: some file systems also store written NUL
// bytes as holes.
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
