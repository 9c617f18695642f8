package cast

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// mostSeconds is the maximum time between two events.
const mostSeconds = 1e9

// mostLine is the maximum length of a line that a Reader accepts. A Writer's lines are much shorter.
const mostLine = 16 << 20

// An Event is a line of a recording.
type Event struct {
	After time.Duration // since the line above
	Code  Code
	Data  string
}

// A Reader reads a recording of version 3.
type Reader struct {
	Header
	lines *bufio.Scanner
	line  int
}

// NewReader reads the header.
func NewReader(r io.Reader) (*Reader, error) {
	c := &Reader{lines: bufio.NewScanner(r)}
	c.lines.Buffer(nil, mostLine)
	line, err := c.next()
	if err != nil {
		return nil, err
	}
	var head struct {
		Version int
		Term    struct {
			Cols, Rows int
			Type       string
		}
		Timestamp      int64
		Command, Title string
	}
	if err := json.Unmarshal(line, &head); err != nil || head.Version != 3 || head.Term.Cols < 1 || head.Term.Rows < 1 {
		return nil, errors.New("it does not begin with the header of an asciicast of version 3")
	}
	c.Header = Header{head.Term.Cols, head.Term.Rows, head.Term.Type, time.Unix(head.Timestamp, 0), head.Command, head.Title}
	return c, nil
}

// Next returns the next event, or io.EOF at the end. An incomplete last line, which a killed writer leaves, also
// counts as the end.
func (c *Reader) Next() (e Event, err error) {
	line, err := c.next()
	if err != nil {
		return e, err
	}
	var code string
	var seconds float64
	parts := []any{&seconds, &code, &e.Data}
	if err := json.Unmarshal(line, &parts); err != nil || len(parts) != 3 || len(code) != 1 || seconds < 0 {
		if !c.lines.Scan() {
			return e, io.EOF
		}
		return e, fmt.Errorf("line %d is not an asciicast event", c.line)
	}
	e.After, e.Code = time.Duration(math.Round(min(seconds, mostSeconds)*1e6))*time.Microsecond, Code(code[0])
	return e, nil
}

// next returns the next line that is neither blank nor a comment.
func (c *Reader) next() ([]byte, error) {
	for c.lines.Scan() {
		c.line++
		if line := bytes.TrimSpace(c.lines.Bytes()); len(line) > 0 && line[0] != '#' {
			return line, nil
		}
	}
	if err := c.lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", c.line+1, err)
	}
	return nil, io.EOF
}
