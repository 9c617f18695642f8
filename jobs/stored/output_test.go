package stored

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/searchtest"
	"shelld.dev/shelld/jobs/internal/spool"
)

// A runningOutput is the file of a server that writes to it in the middle of each read.
type runningOutput struct {
	*os.File
	t       *testing.T
	rnd     *rand.Rand
	sp      *spool.Spool
	all     []byte
	lines   int
	most    int // it writes no further
	speed   int // about how much it writes each time
	running bool
}

func (r *runningOutput) ReadAt(p []byte, pos int64) (int, error) {
	half := len(p) / 2
	n, err := r.File.ReadAt(p[:half], pos)
	if r.running && r.rnd.IntN(3) > 0 {
		r.write(r.rnd.IntN(r.speed))
	}
	if err != nil {
		return n, err
	}
	m, err := r.File.ReadAt(p[half:], pos+int64(half))
	return half + m, err
}

// write appends numbered lines, some of them long.
func (r *runningOutput) write(n int) {
	for to := len(r.all) + n; len(r.all) < min(to, r.most); {
		from := len(r.all)
		r.lines++
		r.all = fmt.Appendf(r.all, "%d%s\n", r.lines, strings.Repeat(" x", r.rnd.IntN(40)*r.rnd.IntN(40)))
		r.sp.Append(r.all[from:])
	}
}

