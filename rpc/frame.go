package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Framing is the way in which messages are separated on a byte stream (protocol section 1).
type Framing int

// The framings. A connection has FramingUnknown until its first byte has arrived.
const (
	FramingUnknown Framing = iota
	// FramingHeader is the base protocol of LSP: a header block with Content-Length, then that many bytes.
	FramingHeader
	// FramingLine is newline-delimited JSON: one message a line.
	FramingLine
)

// String returns the framing's name, as logs show it.
func (f Framing) String() string {
	switch f {
	case FramingUnknown:
		return "unknown"
	case FramingHeader:
		return "header"
	case FramingLine:
		return "line"
	}
	return "Framing(" + strconv.Itoa(int(f)) + ")"
}

const (
	// readBufferBytes is the maximum that one read from the input returns. Smaller messages are slices of that buffer.
	readBufferBytes = 64 << 10
	// keepBodyBytes is the maximum size of a buffer for large messages that is kept for the next one.
	keepBodyBytes = 1 << 20
	// bodyStepBytes is the minimum by which such a buffer grows.
	bodyStepBytes = 64 << 10
	// maxHeaderLineBytes limits a header line, without its line end; maxHeaderLines limits the lines of one block. LSP clients send
	// two short ones.
	maxHeaderLineBytes = 8 << 10
	maxHeaderLines     = 64
)

// frameError is the error for input that is not a frame. The peer gets it as an error answer with id null.
type frameError struct {
	Code    int
	Message string
	// Fatal: the start of the next frame is unknown, so the connection ends after the answer.
	Fatal bool
}

// Error returns the message.
func (e *frameError) Error() string { return e.Message }

// fatalFrame returns the error for a header block after which nothing can be read.
func fatalFrame(format string, args ...any) error {
	return &frameError{Code: codeInvalidRequest, Message: fmt.Sprintf(format, args...), Fatal: true}
}

// frameReader splits an input into message bodies. Only one goroutine may call Next; any may call SetMax and Framing.
type frameReader struct {
	maxBytes atomic.Int64
	framing  atomic.Int32

	// Owned by the goroutine that calls Next:
	in     *bufio.Reader
	large  []byte // a body or line that does not fit into in's buffer
	begun  bool   // the first byte has been checked
	failed error  // the error that ended the input; Next returns it from then on
}

// newFrameReader returns a reader of r's frames that accepts bodies of up to maxBytes. If force is FramingUnknown, the
// first byte determines the framing.
func newFrameReader(r io.Reader, force Framing, maxBytes int) *frameReader {
	f := &frameReader{in: bufio.NewReaderSize(r, readBufferBytes)}
	f.framing.Store(int32(force))
	f.SetMax(maxBytes)
	return f
}

// SetMax sets the maximum size of a body, in bytes. It applies to every frame whose length is not known yet, even one
// that Next is waiting for.
func (f *frameReader) SetMax(n int) { f.maxBytes.Store(int64(n)) }

// Framing returns the framing of the input. It is FramingUnknown before the first byte.
func (f *frameReader) Framing() Framing { return Framing(f.framing.Load()) }

// Next returns the body of the next frame, valid until the next call. The error is io.EOF if the input ends between
// frames, io.ErrUnexpectedEOF if it ends inside one, a *frameError for input that is not a frame, or the wrapped error
// of the input's Read. After a *frameError that is not Fatal, reading goes on. Any other error is returned again by
// every later call.
func (f *frameReader) Next() ([]byte, error) {
	if f.failed != nil {
		return nil, f.failed
	}
	if cap(f.large) > keepBodyBytes {
		f.large = nil
	}
	body, err := f.next()
	if err == nil {
		return body, nil
	}
	if bad, ok := errors.AsType[*frameError](err); !ok || bad.Fatal {
		f.failed = err
		f.large = nil
	}
	return nil, err
}

