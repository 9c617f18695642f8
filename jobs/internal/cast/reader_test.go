package cast

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

const recorded = `{"version":3,"term":{"cols":100,"rows":30,"type":"xterm"},"timestamp":1763800000,"command":"vi"}
[0.5,"o","a\u001b[31m"]
# a comment

[1.000001,"r","120x40"]
[0.25,"x","0"]
`

func TestReader(t *testing.T) {
	r, err := NewReader(strings.NewReader(recorded))
	if err != nil || r.Cols != 100 || r.Rows != 30 || r.Type != "xterm" || r.Command != "vi" || r.Began.Unix() != 1763800000 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, want := range []Event{{500 * time.Millisecond, Output, "a\x1b[31m"}, {1000001 * time.Microsecond, Resize, "120x40"}, {250 * time.Millisecond, Exit, "0"}} {
		if got, err := r.Next(); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("in the end: %v", err)
	}
}

// TestReaderOfBadRecordings checks an incomplete last line, which a killed writer leaves, and files that are no
// recording.
func TestReaderOfBadRecordings(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "EOF",
		"text\n":                   "does not begin with the header of an asciicast",
		`{"version":2,"width":80}`: "does not begin with the header of an asciicast",
		`{"version":3,"term":{"cols":0,"rows":3}}`: "does not begin with the header of an asciicast",
	} {
		if _, err := NewReader(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	const head = `{"version":3,"term":{"cols":8,"rows":3}}` + "\n"
	for text, want := range map[string]string{
		`[0.5,"o","a`:                                           "EOF",
		"[0.5,\"o\"\n[0.5,\"o\",\"a\"]\n":                       "line 2 is not an asciicast event",
		"[-1,\"o\",\"a\"]\n[0.5,\"o\",\"\"]\n":                  "line 2 is not an asciicast event",
		"[1,\"out\",\"a\"]\n\n[1,\"o\",\"\"]":                   "line 2 is not an asciicast event",
		"[1,\"o\",\"" + strings.Repeat("a", mostLine) + "\"]\n": "line 2: ",
	} {
		r, err := NewReader(strings.NewReader(head + text))
		if err != nil {
			t.Fatal(err)
		}
		if e, err := r.Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v", text, e, err)
		}
	}
}
