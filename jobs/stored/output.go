package stored

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/store"
)

// An Output is the file of a stream, open for reading by offset, or as text for a person: in order, with a marker line
// for each gap. File describes the state at the time of opening, and later output is not read. If a living server
// overwrites output before it is read, that output becomes a gap. The caller closes the Output.
type Output struct {
	File
	stored *spool.Stored
	opened []io.Closer
}

// Close closes the file.
func (o *Output) Close() (err error) {
	for _, c := range o.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Output opens the file of a stream. name is one of Files.
func (d *Directory) Output(j Job, name string) (*Output, error) {
	s, f, err := d.folder(j)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	o, err := d.open(f, j.Session, j.Handle, name)
	if err != nil {
		_ = f.Close() // It was only read.
	}
	return o, err
}

// open opens a file of folder f. If it succeeds, the Output closes f.
func (d *Directory) open(f *store.PastFolder, session string, id int64, name string) (*Output, error) {
	file, info, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	// The record is read after the file is opened: a server records the contents of the ordered file before it replaces
	// the file by it.
	record, err := d.record(f, name)
	var st *spool.Stored
	if err == nil {
		st, err = spool.ReadStored(file, info.Size(), Tag(session, id, name), record)
	}
	if err != nil {
		_ = file.Close() // It was only read.
		return nil, err
	}
	if !record.Final && !record.Unwritten {
		st.Watch(spool.Watch{
			Size: func() (int64, error) {
				now, err := file.Stat()
				if err != nil {
					return 0, err
				}
				return now.Size(), nil
			},
			Record: func() (spool.Record, error) { return d.recordNow(f, name) },
		})
	}
	return &Output{fileOf(st), st, []io.Closer{file, f}}, nil
}

// recordNow is like record, for a file that existed before: a missing info.json is an error.
func (d *Directory) recordNow(f *store.PastFolder, name string) (spool.Record, error) {
	stored, err := f.Read(InfoFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the job was removed while its output was read, and it is unknown which part still exists")
	}
	return recordOf(d.reader, stored, name), err
}

// Read copies output into b, beginning at the first stored offset at or after off. It returns the number of bytes and
// their offset. If at > off, [off, at) is a gap. If n == 0, nothing is stored after off. It never reads across a gap.
func (o *Output) Read(b []byte, off int64) (n int, at int64, err error) {
	n, at, err = o.stored.Read(b, off)
	return n, min(at, max(off, o.NextOffset)), err
}

// outputRead is the number of bytes read from an Output at a time.
const outputRead = 256 << 10

// All returns a reader of all output, with a marker line for each gap.
func (o *Output) All() io.Reader { return &outputText{out: o} }

// Last returns a reader of the last lines. A gap counts as one line, and so does a last line without a line feed.
func (o *Output) Last(lines int) (io.Reader, error) {
	// If the text begins with the marker line of a gap, the marker does not have to end a line before it.
	from := func(off int64) (io.Reader, error) { return &outputText{out: o, next: off, first: true}, nil }
	b := make([]byte, min(outputRead, o.NextOffset))
	for above := o.NextOffset; lines > 0; {
		r := o.before(above)
		if r.To < above { // A gap: its marker also ends the line before it.
			if above < o.NextOffset {
				if lines--; lines == 0 {
					return from(above)
				}
			}
			if lines--; lines == 0 {
				return from(r.To)
			}
		}
		if r.To == 0 {
			return o.All(), nil
		}
		at, left, err := o.lineBack(b, r, lines)
		if err != nil {
			return nil, err
		}
		if left == 0 {
			return &outputText{out: o, next: at, first: at < r.To}, nil
		}
		lines, above = left, at
	}
	return from(o.NextOffset)
}

// before returns the last range before off that is still kept, or an empty range.
func (o *Output) before(off int64) (last spool.Range) {
	for _, r := range o.stored.Now() {
		if r.From < off {
			last = spool.Range{From: r.From, To: min(r.To, off)}
		}
	}
	return last
}

// lineBack goes back by the given number of lines within a range, and returns the offset of the first of them. If the
// range has fewer lines, it returns the number that is left, and the beginning of the kept part.
func (o *Output) lineBack(b []byte, r spool.Range, lines int) (at int64, left int, err error) {
	for end := r.To; end > r.From; {
		from := max(end-int64(len(b)), r.From)
		part, err := o.readBack(b[:end-from], from)
		if err != nil {
			return 0, 0, err
		}
		for i := len(part); ; {
			if i = bytes.LastIndexByte(part[:i], '\n'); i < 0 {
				break
			}
			behind := end - int64(len(part)-i-1)
			if behind == o.NextOffset {
				continue // It ends the last line.
			}
			if lines--; lines == 0 {
				return behind, 0, nil
			}
		}
		if from = end - int64(len(part)); from > end-int64(len(b)) {
			return from, lines, nil // The rest is not kept, or no longer kept.
		}
		end = from
	}
	return r.From, lines, nil
}

// readBack fills b from an offset on. If there are gaps, it returns only the bytes after the last one.
func (o *Output) readBack(b []byte, from int64) ([]byte, error) {
	have := 0 // bytes of b that are filled, up to off
	to := from + int64(len(b))
	for off := from; off < to; {
		n, at, err := o.Read(b[have:], off)
		if err != nil {
			return nil, err
		}
		if at > off || n == 0 {
			if at >= to || n == 0 {
				return nil, nil
			}
			n = copy(b, b[have:have+int(min(int64(n), to-at))])
			have = 0
		}
		have, off = have+n, at+int64(n)
	}
	return b[:have], nil
}

// An outputText reads an Output from an offset on, with a marker line for each gap.
type outputText struct {
	out   *Output
	next  int64
	first bool // nothing was read yet: the marker line of a gap does not have to end a line before it
	buf   []byte
	rest  []byte // not yet returned
}

func (t *outputText) Read(p []byte) (n int, err error) {
	for len(t.rest) == 0 {
		if t.next >= t.out.NextOffset {
			return 0, io.EOF
		}
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	n = copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// fill reads the next bytes, up to a gap. If there is a gap before them, its marker line comes first.
func (t *outputText) fill() error {
	if t.buf == nil {
		t.buf = make([]byte, outputRead)
	}
	n, at, err := t.out.Read(t.buf, t.next)
	if err != nil {
		return fmt.Errorf("at offset %d: %w", t.next, err)
	}
	if n == 0 {
		at = t.out.NextOffset
	}
	t.rest = t.buf[:n]
	if at > t.next {
		line := spool.Marker(t.next, at)
		if t.first {
			line = line[1:]
		}
		t.rest = append([]byte(line), t.rest...)
	}
	t.next, t.first = at+int64(n), false
	return nil
}
