package spool

import "fmt"

// markFormat is the line after a ring that describes how to read it: the stream's name, the length of the head, the
// offset up to which the stream is stored, and the size of head and ring together. Its length does not depend on the
// numbers.
//
// The file alone does not show where a ring begins, and the server may be killed at any time; the output that it has
// sent must still be found. The line contains the stream's name, and is only believed if it is written down elsewhere
// that the file is a ring: a job that knows its name can print the line.
const markFormat = "\n[shelld: output of %s that goes on: head %019d, end %019d, room %019d]\n"

// markStep is the maximum number of bytes written to a ring between two marks. A reader that relies on the mark treats
// as many of the oldest bytes as lost, since they may have been overwritten.
const markStep = 64 << 10

func appendMark(to []byte, tag string, head, end, room int64) []byte {
	return fmt.Appendf(to, markFormat, tag, head, end, room)
}

// markAt returns the position of a ring's mark in the file. It lies within one memory page, so that a server that is
// killed has written all of it or nothing.
func markAt(room int64) int64 {
	const page = 4096
	return (room + page - 1) / page * page
}

// mark writes the mark of a ring that is stored up to end. Only the appender calls it: as long as there is one, no
// other goroutine changes the layout.
func (s *Spool) mark(end int64) error {
	l := &s.disk
	if s.markLine == nil {
		s.markLine = appendMark(nil, s.tag, l.head, end, l.room) // From now on only end changes in it.
	}
	digits := s.markLine[len(s.markLine)-markTail-markDigits:][:markDigits]
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + end%10)
		end /= 10
	}
	_, err := s.writeAt(s.markLine, markAt(l.room))
	return err
}

// Positions of the digits of end in a mark, from its end.
const (
	markDigits = 19
	markTail   = len(", room ") + markDigits + len("]\n")
)
