package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// errCut says that the file is shorter than what was written to it. Anybody who may write to it
// can cut it, and a job may write to its own output files. What is written behind a cut would
// leave a hole, which reads as NUL bytes.
var errCut = errors.New("the file was truncated by another process while output was written to it")

// An output is the file that the appender writes to.
type output struct {
	file   *os.File
	length int64 // that it has by what was written
	left   int64 // how much of it is left; set with errCut
}

// WriteAt fails with errCut, and has written nothing, if the file was cut before. What is cut in the
// same instant, between the look and the write, is not seen.
func (o *output) WriteAt(p []byte, pos int64) (n int, err error) {
	size, err := o.file.Seek(0, io.SeekEnd) // Cheaper than Stat, which allocates; WriteAt needs no offset.
	if err != nil {
		return 0, err
	}
	if size < o.length {
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
	if errors.Is(err, errCut) {
		s.disk.cut(s.out.left)
	}
}
