package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"
)

const testMaxBytes = 1 << 20

// frameLog is the result of reading an input: bodies, errors that are not fatal, and the error that ended it.
type frameLog struct {
	bodies []string
	bad    []string
	end    error
}

func (l frameLog) String() string {
	return fmt.Sprintf("bodies %.200q, errors %q, end %v", l.bodies, l.bad, l.end)
}

// equal compares ends by their text: a fatal error is a new value each time.
func (l frameLog) equal(o frameLog) bool {
	return slices.Equal(l.bodies, o.bodies) && slices.Equal(l.bad, o.bad) && l.end.Error() == o.end.Error()
}

func readFrames(r io.Reader, force Framing, maxBytes int) (frameLog, *frameReader) {
	var log frameLog
	f := newFrameReader(r, force, maxBytes)
	for {
		body, err := f.Next()
		var bad *frameError
		switch {
		case err == nil:
			log.bodies = append(log.bodies, string(body))
		case errors.As(err, &bad) && !bad.Fatal:
			log.bad = append(log.bad, bad.Message)
		default:
			log.end = err
			return log, f
		}
	}
}

func headed(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

var frameCases = []struct {
	name    string
	in      string
	force   Framing
	max     int // testMaxBytes if 0
	framing Framing
	bodies  []string
	bad     string // a part of the one error that is not fatal
	end     error  // io.EOF if nil and fatal is empty
	fatal   string // a part of the fatal error's message
}{
	{name: "nothing", in: "", framing: FramingUnknown},
	{name: "nothing, forced", in: "", force: FramingHeader, framing: FramingHeader},

	{name: "lines", in: "{\"a\":1}\n[2]\n", framing: FramingLine, bodies: []string{`{"a":1}`, `[2]`}},
	{name: "line: first byte [", in: "[]\n", framing: FramingLine, bodies: []string{`[]`}},
	{name: "line: first byte space", in: " {}\n", framing: FramingLine, bodies: []string{` {}`}},
	{name: "line: first byte tab", in: "\t{}\n", framing: FramingLine, bodies: []string{"\t{}"}},
	{name: "line: first byte CR", in: "\r\n{}\n", framing: FramingLine, bodies: []string{"{}"}},
	{name: "line: first byte LF", in: "\n\n{}\n", framing: FramingLine, bodies: []string{"{}"}},
	{name: "line: byte order mark", in: byteOrderMark + "{}\n", framing: FramingLine, bodies: []string{"{}"}},
	{name: "line: byte order mark alone", in: byteOrderMark, framing: FramingLine},
	{name: "line: byte order mark, blank", in: byteOrderMark + "\r\n{}", framing: FramingLine, bodies: []string{"{}"}},
	{name: "line: a second byte order mark stays", in: byteOrderMark + byteOrderMark + "{}\n", framing: FramingLine, bodies: []string{byteOrderMark + "{}"}},
	{name: "line: a part of a byte order mark", in: "\xef\xbb", framing: FramingLine, bodies: []string{"\xef\xbb"}},
	{name: "line: forced with a byte order mark", in: byteOrderMark + "{}\n", force: FramingLine, framing: FramingLine, bodies: []string{"{}"}},
	{name: "line: forced", in: "Content-Length: 2\n", force: FramingLine, framing: FramingLine, bodies: []string{"Content-Length: 2"}},
	{name: "line: CRLF", in: "{}\r\n{}\r\n", framing: FramingLine, bodies: []string{"{}", "{}"}},
	{name: "line: blank ones", in: "{}\n\n \t\r\n\r\n{}\n  ", framing: FramingLine, bodies: []string{"{}", "{}"}},
	{name: "line: no newline at the end", in: "{}\n{\"b\":2}", framing: FramingLine, bodies: []string{"{}", `{"b":2}`}},
	{name: "line: no-break space is not blank", in: "{}\n\u00a0\n", framing: FramingLine, bodies: []string{"{}", "\u00a0"}},
	{name: "line: at the limit", in: "{123456}\n{}\n", max: 8, framing: FramingLine, bodies: []string{"{123456}", "{}"}},
	{name: "line: at the limit with CRLF", in: "{123456}\r\n{}\n", max: 8, framing: FramingLine, bodies: []string{"{123456}", "{}"}},
	{name: "line: at the limit, unended", in: "{123456}", max: 8, framing: FramingLine, bodies: []string{"{123456}"}},
	{name: "line: over the limit", in: "{1234567}\n{}\n", max: 8, framing: FramingLine, bodies: []string{"{}"}, bad: "maxMessageBytes (8)"},
	{name: "line: over the limit, unended", in: "{}\n{1234567}", max: 8, framing: FramingLine, bodies: []string{"{}"}, bad: "maxMessageBytes (8)"},
	{
		name: "line: far over the limit", in: "{" + strings.Repeat("x", 5*readBufferBytes) + "}\n{}\n", max: 2 * readBufferBytes,
		framing: FramingLine, bodies: []string{"{}"}, bad: "maxMessageBytes (131072)",
	},
	{
		name: "line: far over the limit, unended", in: "{" + strings.Repeat("x", 5*readBufferBytes), max: 8,
		framing: FramingLine, bad: "maxMessageBytes (8)",
	},
	{
		name: "line: larger than the read buffer", in: "{" + strings.Repeat("y", 3*readBufferBytes) + "}\r\n{}\n",
		framing: FramingLine, bodies: []string{"{" + strings.Repeat("y", 3*readBufferBytes) + "}", "{}"},
	},
	{
		name: "line: large and at the limit", in: "{" + strings.Repeat("y", 2*readBufferBytes) + "}\r\n", max: 2*readBufferBytes + 2,
		framing: FramingLine, bodies: []string{"{" + strings.Repeat("y", 2*readBufferBytes) + "}"},
	},
	{
		name: "line: large and one over the limit", in: "{" + strings.Repeat("y", 2*readBufferBytes) + "}\r\n{}", max: 2*readBufferBytes + 1,
		framing: FramingLine, bodies: []string{"{}"}, bad: "maxMessageBytes (131073)",
	},

	{name: "headers", in: headed(`{"a":1}`) + headed(`[2]`), framing: FramingHeader, bodies: []string{`{"a":1}`, `[2]`}},
	{name: "header: LF ends", in: "Content-Length: 2\n\n{}", framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: mixed ends", in: "A: b\nContent-Length: 2\r\n\n{}", framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: case", in: "cOnTeNt-lEnGtH: 2\r\n\r\n{}", framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: no space", in: "Content-Length:2\r\n\r\n{}", framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: more space", in: "Content-Length \t: \t 2 \t\r\n\r\n{}", framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: leading zeros", in: "Content-Length: 0002\r\n\r\n{}", framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: others ignored", in: "X-Content-Length: 9\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\nEmpty:\r\n\r\n{}", framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: the same twice", in: "Content-Length: 2\r\ncontent-length: 02\r\n\r\n{}", framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: length 0", in: headed("") + headed("{}"), framing: FramingHeader, bodies: []string{"", "{}"}},
	{name: "header: any bytes in a body", in: headed("\r\n\x00\xff\n{") + headed("{}"), framing: FramingHeader, bodies: []string{"\r\n\x00\xff\n{", "{}"}},
	{name: "header: at the limit", in: headed("{123456}"), max: 8, framing: FramingHeader, bodies: []string{"{123456}"}},
	{name: "header: over the limit", in: headed("{}") + headed("{1234567}"), max: 8, framing: FramingHeader, bodies: []string{"{}"}, fatal: "Content-Length is 9, over maxMessageBytes (8)"},
	{name: "header: longest line", in: "A:" + strings.Repeat("b", maxHeaderLineBytes-2) + "\r\n" + headed("{}"), framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: line too long", in: "A:" + strings.Repeat("b", maxHeaderLineBytes-1) + "\n" + headed("{}"), framing: FramingHeader, fatal: "longer than 8192 bytes"},
	{name: "header: line without end", in: strings.Repeat("b", 3*readBufferBytes), framing: FramingHeader, fatal: "longer than 8192 bytes"},
	{name: "header: most lines", in: strings.Repeat("A: b\n", maxHeaderLines-1) + headed("{}"), framing: FramingHeader, bodies: []string{"{}"}},
	{name: "header: too many lines", in: strings.Repeat("A: b\n", maxHeaderLines) + headed("{}"), framing: FramingHeader, fatal: "more than 64 lines"},
	{name: "header: missing", in: "A: b\r\n\r\n{}", framing: FramingHeader, fatal: "no Content-Length"},
	{name: "header: empty block", in: headed("{}") + "\r\n", framing: FramingHeader, bodies: []string{"{}"}, fatal: "no Content-Length"},
	{name: "header: conflict", in: "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", framing: FramingHeader, fatal: "given as 2 and as 3"},
	{name: "header: negative", in: "Content-Length: -2\r\n\r\n{}", framing: FramingHeader, fatal: `"-2" is not a number`},
	{name: "header: plus sign", in: "Content-Length: +2\r\n\r\n{}", framing: FramingHeader, fatal: `"+2" is not a number`},
	{name: "header: fraction", in: "Content-Length: 2.0\r\n\r\n{}", framing: FramingHeader, fatal: `"2.0" is not a number`},
	{name: "header: hexadecimal", in: "Content-Length: 0x2\r\n\r\n{}", framing: FramingHeader, fatal: `"0x2" is not a number`},
	{name: "header: list", in: "Content-Length: 2, 2\r\n\r\n{}", framing: FramingHeader, fatal: `"2, 2" is not a number`},
	{name: "header: no number", in: "Content-Length: \r\n\r\n{}", framing: FramingHeader, fatal: `"" is not a number`},
	{name: "header: 2^63", in: "Content-Length: 9223372036854775808\r\n\r\n", framing: FramingHeader, fatal: "over any limit"},
	{name: "header: 2^64+2", in: "Content-Length: 18446744073709551618\r\n\r\n{}", framing: FramingHeader, fatal: "over any limit"},
	{name: "header: 2^63-1", in: "Content-Length: 9223372036854775807\r\n\r\n{}", framing: FramingHeader, fatal: "over maxMessageBytes"},
	{name: "header: no colon", in: "hello\n", framing: FramingHeader, fatal: `"hello" is not a header line`},
	{name: "header: no name", in: ": 2\n", framing: FramingHeader, fatal: "not a header line"},
	{name: "header: forced on a line", in: "{\"a\":1}\n", force: FramingHeader, framing: FramingHeader, fatal: "is not a header line"},
	{name: "header: forced on a byte order mark", in: byteOrderMark + "{}\n", force: FramingHeader, framing: FramingHeader, fatal: "not a header line"},
	{name: "header: the rest of a body", in: "Content-Length: 2\r\n\r\n{}, \"b\": 2}\n", framing: FramingHeader, bodies: []string{"{}"}, fatal: "is not a header line"},
	{name: "header: ends in a name", in: "Content-Len", framing: FramingHeader, end: io.ErrUnexpectedEOF},
	{name: "header: ends in a line end", in: "Content-Length: 2\r", framing: FramingHeader, end: io.ErrUnexpectedEOF},
	{name: "header: ends between lines", in: "Content-Length: 2\r\n", framing: FramingHeader, end: io.ErrUnexpectedEOF},
	{name: "header: ends before the body", in: "Content-Length: 2\r\n\r\n", framing: FramingHeader, end: io.ErrUnexpectedEOF},
	{name: "header: ends in the body", in: headed("{}") + "Content-Length: 2\r\n\r\n{", framing: FramingHeader, bodies: []string{"{}"}, end: io.ErrUnexpectedEOF},
	{name: "header: ends in a large body", in: fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 4*readBufferBytes, strings.Repeat("z", 3*readBufferBytes)), framing: FramingHeader, end: io.ErrUnexpectedEOF},
	{
		name: "header: body larger than the read buffer", in: headed(strings.Repeat("z", 5*readBufferBytes+7)) + headed("{}"),
		framing: FramingHeader, bodies: []string{strings.Repeat("z", 5*readBufferBytes+7), "{}"},
	},
	{name: "header: body as large as the read buffer", in: headed(strings.Repeat("z", readBufferBytes)), framing: FramingHeader, bodies: []string{strings.Repeat("z", readBufferBytes)}},
}

func TestFrames(t *testing.T) {
	for _, c := range frameCases {
		t.Run(c.name, func(t *testing.T) {
			if c.max == 0 {
				c.max = testMaxBytes
			}
			log, f := readFrames(strings.NewReader(c.in), c.force, c.max)
			if f.Framing() != c.framing {
				t.Errorf("framing %v, want %v", f.Framing(), c.framing)
			}
			if !slices.Equal(log.bodies, c.bodies) {
				t.Errorf("bodies %.200q, want %.200q", log.bodies, c.bodies)
			}
			if c.bad == "" && len(log.bad) > 0 || c.bad != "" && (len(log.bad) != 1 || !strings.Contains(log.bad[0], c.bad)) {
				t.Errorf("errors %q, want one with %q", log.bad, c.bad)
			}
			checkFrameEnd(t, log.end, c.end, c.fatal)
			if _, again := f.Next(); again != log.end {
				t.Errorf("the call after the end: %v, want %v again", again, log.end)
			}
		})
	}
}

func checkFrameEnd(t *testing.T, got, want error, fatal string) {
	t.Helper()
	if fatal != "" {
		var bad *frameError
		if !errors.As(got, &bad) || !bad.Fatal || bad.Code != codeInvalidRequest || !strings.Contains(bad.Message, fatal) {
			t.Errorf("end %#v, want a fatal -32600 with %q", got, fatal)
		}
		return
	}
	if want == nil {
		want = io.EOF
	}
	if got != want {
		t.Errorf("end %v, want %v", got, want)
	}
}

// TestFramesHoweverSplit: frames depend only on the bytes, never on how they were read.
func TestFramesHoweverSplit(t *testing.T) {
	for _, c := range frameCases {
		if c.max == 0 {
			c.max = testMaxBytes
		}
		want, _ := readFrames(strings.NewReader(c.in), c.force, c.max)
		readers := map[string]io.Reader{
			"one byte at a time": iotest.OneByteReader(strings.NewReader(c.in)),
			"halves":             iotest.HalfReader(strings.NewReader(c.in)),
			"end with data":      iotest.DataErrReader(strings.NewReader(c.in)),
		}
		if len(c.in) < 200 {
			for i := range len(c.in) {
				readers[fmt.Sprintf("split at %d", i)] = io.MultiReader(strings.NewReader(c.in[:i]), strings.NewReader(c.in[i:]))
			}
		}
		for how, r := range readers {
			if got, _ := readFrames(r, c.force, c.max); !got.equal(want) {
				t.Errorf("%s, %s: %v, want %v", c.name, how, got, want)
			}
		}
	}
}

func TestFrameReadError(t *testing.T) {
	broken := errors.New("device gone")
	for _, in := range []string{"", "{", "\xef", "Content", "Content-Length: 2\r\n\r\n{", "Content-Length: 200000\r\n\r\n{", "{" + strings.Repeat("x", 2*readBufferBytes)} {
		log, _ := readFrames(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), FramingUnknown, testMaxBytes)
		if len(log.bodies) > 0 || !errors.Is(log.end, broken) || !strings.Contains(log.end.Error(), "from the client") {
			t.Errorf("after %.20q: %v, want nothing and the reader's error with what was read", in, log)
		}
	}
}

