package rpc_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"shelld.dev/shelld/schema"
)

// readBytes reads and returns the text, or the decoded bytes.
func (s *session) readBytes(handle any, more ...any) (string, schema.JobReadResult) {
	s.t.Helper()
	r := do[schema.JobReadResult](s, "job/read", merged(obj{"handle": handle}, more))
	if r.Text != nil {
		return *r.Text, r
	}
	b, err := base64.StdEncoding.DecodeString(str(r.Base64))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b), r
}

func TestReadCursor(t *testing.T) {
	s := start(t)
	h := s.pty("stty -echo; printf abcdef; read x; printf ghi")
	s.see(h, "abcdef")
	text, r := s.readBytes(h, "maxBytes", 4)
	equal(t, "first", text, "abcd")
	equal(t, "has more", r.HasMore, true)
	text, _ = s.readBytes(h, "offset", 0)
	equal(t, "by offset", text, "abcdef")
	text, r = s.readBytes(h)
	equal(t, "second: a read by offset has not moved the cursor", text, "ef")
	equal(t, "has more", r.HasMore, false)
	text, r = s.readBytes(h)
	equal(t, "nothing", text, "")
	equal(t, "next offset", r.NextOffset, 6)
	s.write(h, "\r")
	s.event(h, "job/closed")
	text, _ = s.readBytes(h)
	equal(t, "after the end", text, "ghi")
	for _, c := range []struct {
		offset int
		want   string
		at     int64
	}{{-3, "ghi", 6}, {-100, "abcdefghi", 0}, {-9, "abcdefghi", 0}, {3, "defghi", 3}, {9, "", 9}, {50, "", 50}} {
		text, r := s.readBytes(h, "offset", c.offset)
		equal(t, "text", text, c.want)
		equal(t, "offset", r.Offset, c.at)
	}
}

func TestReadWaits(t *testing.T) {
	s := start(t)
	h := s.pipe("read x; printf hello; read x; printf error >&2; sleep 60", "stdin", "open")
	c := s.begin("job/read", obj{"handle": h, "stream": "stdout", "waitMs": 3600_000})
	e := s.begin("job/read", obj{"handle": h, "stream": "stderr", "waitMs": 3600_000})
	s.write(h, "\n")
	if text := str(result[schema.JobReadResult](c).Text); text == "" || !strings.HasPrefix("hello", text) {
		t.Errorf("read %q", text)
	}
	if e.answered() {
		t.Error("stdout has answered a read of stderr")
	}
	s.write(h, "\n")
	equal(t, "stderr", str(result[schema.JobReadResult](e).Text), "error")
	r := do[schema.JobReadResult](s, "job/read", obj{"handle": h, "stream": "stdout", "offset": 5, "waitMs": 30})
	equal(t, "nothing in time", str(r.Text), "")
	late := s.begin("job/read", obj{"handle": h, "stream": "stdout", "offset": 5, "waitMs": 3600_000})
	s.kill(h)
	equal(t, "nothing to the end", str(result[schema.JobReadResult](late).Text), "")
}

func TestReadFormats(t *testing.T) {
	s := start(t)
	h := s.pipe(`printf '\033[1mb\033[0m\r\n\303\251'; printf 'a\377b' >&2`)
	s.event(h, "job/closed")
	text, _ := s.readBytes(h, "stream", "stdout")
	equal(t, "text", text, "\x1b[1mb\x1b[0m\r\né")
	text, r := s.readBytes(h, "stream", "stdout", "format", "plain", "offset", 0)
	equal(t, "plain", text, "b\né")
	equal(t, "raw offsets", r.NextOffset, 13)
	text, r = s.readBytes(h, "stream", "stdout", "format", "base64", "offset", 0)
	equal(t, "base64", text, "\x1b[1mb\x1b[0m\r\né")
	equal(t, "text beside it", str(r.Text), "(absent)")
	text, r = s.readBytes(h, "stream", "stderr")
	equal(t, "no UTF-8", text, "a\xffb")
	equal(t, "text beside it", str(r.Text), "(absent)")
	// A read that ends inside a character stops before it.
	text, r = s.readBytes(h, "stream", "stdout", "offset", 10, "maxBytes", 2)
	equal(t, "up to a character", text, "\n")
	equal(t, "next offset", r.NextOffset, 11)
}