func (f *frameReader) next() ([]byte, error) {
	if !f.begun {
		if err := f.begin(); err != nil {
			return nil, err
		}
		f.begun = true
	}
	if f.Framing() == FramingLine {
		return f.nextLine()
	}
	length, err := f.readHeader()
	if err != nil {
		return nil, err
	}
	if limit := f.maxBytes.Load(); length > uint64(limit) {
		return nil, fatalFrame("Content-Length is %d, over maxMessageBytes (%d): the connection ends; send smaller messages", length, limit)
	}
	return f.readBody(int(length))
}

// begin determines the framing from the first byte, and skips a byte order mark before the first line.
func (f *frameReader) begin() error {
	first, err := f.in.Peek(1)
	if err != nil {
		return inputError("the first message", err, io.EOF)
	}
	c := first[0]
	f.framing.CompareAndSwap(int32(FramingUnknown), int32(framingOf(c)))
	if c != byteOrderMark[0] || f.Framing() != FramingLine {
		return nil
	}
	start, err := f.in.Peek(len(byteOrderMark))
	if err != nil && err != io.EOF {
		return inputError("the first message", err, io.EOF)
	}
	if string(start) == byteOrderMark {
		_, _ = f.in.Discard(len(start)) // Cannot fail: just peeked.
	}
	return nil
}

// byteOrderMark is U+FEFF in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// framingOf returns the framing that starts with this byte. No header name begins with one of the bytes for lines.
func framingOf(first byte) Framing {
	switch first {
	case '{', '[', ' ', '\t', '\r', '\n', byteOrderMark[0]:
		return FramingLine
	}
	return FramingHeader
}

// inputError returns the error for a failed read. It returns atEnd if the input has just ended.
func inputError(what string, err, atEnd error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return atEnd
	}
	return fmt.Errorf("read %s from the client: %w", what, err)
}

// nextLine returns the next line that is not blank.
func (f *frameReader) nextLine() ([]byte, error) {
	for {
		line, err := f.in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			line, err = f.readLongLine(line)
		} else {
			line, err = f.endLine(line, err)
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimLeft(line, " \t\r")) > 0 {
			return line, nil
		}
	}
}

// readLongLine reads a line that begins with start and is longer than in's buffer. Beyond the limit it drops the bytes.
func (f *frameReader) readLongLine(start []byte) ([]byte, error) {
	const lineEnd = len("\r\n")
	f.large = append(f.large[:0], start...)
	over := false
	for {
		part, err := f.in.ReadSlice('\n')
		if !over && int64(len(f.large)+len(part)-lineEnd) > f.maxBytes.Load() {
			over = true
			f.large = nil
		}
		switch {
		case !over:
			f.large = append(f.large, part...)
		case err == nil || err == io.EOF:
			return nil, f.lineTooLong()
		}
		if err != bufio.ErrBufferFull {
			return f.endLine(f.large, err)
		}
	}
}

// endLine removes the end of a line that was read until err. The last line of the input may have none.
func (f *frameReader) endLine(line []byte, err error) ([]byte, error) {
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, inputError("a message line", err, io.EOF)
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if int64(len(line)) > f.maxBytes.Load() {
		return nil, f.lineTooLong()
	}
	return line, nil
}

func (f *frameReader) lineTooLong() error {
	return &frameError{
		Code:    codeInvalidRequest,
		Message: fmt.Sprintf("a line was longer than maxMessageBytes (%d) and was skipped: send smaller messages", f.maxBytes.Load()),
	}
}

// readHeader reads a header block up to its blank line, and returns the length that it announces.
func (f *frameReader) readHeader() (uint64, error) {
	var length contentLength
	for n := 0; ; n++ {
		line, err := f.headerLine()
		if err == io.EOF && n > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			break
		}
		if n == maxHeaderLines {
			return 0, fatalFrame("the header block has more than %d lines: the connection ends", maxHeaderLines)
		}
		if err := length.read(line); err != nil {
			return 0, err
		}
	}
	if !length.known {
		return 0, fatalFrame("the header block has no Content-Length: the connection ends; send \"Content-Length: N\", a blank line and N bytes")
	}
	return length.bytes, nil
}