// awaitFrame receives from the test's side of a pipe whose other end is a frame reader, with a watchdog.
func awaitFrame[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		buf := make([]byte, 1<<16)
		t.Fatalf("%s did not come\n%s", what, buf[:runtime.Stack(buf, true)])
		panic("unreachable")
	}
}

// TestFramesWhileTheSenderWaits: an answer to a frame that has arrived must not need more input.
func TestFramesWhileTheSenderWaits(t *testing.T) {
	defer goleak.VerifyNone(t)
	cases := map[string]struct{ in, want string }{
		"a line":             {"{}\n", "{}"},
		"a frame":            {headed("{}"), "{}"},
		"an empty body":      {headed(""), ""},
		"endless header":     {strings.Repeat("b", maxHeaderLineBytes+2), "fatal"},
		"length over limit":  {"Content-Length: 9999999999\r\n\r\n", "fatal"},
		"too many headers":   {strings.Repeat("A: b\n", maxHeaderLines+1), "fatal"},
		"bad length":         {"Content-Length: x\r\n", "fatal"},
		"over-long line":     {"{" + strings.Repeat("x", testMaxBytes) + "}\n", "skipped"},
		"large body":         {headed("{" + strings.Repeat("x", 3*readBufferBytes) + "}"), "{" + strings.Repeat("x", 3*readBufferBytes) + "}"},
		"line after a BOM":   {byteOrderMark + "{}\n", "{}"},
		"line after a blank": {"\n{}\n", "{}"},
	}
	for name, c := range cases {
		in, out := io.Pipe()
		f := newFrameReader(in, FramingUnknown, testMaxBytes)
		got := make(chan string, 1)
		go func() {
			body, err := f.Next()
			var bad *frameError
			switch {
			case err == nil:
				got <- string(body)
			case errors.As(err, &bad) && bad.Fatal:
				got <- "fatal"
			case bad != nil:
				got <- "skipped"
			default:
				got <- err.Error()
			}
		}()
		if _, err := io.WriteString(out, c.in); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s := awaitFrame(t, name, got); s != c.want {
			t.Errorf("%s: %.80q, want %.80q", name, s, c.want)
		}
		_ = out.Close() // Best effort: the reader has ended.
	}
}

