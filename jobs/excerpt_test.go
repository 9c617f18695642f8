package jobs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"shelld/jobs/internal/spool"
)

// stored is a job with one stream, which holds these bytes in so much memory.
func stored(memory int, data []byte) *Job {
	st := &stream{name: PTY, spool: spool.New(memory)}
	st.spool.Append(data)
	return &Job{streams: []*stream{st}}
}

func whole(b []byte) Range { return Range{From: 0, To: int64(len(b))} }

// What is short, or fits into its windows, is shown as if it were cut as a whole.
func TestExcerptOfTheWhole(t *testing.T) {
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
				want = []byte(Plain(b))
			}
			text, tr := Clip(want, limit)
			got, gotTr := stored(1<<20, b).Excerpt(PTY, whole(b), nil, plain, limit)
			if !bytes.Equal(got, text) || (tr == nil) != (gotTr == nil) || tr != nil && *tr != *gotTr {
				t.Fatalf("%q, plain %v, limit %d: %q %+v, want %q %+v", b, plain, limit, got, gotTr, text, tr)
			}
		}
	}
}

// What is to be skipped is as if it had never been written, however long the rest.
func TestExcerptWithout(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, words := range []int{40, 400, 60_000} {
		for range 100_000 / words {
			var b, rest []byte
			var skip []Range
			for range words {
				word := []string{"a", "é", "\n", "\r\n", "\x1b[1m", "line of text\n"}[rnd.IntN(6)]
				if rnd.IntN(words/10+2) == 0 {
					skip = append(skip, Range{From: int64(len(b)), To: int64(len(b) + len(word))})
				} else {
					rest = append(rest, word...)
				}
				b = append(b, word...)
			}
			want, wantTr := stored(1<<20, rest).Excerpt(PTY, whole(rest), nil, false, 300)
			got, tr := stored(1<<20, b).Excerpt(PTY, whole(b), skip, false, 300)
			if !bytes.Equal(got, want) || (tr == nil) != (wantTr == nil) || tr != nil && *tr != *wantTr {
				t.Fatalf("%d bytes without %v: %q %+v, want %q %+v", len(b), len(skip), got, tr, want, wantTr)
			}
			whole, _ := stored(1<<20, b).Excerpt(PTY, whole(b), skip, true, len(b))
			if want := Plain(rest); string(whole) != want {
				t.Fatalf("%d bytes without %v: %q, want %q", len(b), skip, whole, want)
			}
		}
	}
}

// What is to be skipped may be gone, or lie before or behind what is gone.
func TestExcerptWithoutAtAGap(t *testing.T) {
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	end := int64(b.Len())
	j := stored(128<<10, b.Bytes())
	for _, skip := range [][]Range{{{From: 0, To: 7}}, {{From: 7, To: 14}, {From: 14, To: 21}}, {{From: 500_000, To: 600_000}}, {{From: 0, To: 7}, {From: end - 12, To: end}}} {
		text, tr := j.Excerpt(PTY, whole(b.Bytes()), skip, false, 1<<20)
		if tr == nil || tr.HeadBytes+tr.TailBytes != int64(len(text)) || tr.HeadBytes+tr.OmittedBytes+tr.TailBytes != without(whole(b.Bytes()), skip).len() {
			t.Fatalf("without %v: %d bytes, %+v", skip, len(text), tr)
		}
		for _, s := range skip {
			if bytes.Contains(text, b.Bytes()[s.From:s.To]) {
				t.Errorf("%v is not left out", s)
			}
		}
	}
}

// What is long is read at its ends. As written it is cut as if it were read whole.
func TestExcerptOfWindows(t *testing.T) {
	var b bytes.Buffer
	for i := 0; b.Len() < 3*foldBytes; i++ {
		fmt.Fprintf(&b, "\x1b[32mline\x1b[0m %d\r\n", i)
	}
	j := stored(64<<20, b.Bytes())
	want, wantTr := Clip(b.Bytes(), 1000)
	got, tr := j.Excerpt(PTY, whole(b.Bytes()), nil, false, 1000)
	if !bytes.Equal(got, want) || tr == nil || *tr != *wantTr {
		t.Errorf("as written: %q %+v, want %q %+v", got, tr, want, wantTr)
	}
	lines := int64(bytes.Count(b.Bytes(), []byte("\n")))
	text, tr := j.Excerpt(PTY, whole(b.Bytes()), nil, true, 1000)
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

// Where bytes are gone, there is the cut, however short the rest.
func TestExcerptAtAGap(t *testing.T) {
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "line é %d\n", i)
	}
	const memory = 128 << 10
	j := stored(memory, b.Bytes())
	kept := j.streams[0].spool.Kept()
	if len(kept) != 2 {
		t.Fatalf("kept %v", kept)
	}
	for _, limit := range []int{0, 100, 20_000, 40_000, memory, 1 << 20} {
		for _, plain := range []bool{false, true} {
			text, tr := j.Excerpt(PTY, whole(b.Bytes()), nil, plain, limit)
			if tr == nil || len(text) > limit || tr.HeadBytes+tr.TailBytes != int64(len(text)) {
				t.Fatalf("limit %d: %d bytes, %+v", limit, len(text), tr)
			}
			head, tail := text[:tr.HeadBytes], text[tr.HeadBytes:]
			if !bytes.HasPrefix(b.Bytes(), head) || !bytes.HasSuffix(b.Bytes(), tail) || int64(len(head)) > kept[0].To || int64(len(tail)) > kept[1].To-kept[1].From {
				t.Errorf("limit %d: the head ends %q, the tail begins %.20q", limit, head[max(len(head)-20, 0):], tail)
			}
			for _, part := range [][]byte{head, tail} {
				if len(part) > 0 && part[len(part)-1] != '\n' || len(part) > 0 && part[0] != 'l' {
					t.Errorf("limit %d: no whole lines: %.20q", limit, part)
				}
			}
			if tr.HeadBytes+tr.OmittedBytes+tr.TailBytes != int64(b.Len()) {
				t.Errorf("limit %d: %+v of %d", limit, tr, b.Len())
			}
		}
	}
}

func TestExcerptOfNothing(t *testing.T) {
	j := stored(1<<20, []byte("text"))
	for _, r := range []Range{{From: 0, To: 0}, {From: 4, To: 4}, {From: 4, To: 2}} {
		if text, tr := j.Excerpt(PTY, r, nil, true, 10); len(text) != 0 || tr != nil {
			t.Errorf("%v: %q %+v", r, text, tr)
		}
	}
	if text, tr := j.Excerpt(Stderr, Range{From: 0, To: 4}, nil, true, 10); len(text) != 0 || tr != nil {
		t.Errorf("no such stream: %q %+v", text, tr)
	}
}
