package plain

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/spool"
)

// stored returns a stream with data, of which it keeps as much as memory allows.
func stored(memory int, data []byte) *spool.Spool {
	s := spool.New(memory)
	s.Append(data)
	return s
}

func whole(b []byte) spool.Range { return spool.Range{From: 0, To: int64(len(b))} }

func TestClip(t *testing.T) {
	for _, c := range []struct {
		name, in string
		max      int
		want     string
		trunc    *Truncated
	}{
		{"fits", "abc", 3, "abc", nil},
		{"lines", "l1\nl2\nl3\nl4\nl5\nl6\n", 12, "l1\nl2\nl6\n", &Truncated{6, 3, 9, 3}},
		{"one long line", "abcdefghij", 4, "abij", &Truncated{2, 2, 6, 0}},
		{"characters whole", "ääääää", 6, "ää", &Truncated{2, 2, 8, 0}},
		{"nothing", "abc", 0, "", &Truncated{0, 0, 3, 0}},
	} {
		got, trunc := Clip([]byte(c.in), c.max)
		if string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if (trunc == nil) != (c.trunc == nil) || trunc != nil && *trunc != *c.trunc {
			t.Errorf("%s: %+v, want %+v", c.name, trunc, c.trunc)
		}
	}
}

// An excerpt that fits into its windows equals Clip of the whole text.
func TestExcerptEqualsClip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b []byte
		for range rnd.IntN(400) {
			b = append(b, []string{"a", "é", "\n", "\r\n", "\x1b[1m", "\r", "line of text\n", "\xff"}[rnd.IntN(8)]...)
		}
		limit := rnd.IntN(300)
		for _, plain := range []bool{false, true} {
			want := b
			if plain {
				want = []byte(Text(b))
			}
			text, tr := Clip(want, limit)
			got, gotTr := Excerpt(stored(1<<20, b), whole(b), nil, plain, limit)
			if !bytes.Equal(got, text) || (tr == nil) != (gotTr == nil) || tr != nil && *tr != *gotTr {
				t.Fatalf("%q, plain %v, limit %d: %q %+v, want %q %+v", b, plain, limit, got, gotTr, text, tr)
			}
		}
	}
}

// Skipped ranges are omitted as if they had never been written, however long the rest is.
func TestExcerptSkip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, words := range []int{40, 400, 60_000} {
		for range 100_000 / words {
			var b, rest []byte
			var skip []spool.Range
			for range words {
				word := []string{"a", "é", "\n", "\r\n", "\x1b[1m", "line of text\n"}[rnd.IntN(6)]
				if rnd.IntN(words/10+2) == 0 {
					skip = append(skip, spool.Range{From: int64(len(b)), To: int64(len(b) + len(word))})
				} else {
					rest = append(rest, word...)
				}
				b = append(b, word...)
			}
			want, wantTr := Excerpt(stored(1<<20, rest), whole(rest), nil, false, 300)
			got, tr := Excerpt(stored(1<<20, b), whole(b), skip, false, 300)
			if !bytes.Equal(got, want) || (tr == nil) != (wantTr == nil) || tr != nil && *tr != *wantTr {
				t.Fatalf("%d bytes, %d ranges skipped: %q %+v, want %q %+v", len(b), len(skip), got, tr, want, wantTr)
			}
			whole, _ := Excerpt(stored(1<<20, b), whole(b), skip, true, len(b))
			if want := Text(rest); string(whole) != want {
				t.Fatalf("%d bytes, %d ranges skipped: %q, want %q", len(b), len(skip), whole, want)
			}
		}
	}
}

// Skipped ranges may be in a gap, before it or behind it.
func TestExcerptSkipAtGap(t *testing.T) {
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	end := int64(b.Len())
	s := stored(128<<10, b.Bytes())
	for _, skip := range [][]spool.Range{{{From: 0, To: 7}}, {{From: 7, To: 14}, {From: 14, To: 21}}, {{From: 500_000, To: 600_000}}, {{From: 0, To: 7}, {From: end - 12, To: end}}} {
		text, tr := Excerpt(s, whole(b.Bytes()), skip, false, 1<<20)
		if tr == nil || tr.HeadBytes+tr.TailBytes != int64(len(text)) || tr.HeadBytes+tr.OmittedBytes+tr.TailBytes != without(whole(b.Bytes()), skip).len() {
			t.Fatalf("skipping %v: %d bytes, %+v", skip, len(text), tr)
		}
		for _, r := range skip {
			if bytes.Contains(text, b.Bytes()[r.From:r.To]) {
				t.Errorf("%v is not omitted", r)
			}
		}
	}
}