// TestSetMaxWhileReading: the limit that initialize sets applies to the next frame, even if the reader already waits
// for it.
func TestSetMaxWhileReading(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, framing := range []Framing{FramingLine, FramingHeader} {
		in, out := io.Pipe()
		f := newFrameReader(in, framing, 4)
		bodies, errs := make(chan string), make(chan error, 1)
		go func() {
			for {
				body, err := f.Next()
				if err != nil {
					errs <- err
					return
				}
				bodies <- string(body)
			}
		}()
		long := `{"a":"` + strings.Repeat("x", 200) + `"}`
		for _, body := range []string{"{}", long} {
			if body == long {
				f.SetMax(len(long))
			}
			if _, err := out.Write(frame(nil, framing, []byte(body))); err != nil {
				t.Fatal(err)
			}
			if got := awaitFrame(t, "a body", bodies); got != body {
				t.Errorf("%v: body %q, want %q", framing, got, body)
			}
			if f.Framing() != framing {
				t.Errorf("framing %v, want %v", f.Framing(), framing)
			}
		}
		_ = out.Close() // An io.Pipe's Close cannot fail.
		if err := awaitFrame(t, "the end", errs); err != io.EOF {
			t.Errorf("%v: end %v, want EOF", framing, err)
		}
	}
}