// TestPlainFromInside reads output from each of its bytes on, and in pieces: the result is the same as that part of the
// whole, wherever sequences are cut.
func TestPlainFromInside(t *testing.T) {
	var output strings.Builder
	var shown []string             // of each byte
	for i, part := range []string{ // text and sequences alternate
		"one ", "\x1b[1;32m", "two", "\x1b[0m", " ", "\x1b]0;" + strings.Repeat("a long title ", 100) + "\a",
		"three ", "\x1b(B", "f\nur ", "\x1b]8;;x\x1b\\", "five ", "\x1bPq\a", "six ", "\x1b[1;3", "\n42 files ", "\x1b\x1b[m", "seven ",
		"\x1b[3\x18", "eight → 😀é", "\x1b]2;é\a", "ü\n", "\u009b",
		"31m", "\x7f", "e\u200ct\u200dc\ufe0f ", "\u202e", "b", "\u2066\u009c\u2069", "c\n", "\x1b^never ends",
	} {
		output.WriteString(part)
		for _, c := range part {
			shown = append(shown, make([]string, utf8.RuneLen(c))...)
			if i%2 == 0 {
				shown[len(shown)-1] = string(c) // in the piece in which it ends
			}
		}
	}
	from := func(off int) string { return strings.Join(shown[off:], "") }
	file := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(file, []byte(output.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t)
	h := s.pipe("cat '"+file+"'", "stderr", "discard")
	s.event(h, "job/closed")
	plain := func(off, most int) (string, schema.JobReadResult) {
		return s.readBytes(h, "format", "plain", "offset", off, "maxBytes", most)
	}
	for off := range shown {
		if text, _ := plain(off, 65536); text != from(off) {
			t.Errorf("from %d on: %q, want %q", off, text, from(off))
		}
	}
	for _, size := range []int{1, 4, 5, 7, 11, 300} {
		var text strings.Builder
		for at := 0; at < len(shown); {
			part, r := plain(at, size)
			text.WriteString(part)
			at = int(r.NextOffset)
		}
		equal(t, fmt.Sprintf("in pieces of %d", size), text.String(), from(0))
	}
	r := do[schema.JobWaitResult](s, "job/wait", obj{"handle": h, "from": 6, "until": []obj{{"closed": true}}})
	equal(t, "a wait", str(r.Outcome.Output["stdout"].Text), from(6))
}

// TestPlainOfHalfACharacter: while its rest may arrive, it is not shown; at the end it is shown as invalid.
func TestPlainOfHalfACharacter(t *testing.T) {
	s := start(t)
	h := s.pipe(`printf 'A\342'; read x; printf '\206\222B\342\206'`, "stdin", "open", "stderr", "discard")
	text := func(r schema.JobWaitResult) string { return str(r.Outcome.Output["stdout"].Text) }
	equal(t, "a wait", text(do[schema.JobWaitResult](s, "job/wait", obj{"handle": h, "from": "start", "until": []obj{{"bytes": 2}}})), "A")
	first, _ := s.readBytes(h, "format", "plain")
	half, r := s.readBytes(h, "format", "plain")
	equal(t, "reads", first+half, "A")
	equal(t, "so far", r.NextOffset, 2)
	s.write(h, "\n")
	equal(t, "a wait", text(do[schema.JobWaitResult](s, "job/wait", obj{"handle": h, "until": []obj{{"closed": true}}})), "→B\uFFFD\uFFFD")
	rest, _ := s.readBytes(h, "format", "plain")
	equal(t, "the rest", rest, "→B\uFFFD\uFFFD")
}

// TestReadGap: output that the spool has dropped is reported, and the rest adds up.
func TestReadGap(t *testing.T) {
	s := start(t, "options", obj{"persist": obj{"mode": "memory"}, "limits": obj{"spoolMemoryBytes": 128 << 10}})
	const total = 2_000_000
	h := s.pipe("head -c 2000000 /dev/zero | tr '\\0' x", "events", []string{"closed"})
	s.event(h, "job/closed")
	kept := s.get(h).Streams["stdout"].Kept
	if len(kept) != 2 || kept[0][0] != 0 || kept[1][1] != total {
		t.Fatalf("kept %v, want the head and the tail", kept)
	}
	next, gaps, bytes := int64(0), int64(0), int64(0)
	for next < total {
		text, r := s.readBytes(h, "stream", "stdout", "offset", next)
		if r.Gap != nil {
			equal(t, "gap from", r.Gap.From, next)
			equal(t, "gap to", r.Gap.To, r.Offset)
			gaps += r.Gap.To - r.Gap.From
		}
		if text == "" || strings.Trim(text, "x") != "" {
			t.Fatalf("at %d: %.50q", next, text)
		}
		bytes += int64(len(text))
		next = r.NextOffset
	}
	equal(t, "bytes and gaps", bytes+gaps, total)
	equal(t, "gaps", gaps, kept[1][0]-kept[0][1])
}
