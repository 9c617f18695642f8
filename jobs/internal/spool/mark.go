package spool

import "fmt"

// markFormat is the line behind a ring that says how to read it: whose it is, how long the
// head is, up to which offset the stream is stored, and the size of head and ring together.
// Its length does not depend on the numbers.
//
// The file alone does not tell where a ring begins, and its server may be killed at any
// time; what that server has sent must be found all the same. The line names the stream, and
// counts where it is written down elsewhere that the file is a ring: a job that knows its
// name can print it.
const markFormat = "\n[shelld: output of %s that goes on: head %019d, end %019d, room %019d]\n"

// markStep is how many bytes at most are written to a ring before its mark is. Whoever
// reads by the mark counts as many of the oldest as lost, since they may be overwritten.
const markStep = 64 << 10

func appendMark(to []byte, tag string, head, end, room int64) []byte {
	return fmt.Appendf(to, markFormat, tag, head, end, room)
}

// markAt is where in the file the mark of a ring stands: within one page of memory, so that
// a server which is killed has written all of it or nothing.
func markAt(room int64) int64 {
	const page = 4096
	return (room + page - 1) / page * page
}

// mark writes the mark of a ring that is stored up to end. Only the appender calls it: nobody
// else changes how the file is laid out, as long as there is one.
func (s *Spool) mark(end int64) error {
	l := &s.disk
	if s.markLine == nil {
		s.markLine = appendMark(nil, s.tag, l.head, end, l.room) // Of it only end changes from now on.
	}
	digits := s.markLine[len(s.markLine)-markTail-markDigits:][:markDigits]
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + end%10)
		end /= 10
	}
	_, err := s.writeAt(s.markLine, markAt(l.room))
	return err
}

// Where the digits of end stand in a mark, from behind.
const (
	markDigits = 19
	markTail   = len(", room ") + markDigits + len("]\n")
)