// TestAnnouncedLengthAllocatesNothing: memory grows with the bytes that arrive, not with the announced length.
func TestAnnouncedLengthAllocatesNothing(t *testing.T) {
	const promised, sent = 1 << 30, 100 << 10
	in := io.MultiReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", promised)), strings.NewReader(strings.Repeat("z", sent)))
	f := newFrameReader(in, FramingUnknown, promised)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := f.Next(); err != io.ErrUnexpectedEOF {
		t.Fatalf("end %v, want an unexpected one", err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8*sent {
		t.Errorf("%d bytes allocated for %d that came and %d announced", grown, sent, promised)
	}
}

// TestSkippedLineIsNotStored: a line over the limit uses no memory beyond the limit.
func TestSkippedLineIsNotStored(t *testing.T) {
	const skipped = 16 << 20
	in := io.MultiReader(strings.NewReader("{"), io.LimitReader(repeated('x'), skipped), strings.NewReader("\n{}\n"))
	f := newFrameReader(in, FramingUnknown, testMaxBytes)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := f.Next()
	var bad *frameError
	if !errors.As(err, &bad) || bad.Fatal || bad.Code != codeInvalidRequest {
		t.Fatalf("over-long line: %v, want a -32600 that is not fatal", err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8*testMaxBytes {
		t.Errorf("%d bytes allocated to skip %d", grown, skipped)
	}
	if body, err := f.Next(); err != nil || string(body) != "{}" {
		t.Errorf("after the line: %q, %v", body, err)
	}
}

// repeated is an endless input of one byte.
type repeated byte

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// TestBuffersAreReused: frames of common sizes need no allocation, and the buffer of a huge one is released.
func TestBuffersAreReused(t *testing.T) {
	for _, framing := range []Framing{FramingHeader, FramingLine} {
		var in bytes.Buffer
		for range 30 {
			in.Write(frame(nil, framing, []byte(`{"jsonrpc":"2.0"}`)))
			in.Write(frame(nil, framing, bytes.Repeat([]byte("x"), 100<<10)))
		}
		f := newFrameReader(&in, framing, testMaxBytes)
		next := func() {
			if _, err := f.Next(); err != nil {
				t.Fatal(err)
			}
		}
		next()
		next()
		if allocs := testing.AllocsPerRun(20, func() { next(); next() }); allocs != 0 {
			t.Errorf("%v: %v allocations for two frames", framing, allocs)
		}
		in.Reset()
		in.Write(frame(nil, framing, bytes.Repeat([]byte("x"), 3*keepBodyBytes)))
		in.Write(frame(nil, framing, []byte("{}")))
		f = newFrameReader(&in, framing, 4*keepBodyBytes)
		next()
		if next(); f.large != nil {
			t.Errorf("%v: a buffer of %d bytes is kept", framing, cap(f.large))
		}
	}
}

func TestFrameWriting(t *testing.T) {
	cases := []struct {
		framing Framing
		want    string
	}{
		{FramingLine, "~{\"a\":1}\n"},
		{FramingHeader, "~Content-Length: 7\r\n\r\n{\"a\":1}"},
		{FramingUnknown, "~Content-Length: 7\r\n\r\n{\"a\":1}"},
	}
	for _, c := range cases {
		if got := string(frame([]byte("~"), c.framing, []byte(`{"a":1}`))); got != c.want {
			t.Errorf("%v: %q, want %q", c.framing, got, c.want)
		}
	}
}

func TestFramingString(t *testing.T) {
	want := []string{"unknown", "header", "line", "Framing(3)"}
	for f, name := range want {
		if got := Framing(f).String(); got != name {
			t.Errorf("Framing %d is %q, want %q", f, got, name)
		}
	}
}

// FuzzFrame: for any input the reader does not panic, does not loop for ever and returns no body over the limit, and
// its results do not depend on how the input was split.
func FuzzFrame(f *testing.F) {
	for i, c := range frameCases {
		if len(c.in) < 1000 {
			f.Add([]byte(c.in), uint8(i), uint16(i))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, force uint8, limit uint16) {
		framing, maxBytes := Framing(force%3), int(limit)
		want, reader := readFrames(bytes.NewReader(in), framing, maxBytes)
		for _, body := range want.bodies {
			if len(body) > maxBytes {
				t.Errorf("a body of %d bytes, limit %d", len(body), maxBytes)
			}
			if reader.Framing() == FramingLine && strings.ContainsAny(body, "\n") {
				t.Errorf("line with a newline: %q", body)
			}
		}
		if got, _ := readFrames(iotest.OneByteReader(bytes.NewReader(in)), framing, maxBytes); !got.equal(want) {
			t.Errorf("one byte at a time: %v, want %v", got, want)
		}
		checkRewritten(t, want.bodies, reader.Framing())
	})
}

// checkRewritten frames bodies again and reads them back.
func checkRewritten(t *testing.T, bodies []string, framing Framing) {
	if framing == FramingUnknown {
		return
	}
	var out []byte
	for _, body := range bodies {
		if strings.HasSuffix(body, "\r") {
			return // It ended with two of them; encoders write none.
		}
		out = frame(out, framing, []byte(body))
	}
	// A byte order mark in the content of a first line would be taken for the stream's.
	if again, _ := readFrames(bytes.NewReader(out), framing, 1<<20); !slices.Equal(again.bodies, bodies) && !bytes.HasPrefix(out, []byte(byteOrderMark)) {
		t.Errorf("framed again: %q, want %q", again.bodies, bodies)
	}
}

func BenchmarkFrameReader(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"job/write","params":{"handle":1,"input":"ls -l"}}`)
	for _, framing := range []Framing{FramingHeader, FramingLine} {
		b.Run(framing.String(), func(b *testing.B) {
			one := frame(nil, framing, body)
			f := newFrameReader(&cycle{of: one}, framing, testMaxBytes)
			b.SetBytes(int64(len(one)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// cycle is an endless input of the same bytes.
type cycle struct {
	of []byte
	at int
}

func (c *cycle) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m := copy(p[n:], c.of[c.at:])
		n += m
		c.at = (c.at + m) % len(c.of)
	}
	return n, nil
}
