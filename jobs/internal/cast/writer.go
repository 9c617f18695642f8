package cast

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// A File is where a recording is written: an os.File that is new and empty.
type File interface {
	io.Writer
	Truncate(size int64) error
}

// A Room is what recordings share with others.
type Room interface {
	Take(n int64) bool // n bytes, or nothing
	Owe(n int64)       // n bytes that are taken in any case; fewer than none are given back
}

// Options say how much is written, and where.
type Options struct {
	File File
	Max  int64 // bytes of the file, but for the first line and the mark
	Room Room  // nil: there is enough

	// MaxName and RoomName are what the mark calls Max and Room.
	MaxName, RoomName string
}

// A Writer writes one recording. It is for one goroutine.
type Writer struct {
	o    Options
	size int64 // of the file
	now  int64 // of the last event, in microseconds
	buf  []byte
	line int   // where in buf the line begins that is being made
	was  int64 // now, before that
	err  error // of the file: nothing more is written
	full bool  // of Max or Room: nothing but the end is
	torn bool  // the file has a part of a line more, which the disk did not let be taken back
}

// flushBytes is what is written at once, about.
const flushBytes = 64 << 10

// tailBytes is kept free for the mark and for the last event.
const tailBytes = 512

// NewWriter begins a recording.
func NewWriter(o Options, h Header) *Writer {
	w := &Writer{o: o}
	w.buf = h.append(nil)
	w.owe(int64(len(w.buf)))
	return w
}

// owe counts what is written in any case.
func (w *Writer) owe(n int64) {
	if w.o.Room != nil {
		w.o.Room.Owe(n)
	}
}

// Begin begins an event; its data is added to what is returned (Text), and End is given it.
// The time counts from the recording's begin; one before the last event's is that. Where
// nothing more is written, it returns nil.
func (w *Writer) Begin(at time.Duration, c Code) []byte {
	if w.Over() {
		return nil
	}
	return w.begin(at, c)
}

// Withdraw is for an event that is not to be after all.
func (w *Writer) Withdraw() { w.now = w.was }

func (w *Writer) begin(at time.Duration, c Code) []byte {
	w.line, w.was = len(w.buf), w.now
	w.now = max(at.Microseconds(), w.now)
	return appendBegin(w.buf, w.now-w.was, c)
}

// End ends the event that Begin has begun. If there is no room for it, it is left out, and the
// recording ends with a mark.
func (w *Writer) End(b []byte) {
	w.buf = appendEnd(b)
	n := int64(len(w.buf) - w.line)
	switch {
	case w.size+int64(len(w.buf))+tailBytes > w.o.Max:
		w.mark("%s (%d bytes)", w.o.MaxName, w.o.Max)
	case w.o.Room != nil && !w.o.Room.Take(n):
		w.mark("%s", w.o.RoomName)
	case len(w.buf) >= flushBytes:
		_ = w.Flush() // The next one tells.
	}
}

// mark puts the mark in the place of the line that there is no room for.
func (w *Writer) mark(format string, args ...any) {
	at := time.Duration(w.now) * time.Microsecond
	w.buf, w.now, w.full = w.buf[:w.line], w.was, true
	w.last(at, Marker, "shelld: the recording ends here, as it has used up "+fmt.Sprintf(format, args...)+"; the job went on")
}

// Exit adds the last event.
func (w *Writer) Exit(at time.Duration, status string) {
	if w.err == nil {
		w.last(at, Exit, status)
	}
}

// last adds an event for which there is always room.
func (w *Writer) last(at time.Duration, c Code, text string) {
	w.buf = appendEnd(AppendText(w.begin(at, c), text))
	w.owe(int64(len(w.buf) - w.line))
}

// Event adds an event whose data is short.
func (w *Writer) Event(at time.Duration, c Code, text string) {
	if b := w.Begin(at, c); b != nil {
		w.End(AppendText(b, text))
	}
}

// Flush has the file hold all events so far. The error is the file's, and the first one stays.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	n, err := w.o.File.Write(w.buf)
	if err != nil {
		w.err = err
		whole := bytes.LastIndexByte(w.buf[:n], '\n') + 1
		w.owe(int64(whole - len(w.buf)))
		n, w.torn = whole, true
	}
	w.size += int64(n)
	w.buf = w.buf[:0]
	w.Mend()
	return err
}

// Mend takes back what the disk has taken of a line. A disk on which that needs room may not let
// it be done until there is some.
func (w *Writer) Mend() {
	if w.torn {
		w.torn = w.o.File.Truncate(w.size) != nil
	}
}

// Over says whether no more events are written but the last.
func (w *Writer) Over() bool { return w.full || w.err != nil }

// Size returns how long the file is.
func (w *Writer) Size() int64 { return w.size }