// A long range is read only at its ends. Raw, the result equals Clip of the whole.
func TestExcerptOfLongRange(t *testing.T) {
	var b bytes.Buffer
	for i := 0; b.Len() < 3*foldBytes; i++ {
		fmt.Fprintf(&b, "\x1b[32mline\x1b[0m %d\r\n", i)
	}
	s := stored(64<<20, b.Bytes())
	want, wantTr := Clip(b.Bytes(), 1000)
	got, tr := Excerpt(s, whole(b.Bytes()), nil, false, 1000)
	if !bytes.Equal(got, want) || tr == nil || *tr != *wantTr {
		t.Errorf("raw: %q %+v, want %q %+v", got, tr, want, wantTr)
	}
	lines := int64(bytes.Count(b.Bytes(), []byte("\n")))
	text, tr := Excerpt(s, whole(b.Bytes()), nil, true, 1000)
	if tr == nil || len(text) > 1000 || len(text) < 950 || tr.HeadBytes+tr.TailBytes != int64(len(text)) {
		t.Fatalf("plain: %d bytes, %+v", len(text), tr)
	}
	if tr.OmittedLines != lines-int64(bytes.Count(text, []byte("\n"))) {
		t.Errorf("plain: %d lines omitted of %d, %q", tr.OmittedLines, lines, text)
	}
	first, last := "line 0\nline 1\n", fmt.Sprintf("line %d\nline %d\n", lines-2, lines-1)
	if s := string(text); !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) || strings.Contains(s, "\x1b") || strings.Contains(s, "[") {
		t.Errorf("plain: %q", text)
	}
}

// The cut is at a gap, however short the rest is.
func TestExcerptAtGap(t *testing.T) {
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "line é %d\n", i)
	}
	const memory = 128 << 10
	s := stored(memory, b.Bytes())
	kept := s.Kept()
	if len(kept) != 2 {
		t.Fatalf("kept %v", kept)
	}
	for _, limit := range []int{0, 100, 20_000, 40_000, memory, 1 << 20} {
		for _, plain := range []bool{false, true} {
			text, tr := Excerpt(s, whole(b.Bytes()), nil, plain, limit)
			if tr == nil || len(text) > limit || tr.HeadBytes+tr.TailBytes != int64(len(text)) {
				t.Fatalf("limit %d: %d bytes, %+v", limit, len(text), tr)
			}
			head, tail := text[:tr.HeadBytes], text[tr.HeadBytes:]
			if !bytes.HasPrefix(b.Bytes(), head) || !bytes.HasSuffix(b.Bytes(), tail) || int64(len(head)) > kept[0].To || int64(len(tail)) > kept[1].To-kept[1].From {
				t.Errorf("limit %d: the head ends %q, the tail begins %.20q", limit, head[max(len(head)-20, 0):], tail)
			}
			for _, part := range [][]byte{head, tail} {
				if len(part) > 0 && part[len(part)-1] != '\n' || len(part) > 0 && part[0] != 'l' {
					t.Errorf("limit %d: incomplete lines: %.20q", limit, part)
				}
			}
			if tr.HeadBytes+tr.OmittedBytes+tr.TailBytes != int64(b.Len()) {
				t.Errorf("limit %d: %+v of %d", limit, tr, b.Len())
			}
		}
	}
}

func TestExcerptOfEmptyRange(t *testing.T) {
	s := stored(1<<20, []byte("text"))
	for _, r := range []spool.Range{{From: 0, To: 0}, {From: 4, To: 4}, {From: 4, To: 2}} {
		if text, tr := Excerpt(s, r, nil, true, 10); len(text) != 0 || tr != nil {
			t.Errorf("%v: %q %+v", r, text, tr)
		}
	}
}
