package cast

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// A File receives a recording: an os.File that is new and empty.
type File interface {
	io.Writer
	Truncate(size int64) error
}

// A Room is a limit on bytes that recordings share with other users.
type Room interface {
	Take(n int64) bool // takes n bytes, or none
	Owe(n int64)       // takes n bytes in any case; a negative n gives bytes back
}

// Options set the destination and the limits of a recording.
type Options struct {
	File File
	Max  int64 // bytes of the file, without the first line and the marker
	Room Room  // nil: no limit

	// MaxName and RoomName are the names of Max and Room in the marker.
	MaxName, RoomName string
}

// A Writer writes one recording. It is for one goroutine.
type Writer struct {
	o    Options
	size int64 // of the file
	now  int64 // time of the last event, in microseconds
	buf  []byte
	line int   // index in buf of the current line's begin
	was  int64 // now before the current line
	err  error // of the file: nothing more is written
	full bool  // Max or Room is used up: only the last event is still written
	torn bool  // the file ends with a part of a line that could not be truncated
}

// flushBytes is the approximate number of bytes per write.
const flushBytes = 64 << 10

// tailBytes is reserved for the marker and the last event.
const tailBytes = 512

// NewWriter begins a recording.
func NewWriter(o Options, h Header) *Writer {
	w := &Writer{o: o}
	w.buf = h.append(nil)
	w.owe(int64(len(w.buf)))
	return w
}

// owe counts bytes that are written in any case.
func (w *Writer) owe(n int64) {
	if w.o.Room != nil {
		w.o.Room.Owe(n)
	}
}

// Begin begins an event. The caller appends the data to the returned slice (see Text) and passes it to End. The
// time counts from the begin of the recording; a time before the last event's is replaced by that. If nothing
// more is written, Begin returns nil.
func (w *Writer) Begin(at time.Duration, c Code) []byte {
	if w.Over() {
		return nil
	}
	return w.begin(at, c)
}

// Withdraw cancels an event after Begin.
func (w *Writer) Withdraw() { w.now = w.was }

func (w *Writer) begin(at time.Duration, c Code) []byte {
	w.line, w.was = len(w.buf), w.now
	w.now = max(at.Microseconds(), w.now)
	return appendBegin(w.buf, w.now-w.was, c)
}

// End ends the event that Begin has begun. If there is no room for it, the event is dropped, and the recording
// ends with a marker.
func (w *Writer) End(b []byte) {
	w.buf = appendEnd(b)
	n := int64(len(w.buf) - w.line)
	switch {
	case w.size+int64(len(w.buf))+tailBytes > w.o.Max:
		w.mark("%s (%d bytes)", w.o.MaxName, w.o.Max)
	case w.o.Room != nil && !w.o.Room.Take(n):
		w.mark("%s", w.o.RoomName)
	case len(w.buf) >= flushBytes:
		_ = w.Flush() // The next call returns the error.
	}
}

// mark replaces the line that exceeds a limit by a marker.
func (w *Writer) mark(format string, args ...any) {
	at := time.Duration(w.now) * time.Microsecond
	w.buf, w.now, w.full = w.buf[:w.line], w.was, true
	w.last(at, Marker, "shelld: the recording ends here: it reached "+fmt.Sprintf(format, args...)+"; the job continued")
}

// Exit appends the last event.
func (w *Writer) Exit(at time.Duration, status string) {
	if w.err == nil {
		w.last(at, Exit, status)
	}
}

// last appends an event for which room is reserved.
func (w *Writer) last(at time.Duration, c Code, text string) {
	w.buf = appendEnd(AppendText(w.begin(at, c), text))
	w.owe(int64(len(w.buf) - w.line))
}

// Event appends an event with short data.
func (w *Writer) Event(at time.Duration, c Code, text string) {
	if b := w.Begin(at, c); b != nil {
		w.End(AppendText(b, text))
	}
}

// Flush writes all events so far to the file. It returns the file's first error, now and ever after.
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

// Mend removes an incomplete line from the file. If a full disk does not even allow that, a later call may
// succeed.
func (w *Writer) Mend() {
	if w.torn {
		w.torn = w.o.File.Truncate(w.size) != nil
	}
}

// Over reports whether no more events are written except the last.
func (w *Writer) Over() bool { return w.full || w.err != nil }

// Size returns the length of the file in bytes.
func (w *Writer) Size() int64 { return w.size }