// headerLine returns the next header line without its end, valid until the next read. It checks the bytes that have
// arrived, without waiting for a full buffer, so that a line without an end is refused while its sender still waits for
// an answer. It returns io.EOF only if no byte of the line has arrived.
func (f *frameReader) headerLine() ([]byte, error) {
	for seen := 0; ; {
		have, _ := f.in.Peek(f.in.Buffered()) // Cannot fail: the bytes are buffered.
		end := bytes.IndexByte(have[seen:], '\n')
		if end >= 0 {
			line := have[:seen+end]
			_, _ = f.in.Discard(len(line) + 1) // Cannot fail: the bytes are buffered.
			line = bytes.TrimSuffix(line, []byte("\r"))
			if len(line) > maxHeaderLineBytes {
				return nil, headerLineTooLong()
			}
			return line, nil
		}
		seen = len(have)
		if seen > maxHeaderLineBytes+len("\r") {
			return nil, headerLineTooLong()
		}
		if _, err := f.in.Peek(seen + 1); err != nil {
			atEnd := io.EOF
			if seen > 0 {
				atEnd = io.ErrUnexpectedEOF
			}
			return nil, inputError("a message header", err, atEnd)
		}
	}
}

func headerLineTooLong() error {
	return fatalFrame("a header line is longer than %d bytes: the connection ends", maxHeaderLineBytes)
}

// contentLength is the content of the lines of a header block so far.
type contentLength struct {
	bytes uint64
	known bool
}

// read handles one header line. Other headers are ignored. A repeated equal length is not an error.
func (c *contentLength) read(line []byte) error {
	name, value, found := bytes.Cut(line, []byte(":"))
	name = bytes.Trim(name, " \t")
	if !found || !isHeaderName(name) {
		return fatalFrame("%.60q is not a header line: the connection ends; send \"Name: value\"", line)
	}
	if !strings.EqualFold(string(name), "Content-Length") {
		return nil
	}
	value = bytes.Trim(value, " \t")
	n, err := strconv.ParseUint(string(value), 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		return fatalFrame("Content-Length %.60s is over any limit: the connection ends; send smaller messages", value)
	}
	if err != nil {
		return fatalFrame("Content-Length %.60q is not a number of bytes: the connection ends", value)
	}
	if c.known && n != c.bytes {
		return fatalFrame("Content-Length is given as %d and as %d: the connection ends", c.bytes, n)
	}
	c.bytes, c.known = n, true
	return nil
}

// isHeaderName reports whether name is a token of HTTP. So JSON in place of a header (a body longer than announced, or
// lines sent to a server that reads headers) is refused at once, and not ignored as one more header.
func isHeaderName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return len(name) > 0
}

// readBody reads a body of n bytes. Its buffer grows at most by the number of bytes that have arrived, since the
// announced length may be false.
func (f *frameReader) readBody(n int) ([]byte, error) {
	if n <= f.in.Size() {
		body, err := f.in.Peek(n)
		if err != nil {
			return nil, inputError("a message body", err, io.ErrUnexpectedEOF)
		}
		_, _ = f.in.Discard(n) // Cannot fail: just peeked.
		return body, nil
	}
	f.large = f.large[:0]
	for have := 0; have < n; have = len(f.large) {
		step := min(n-have, max(bodyStepBytes, have))
		f.large = slices.Grow(f.large, step)[:have+step]
		if _, err := io.ReadFull(f.in, f.large[have:]); err != nil {
			return nil, inputError("a message body", err, io.ErrUnexpectedEOF)
		}
	}
	return f.large, nil
}

// appendFrameHeader appends the header block of a body of n bytes.
func appendFrameHeader(dst []byte, n int) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, "\r\n\r\n"...)
}

// frame appends body to dst as one frame. A body has no raw newline: this package's encoders write none. Before the
// client's first byte the framing is unknown, and nothing should be sent; FramingUnknown is written with headers.
func frame(dst []byte, framing Framing, body []byte) []byte {
	if framing == FramingLine {
		dst = append(dst, body...)
		return append(dst, '\n')
	}
	dst = appendFrameHeader(dst, len(body))
	return append(dst, body...)
}
