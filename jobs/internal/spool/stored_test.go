package spool

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const testTag = "session/1/stdout.txt"

var errDied = errors.New("the server is dead")

// stored reads a file to its end as another process with that record does.
func stored(t testing.TB, path string, record Record) (*Stored, []byte) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStored(f, info.Size(), testTag, record)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(io.NewSectionReader(s, 0, s.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return s, text
}

// After the death of a server at any time, even in the middle of a write, the file has all bytes before End that the
// limits keep, and another process finds them: every byte that it reads is correct.
func TestStoredAfterADeath(t *testing.T) {
	for seed := range uint64(90) {
		head, tail := int64(30<<10), int64(200<<10)
		if seed%3 == 0 { // less than the size of one write
			head, tail = 1+int64(seed), 3<<10
		}
		var s *subject
		var record Record
		s = newSubject(t, Options{Memory: 1 << 10, DiskHead: head, DiskTail: tail + int64(seed), Tag: testTag, Wraps: func() error {
			record.Kept, record.End = s.Placed()
			return nil
		}}, seed)
		writes, last := 0, 4+s.rnd.IntN(40)
		write := s.writeAt
		s.writeAt = func(p []byte, pos int64) (int, error) {
			if writes++; writes > last {
				return 0, errDied
			}
			if writes == last {
				if isMark := bytes.HasPrefix(p, []byte("\n[shelld: ")); isMark {
					return 0, errDied // a mark is written as a whole
				}
				n, _ := write(p[:s.rnd.IntN(len(p)+1)], pos)
				return n, errDied
			}
			return write(p, pos)
		}
		var told int64
		for s.failed == nil {
			told = s.End()
			s.append(t, 1+s.rnd.IntN(100<<10))
			if len(s.all) > 8<<20 {
				t.Fatal("it does not die")
			}
		}
		got, text := stored(t, s.path, record)
		if got.End() < told || got.End() > int64(len(s.all)) {
			t.Fatalf("seed %d: stored up to %d, told up to %d of %d", seed, got.End(), told, len(s.all))
		}
		if want := finished(s.all[:got.End()], got.Kept()); !bytes.Equal(text, want) {
			t.Fatalf("seed %d: %d bytes that are not the %d of %v", seed, len(text), len(want), got.Kept())
		}
		if k := got.Kept(); k[0].From != 0 || k[0].To < min(told, head) || Length(k) < min(told, head+tail-markStep) {
			t.Fatalf("seed %d: kept %v, told up to %d", seed, k, told)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A file equals the stream until Wraps has recorded that it will not. If that fails, it stays so, with all bytes stored
// so far, and new output is only in memory.
func TestRingIsNotWrittenDown(t *testing.T) {
	full := errors.New("no room")
	for _, first := range []int{10, 150, 1000} { // the last one exceeds the space
		var failed, tried int
		var s *subject
		s = newSubject(t, Options{Memory: 8, DiskHead: 100, DiskTail: 100, Tag: testTag, Failed: func(error) { failed++ }, Wraps: func() error {
			tried++
			if kept, end := s.Placed(); end != 200 || kept[0] != (Range{0, 100}) || Length(kept) == 200 {
				t.Errorf("after %d: placed are %v of %d", first, kept, end)
			}
			return full
		}}, 1)
		for n := first; len(s.all) < 5000; n = 50 {
			s.append(t, n)
		}
		if tried != 1 || failed != 1 || !errors.Is(s.failed, full) {
			t.Errorf("after %d: tried %d times, failed %d times: %v", first, tried, failed, s.failed)
		}
		s.verify(t)
		s.checkFile(t, s.all[:200])
	}
}

// A mark counts if a ring with that head was recorded, and a final record of a ring takes precedence.
func TestStoredMark(t *testing.T) {
	const room = 300 << 10
	text := append(bytes.Repeat([]byte("x"), room), appendMark(nil, testTag, 100, 400<<10, room)...)
	whole := Record{Kept: []Range{{0, int64(len(text))}}, End: int64(len(text))}
	const end, ring = 400 << 10, room - 100
	byMark := Record{Kept: []Range{{0, 100}, {end - ring + markStep, end}}, End: end}
	all := Record{Kept: []Range{{0, 100}, {end - ring, end}}, End: end}
	for name, c := range map[string]struct{ record, want Record }{
		"nothing":                {Record{}, whole},
		"no longer known":        {Record{Unwritten: true}, whole},
		"what has grown since":   {Record{Kept: []Range{{0, 5}}, End: 5}, whole},
		"all that there is":      {whole, whole},
		"another head":           {Record{Kept: []Range{{0, 101}, {200, 300}}, End: 300}, whole},
		"no head":                {Record{Kept: []Range{{200, 300}}, End: 300}, whole},
		"spoiled":                {Record{Kept: []Range{{0, 100}, {300, 200}}, End: 300}, whole},
		"a ring that goes on":    {Record{Kept: []Range{{0, 100}, {200, 300 << 10}}, End: 300 << 10}, byMark},
		"about to be in order":   {Record{Kept: []Range{{0, end}}, End: end}, byMark},
		"was longer":             {Record{Kept: []Range{{0, end}}, End: end, Final: true}, whole},
		"final":                  {Record{Kept: all.Kept, End: end, Final: true}, all},
		"final by the mark":      {Record{Kept: byMark.Kept, End: end, Final: true}, byMark},
		"final, and lost behind": {Record{Kept: all.Kept, End: 2 * end, Final: true}, all},
		"final behind the mark": {
			Record{Kept: []Range{{0, 100}, {end - ring + 500, end + 400}}, End: end + 400, Final: true},
			Record{Kept: []Range{{0, 100}, {end - ring + 500, end + 400}}, End: end + 400},
		},
		"more than it holds": {Record{Kept: []Range{{0, 100}, {end - ring - 1, end}}, End: end, Final: true}, byMark},
		"long before":        {Record{Kept: []Range{{0, 100}, {end - ring, end - 1}}, End: end, Final: true}, byMark},
		"the head alone":     {Record{Kept: []Range{{0, 100}}, End: end, Final: true}, Record{Kept: []Range{{0, 100}}, End: end}},
	} {
		s, err := ReadStored(bytes.NewReader(text), int64(len(text)), testTag, c.record)
		if err != nil || !slices.Equal(s.Kept(), c.want.Kept) || s.End() != c.want.End || s.Ordered() != (s.End() == whole.End) {
			t.Errorf("%s: kept %v, end %d, not %v; %v", name, s.Kept(), s.End(), c.want, err)
			continue
		}
		if want := finished(append(slices.Clone(text), make([]byte, 2*end)...)[:s.End()], s.Kept()); s.Size() != int64(len(want)) {
			t.Errorf("%s: it has %d bytes, not %d", name, s.Size(), len(want))
		}
	}
}

// A finished file reads as it is, with its ranges, which were recorded before.
func TestStoredAfterFinish(t *testing.T) {
	for _, size := range []int{0, 10, 230 << 10, 1 << 20} {
		var record Record
		var recorded []byte // the file at the time of the record
		o := Options{Memory: 1 << 10, DiskHead: 30 << 10, DiskTail: 200 << 10, Tag: testTag}
		var s *subject
		o.Record = func(kept []Range) (err error) {
			record = Record{Kept: slices.Clone(kept), End: s.End()}
			recorded, err = os.ReadFile(s.path)
			return err
		}
		s = newSubject(t, o, 1)
		for n := 0; n < size; n += size/10 + 1 {
			s.append(t, min(size/10+1, size-n))
		}
		kept := s.Stored()
		before, err := os.ReadFile(s.path)
		if err = errors.Join(err, s.Finish()); err != nil {
			t.Fatal(err)
		}
		if (len(kept) > 1) != (recorded != nil) || recorded != nil && !bytes.Equal(recorded, before) {
			t.Errorf("%d bytes: written down: %v, of a file of %d bytes, not %d", size, record, len(recorded), len(before))
		}
		got, text := stored(t, s.path, record)
		if !slices.Equal(got.Kept(), kept) || got.End() != int64(size) || !got.Ordered() {
			t.Errorf("%d bytes: kept %v, not %v; end %d", size, got.Kept(), kept, got.End())
		}
		s.checkFile(t, text)
	}
}

// A file stays as it is if its ranges cannot be recorded.
func TestFinishIsNotRecorded(t *testing.T) {
	full := errors.New("no room")
	s := newSubject(t, Options{Memory: 8, DiskHead: 100, DiskTail: 100, Tag: testTag, Record: func([]Range) error { return full }}, 1)
	s.append(t, 1000)
	kept := s.Kept()
	before, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); !errors.Is(err, full) {
		t.Errorf("finished: %v", err)
	}
	s.checkFile(t, before)
	s.verify(t)
	if !slices.Equal(s.Kept(), kept) {
		t.Errorf("kept %v, not %v", s.Kept(), kept)
	}
	if left, err := os.ReadDir(filepath.Dir(s.path)); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// A marker line counts at the positions that the record confirms, and nowhere else.
func TestStoredRecord(t *testing.T) {
	const one = "abc\n[shelld: 6 bytes omitted here, offsets 3 to 9]\nx"
	const two = one + "\n[shelld: 90 bytes omitted here, offsets 10 to 100]\n"
	whole := func(text string) Record { return Record{Kept: []Range{{0, int64(len(text))}}, End: int64(len(text))} }
	for _, c := range []struct {
		text   string
		record Record
		want   Record
	}{
		{one, Record{}, whole(one)}, // no record, as for printed lines
		{one, Record{Kept: []Range{{0, 3}}, End: 3}, whole(one)},
		{one, whole(one), whole(one)},
		{one, Record{Kept: []Range{{0, 3}, {9, 10}}, End: 10}, Record{Kept: []Range{{0, 3}, {9, 10}}, End: 10}},
		{one, Record{Kept: []Range{{0, 3}, {9, 11}}, End: 11}, whole(one)},
		{one, Record{Kept: []Range{{0, 4}, {9, 10}}, End: 10}, whole(one)},
		{strings.Replace(one, "6", "7", 1), Record{Kept: []Range{{0, 3}, {9, 10}}, End: 10}, whole(one)},
		{one, Record{Kept: []Range{{0, 3}, {9, 10}}, End: 50}, Record{Kept: []Range{{0, 3}, {9, 10}}, End: 10}}, // bytes lost after the kept ones were only in memory
		{two, Record{Kept: []Range{{0, 3}, {9, 10}}, End: 100}, Record{Kept: []Range{{0, 3}, {9, 10}}, End: 100}},
		{two, Record{Kept: []Range{{0, 54}}, End: 144}, whole(two)},
		{"abc", Record{Kept: []Range{{0, 3}}, End: 9}, whole("abc")},
		{"\n[shelld: 9 bytes omitted here, offsets 0 to 9]\n", Record{End: 9}, Record{End: 9}},
		{"abc", Record{Kept: []Range{{2, 1}, {0, 4}}, End: 3}, whole("abc")}, // invalid
		{"abc", Record{Kept: []Range{{0, 2}, {1, 2}}, End: 2}, whole("abc")},
		{"abc", Record{Kept: []Range{{-3, 0}}, End: 0}, whole("abc")},
		{"abc", Record{Kept: []Range{{0, math.MaxInt64}}, End: math.MaxInt64}, whole("abc")},
		{"abc", Record{Kept: []Range{{0, 4}}, End: 3}, whole("abc")},
		{"", Record{}, Record{}},
	} {
		s, err := ReadStored(strings.NewReader(c.text), int64(len(c.text)), testTag, c.record)
		if err != nil || !slices.Equal(s.Kept(), c.want.Kept) || s.End() != c.want.End || !s.Ordered() || s.Size() != int64(len(c.text)) {
			t.Errorf("%q with %v: kept %v, end %d, not %v; %v", c.text, c.record, s.Kept(), s.End(), c.want, err)
		}
	}
}

// Without a record, output that looks like a marker line is output, except at the positions of markers.
func TestStoredLookalikes(t *testing.T) {
	mark := string(appendMark(nil, testTag, 1, 100, 3))
	other := string(appendMark(nil, "session/2/stdout.txt", 1, 100, 3))
	for text, want := range map[string][]Range{
		"abc" + other:          {{0, int64(3 + len(other))}},
		"abcd" + mark:          {{0, int64(4 + len(mark))}},
		"abc" + mark + "x":     {{0, int64(4 + len(mark))}},
		"ab" + mark[:40]:       {{0, 42}},
		strings.Repeat("x", 9): {{0, 9}},
		"abc\n[shelld: 5 bytes omitted here, offsets 4 to 9]\nx":                                                         {{0, 52}},
		"abc\n[shelld: 4 bytes omitted here, offsets 3 to 9]\nx":                                                         {{0, 52}},
		"abc\n[shelld: 6 bytes omitted here, offsets 3 to 9]\nx":                                                         {{0, 3}, {9, 10}},
		"abc\n[shelld: 6 bytes omitted here, offsets 3 to 9]\nx\n[shelld: 90 bytes omitted here, offsets 10 to 100]\nyz": {{0, 3}, {9, 10}, {100, 102}},
		"\n[shelld: 9 bytes omitted here, offsets 0 to 9]\nx":                                                            {{9, 10}},
		"\n[shelld: 9223372036854775800 bytes omitted here, offsets 0 to 9223372036854775800]\nmuch":                     {{0, 88}},
		string(make([]byte, 4096)) + string(appendMark(nil, testTag, 1, math.MaxInt64, 4096)):                            {{0, 4096 + int64(len(mark))}},
		"abc\n[shelld: 99999999999999999999 bytes omitted here, offsets 3 to 9]\nx":                                      {{0, 71}},
	} {
		s, err := ReadStored(strings.NewReader(text), int64(len(text)), testTag, Record{Unwritten: true})
		if err != nil || !slices.Equal(s.Kept(), want) || !s.Ordered() {
			t.Errorf("%q: kept %v, not %v; %v", text, s.Kept(), want, err)
		}
	}
}

// A marker is found regardless of the edges of the read buffer.
func TestStoredMarkerAtAnEdge(t *testing.T) {
	const buf = 256 << 10
	for at := buf - 130; at < buf+10; at++ {
		all := bytes.Repeat([]byte("\n"), at)
		text := finished(append(all, bytes.Repeat([]byte("x"), 300)...), []Range{{0, int64(at)}, {int64(at) + 200, int64(at) + 300}})
		s, err := ReadStored(bytes.NewReader(text), int64(len(text)), testTag, Record{Unwritten: true})
		if err != nil || len(s.Kept()) != 2 || s.Kept()[0].To != int64(at) || s.End() != int64(at)+300 {
			t.Fatalf("at %d: kept %v, %v", at, s.Kept(), err)
		}
	}
}
