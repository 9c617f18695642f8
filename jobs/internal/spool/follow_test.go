package spool

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// A movingFile is a file to which the server writes in the middle of each read.
type movingFile struct {
	*os.File
	move func()
}

func (f movingFile) ReadAt(p []byte, pos int64) (n int, err error) {
	half := len(p) / 2
	if n, err = f.File.ReadAt(p[:half], pos); err != nil {
		return n, err
	}
	f.move()
	m, err := f.File.ReadAt(p[half:], pos+int64(half))
	return half + m, err
}

// Bytes that a living server overwrites during a read are reported as a gap, and no others. No byte is returned in
// place of another one, whether the file was a ring before or has become one since.
func TestReadOfWhatIsOverwritten(t *testing.T) {
	wentOn := 0
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var record Record
		var s *subject
		s = newSubject(t, Options{Memory: 1 << 10, DiskHead: 30 << 10, DiskTail: 400 << 10, Tag: testTag, Wraps: func() error {
			record.Kept, record.End = s.Placed()
			return nil
		}}, seed)
		s.append(t, []int{100 << 10, 420 << 10, 1 << 20}[seed%3]+rnd.IntN(9<<10))
		f, err := os.Open(s.path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		size := func() (int64, error) {
			info, err := f.Stat()
			return info.Size(), err
		}
		was, err := size()
		if err != nil {
			t.Fatal(err)
		}
		st, err := ReadStored(f, was, testTag, record)
		if err != nil {
			t.Fatal(err)
		}
		st.Watch(Watch{Size: size, Record: func() (Record, error) { return record, nil }})
		began := len(s.all)
		speed := 1 + rnd.IntN(64<<10)
		st.file = movingFile{f, func() {
			if len(s.all) < began+3<<20 && rnd.IntN(3) > 0 { // the mark is read repeatedly until it is stable
				s.append(t, 1+rnd.IntN(speed))
			}
		}}
		p := make([]byte, 1000+rnd.IntN(100<<10))
		var got []Range
		for off := int64(0); ; {
			n, at, err := st.Read(p, off)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				if at != st.End() {
					t.Fatalf("seed %d: the end is at %d, not %d", seed, at, st.End())
				}
				break
			}
			if !bytes.Equal(p[:n], s.all[at:at+int64(n)]) {
				t.Fatalf("seed %d: what is read at %d is not what was written", seed, at)
			}
			if at > off && (off < 30<<10 || at > int64(len(s.all))+markStep-400<<10) {
				t.Fatalf("seed %d: %d to %d is told as a gap, and was not overwritten", seed, off, at)
			}
			got = append(got, Range{at, at + int64(n)})
			off = at + int64(n)
		}
		if wentOn += len(s.all) - began; len(got) == 0 {
			t.Fatalf("seed %d: nothing is read", seed)
		}
		if all := merge(got); all[0].From != 0 || all[0].To < min(30<<10, st.End()) {
			t.Errorf("seed %d: of the head there is %v", seed, all)
		}
	}
	if wentOn < 4<<20 {
		t.Errorf("the servers have written no more than %d bytes meanwhile", wentOn)
	}
}

// A line that looks like the mark of a ring, at the end of a growing file, withdraws nothing: a job can print it.
func TestReadBesideAPrintedMark(t *testing.T) {
	s := newSubject(t, Options{Memory: 1 << 10, DiskHead: 30 << 10, DiskTail: 400 << 10, Tag: testTag}, 1)
	s.append(t, 4096)
	f, err := os.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := ReadStored(f, 4096, testTag, Record{})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	st.Watch(Watch{
		Size:   func() (int64, error) { return int64(len(s.all)), nil },
		Record: func() (Record, error) { asked++; return Record{Kept: []Range{{0, 10}}, End: 10}, nil },
	})
	mark := appendMark(nil, testTag, 10, 1<<30, 4096)
	s.all = append(s.all, mark...)
	s.Append(mark)
	p := make([]byte, 8192)
	if n, at, err := st.Read(p, 0); n != 4096 || at != 0 || err != nil || !bytes.Equal(p[:n], s.all[:n]) || asked == 0 {
		t.Errorf("%d at %d, %v; asked %d times", n, at, err, asked)
	}
}

// Truncation of the file is reported, and so is the loss of a ring's mark.
func TestReadOfWhatWasCut(t *testing.T) {
	var record Record
	var s *subject
	s = newSubject(t, Options{Memory: 1 << 10, DiskHead: 100, DiskTail: 200 << 10, Tag: testTag, Wraps: func() error {
		record.Kept, record.End = s.Placed()
		return nil
	}}, 1)
	s.append(t, 1<<20)
	st, _ := stored(t, s.path, record)
	f := st.file.(*os.File)
	size := func() (int64, error) {
		info, err := f.Stat()
		return info.Size(), err
	}
	st.Watch(Watch{Size: size, Record: func() (Record, error) { return record, nil }})
	p := make([]byte, 1000)
	if n, at, err := st.Read(p, 0); n != 100 || at != 0 || err != nil {
		t.Errorf("the head: %d at %d, %v", n, at, err)
	}
	was, err := size()
	if err == nil {
		err = os.Truncate(s.path, was-1)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := st.Read(p, 0); err == nil {
		t.Error("a ring without its mark is read")
	}
	if err := os.Truncate(s.path, 50); err != nil {
		t.Fatal(err)
	}
	if _, _, err := st.Read(p, 0); err != io.ErrUnexpectedEOF {
		t.Errorf("cut: %v", err)
	}
}

// Read finds exactly the ranges of Kept, in all kinds of files.
func TestReadByOffset(t *testing.T) {
	for seed := range uint64(20) {
		var record Record
		var s *subject
		s = newSubject(t, Options{Memory: 1 << 10, DiskHead: 30 << 10, DiskTail: 200 << 10, Tag: testTag, Wraps: func() error {
			record.Kept, record.End = s.Placed()
			return nil
		}, Record: func(kept []Range) error {
			record = Record{Kept: slices.Clone(kept), End: s.End(), Final: true}
			return nil
		}}, seed)
		s.append(t, 1+s.rnd.IntN(600<<10))
		for _, when := range []string{"while it grows", "at its end"} {
			st, _ := stored(t, s.path, record)
			p := make([]byte, 1+s.rnd.IntN(300<<10))
			var got []Range
			for off := int64(0); ; {
				n, at, err := st.Read(p, off)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
				if !bytes.Equal(p[:n], s.all[at:at+int64(n)]) {
					t.Fatalf("seed %d, %s: what is read at %d is not what was written", seed, when, at)
				}
				got = append(got, Range{at, at + int64(n)})
				off = at + int64(n)
			}
			if kept := merge(slices.Clone(st.Kept())); !slices.Equal(merge(got), kept) {
				t.Errorf("seed %d, %s: read are %v of %v", seed, when, merge(got), kept)
			}
			if err := s.Finish(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