// newRunningOutput returns one with so much output when it was opened, as a reader in another process finds it.
func newRunningOutput(t *testing.T, seed uint64, written int) (*runningOutput, *Output) {
	t.Helper()
	const tag, head, tail = "session/1/stdout.txt", 50_000, 1_500_000
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	r := &runningOutput{File: file, t: t, rnd: rand.New(rand.NewPCG(seed, 1)), most: written, speed: 1 + int(seed%7)*50_000}
	var record spool.Record
	r.sp = spool.Open(spool.Options{Memory: 1 << 10, File: file, DiskHead: head, DiskTail: tail, Tag: tag, Wraps: func() error {
		record.Kept, record.End = r.sp.Placed()
		return nil
	}})
	r.write(written)
	size := func() (int64, error) {
		info, err := file.Stat()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	was, err := size()
	if err != nil {
		t.Fatal(err)
	}
	st, err := spool.ReadStored(r, was, tag, record)
	if err != nil {
		t.Fatal(err)
	}
	st.Watch(spool.Watch{Size: size, Record: func() (spool.Record, error) { return record, nil }})
	r.most, r.running = written+6_000_000, true
	return r, &Output{File: fileOf(st), stored: st}
}

// overwrittenSeeds returns the number of outputs that are overwritten while they are read, at least one of each kind.
func overwrittenSeeds() uint64 {
	switch {
	case *long:
		return 24
	case testing.Short():
		return 6
	}
	return 12
}

// What a living server overwrites during a search is reported as a gap: each line has the right offset, and lines and gaps
// together are the whole output.
func TestSearchOfOverwrittenOutput(t *testing.T) {
	lost := 0
	for seed := range overwrittenSeeds() {
		r, o := newRunningOutput(t, seed, []int{700_000, 1_500_000, 4_000_000}[seed%3])
		query := searchtest.Query{Pattern: ".+", Lines: true}.Compile(t)
		next := int64(0)
		tell := func(l Line) error {
			if l.At != next || l.Cut || l.Limited || !bytes.HasPrefix(r.all[l.At:], []byte(l.Text)) {
				t.Fatalf("seed %d: behind %d comes line %d at %d, with %.50q in place of %.50q; what was left out is %q", seed, next, l.Number, l.At, l.Text, r.all[l.At:], r.all[next:l.At])
			}
			if l.Number != 0 && !strings.HasPrefix(l.Text, fmt.Sprint(l.Number)) {
				t.Fatalf("seed %d: line %d is %.50q", seed, l.Number, l.Text)
			}
			if next = l.At + int64(len(l.Text)); r.all[next] == '\n' {
				next++
			}
			return nil
		}
		gap := func(g spool.Range) {
			if g.From != next || g.To <= g.From || g.To > o.NextOffset {
				t.Fatalf("seed %d: behind %d comes a gap of %v", seed, next, g)
			}
			next = g.To
			lost++
		}
		if err := o.Search(t.Context(), query, tell, gap); err != nil {
			t.Fatal(err)
		}
		if next != o.NextOffset {
			t.Errorf("seed %d: it ends at %d, not %d", seed, next, o.NextOffset)
		}
	}
	if lost < int(overwrittenSeeds())/2 {
		t.Errorf("there were %d gaps alone", lost)
	}
}

var omitted = regexp.MustCompile(`^\n\[shelld: (\d+) bytes omitted here, offsets (\d+) to (\d+)\]\n`)

// The same holds for the text that All returns.
func TestTextOfOverwrittenOutput(t *testing.T) {
	lost := 0
	for seed := range overwrittenSeeds() {
		r, o := newRunningOutput(t, seed, []int{700_000, 1_500_000, 4_000_000}[seed%3])
		text, err := io.ReadAll(o.All())
		if err != nil {
			t.Fatal(err)
		}
		lost += checkText(t, r, string(text), 0, o.NextOffset)
	}
	if lost < int(overwrittenSeeds())/2 {
		t.Errorf("there were %d gaps alone", lost)
	}
}

// checkText checks that text is the output from an offset to another one, with a line for each gap. It returns the number
// of gaps.
func checkText(t *testing.T, r *runningOutput, text string, at, end int64) (gaps int) {
	t.Helper()
	for rest := text; rest != ""; {
		n := strings.Index(rest, "\n[shelld: ")
		if n < 0 {
			n = len(rest)
		}
		if at+int64(n) > int64(len(r.all)) || rest[:n] != string(r.all[at:at+int64(n)]) {
			t.Fatalf("what is shown of %d to %d is wrong", at, at+int64(n))
		}
		if rest, at = rest[n:], at+int64(n); rest == "" {
			break
		}
		m := omitted.FindStringSubmatch(rest)
		if m == nil || m[2] != fmt.Sprint(at) {
			t.Fatalf("at %d there is %.100q", at, rest)
		}
		gaps++
		at, _ = strconv.ParseInt(m[3], 10, 64)
		rest = rest[len(m[0]):]
	}
	if at != end {
		t.Fatalf("it ends at %d, not %d", at, end)
	}
	return gaps
}

// The last lines of growing output are the last ones at the time of the call, or what is still kept of them behind a line
// for the gap.
func TestLastLinesOfOverwrittenOutput(t *testing.T) {
	for seed := range overwrittenSeeds() {
		r, o := newRunningOutput(t, seed, []int{700_000, 1_500_000, 4_000_000}[seed%3])
		lines := 1 + r.rnd.IntN(5000)
		from := r.all[:o.NextOffset]
		for range lines {
			from = bytes.TrimSuffix(from, lineFeed)
			from = from[:bytes.LastIndexByte(from, '\n')+1]
		}
		last, err := o.Last(lines)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(last)
		if err != nil {
			t.Fatal(err)
		}
		text, at := string(b), int64(len(from))
		if m := omitted.FindStringSubmatch("\n" + text); m != nil { // in the place of the first of them, or of more
			to, _ := strconv.ParseInt(m[3], 10, 64)
			text, at = text[len(m[0])-1:], to
		} else if i := strings.Index(text, "\n[shelld: "); i >= 0 {
			at = int64(bytes.Index(r.all, []byte(text[:i]))) // not so many lines are there, and the head is
		}
		checkText(t, r, text, at, o.NextOffset)
		if n := strings.Count(text, "\n"); n > lines {
			t.Errorf("seed %d: of %d lines there are %d", seed, lines, n)
		}
	}
}

// The last lines are those of the whole text, with our lines.
func TestLastLines(t *testing.T) {
	for _, text := range []string{
		"", "one", "one\n", "\n", "\n\n", "one\n\nthree", strings.Repeat("a line\n", 100_000) + "end",
		"one\ntwo" + spool.Marker(7, 100) + "three\nfour\n", "one\n" + spool.Marker(4, 100) + "\n\nfour",
		spool.Marker(0, 9) + "three\n", "one" + spool.Marker(3, 70) + "x" + spool.Marker(71, 80) + "five",
	} {
		o := storedOutput(t, []byte(text))
		lines := strings.SplitAfter(text, "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
		for n := range min(len(lines), 12) + 2 {
			r, err := o.Last(n)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if want := strings.Join(lines[max(len(lines)-n, 0):], ""); err != nil || string(got) != want {
				t.Errorf("the last %d of %.60q are %.60q, not %.60q, %v", n, text, got, want, err)
			}
		}
		if all, err := io.ReadAll(o.All()); err != nil || string(all) != text {
			t.Errorf("all of %.60q is %.60q, %v", text, all, err)
		}
	}
}
