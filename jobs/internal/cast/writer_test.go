package cast

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A disk is a file with limited space.
type disk struct {
	bytes.Buffer
	room  int  // < 0: unlimited
	rigid bool // it cannot truncate
}

var errFull = errors.New("no space left")

func (d *disk) Write(p []byte) (int, error) {
	if d.room < 0 || d.Len()+len(p) <= d.room {
		return d.Buffer.Write(p)
	}
	n, _ := d.Buffer.Write(p[:d.room-d.Len()])
	return n, errFull
}

func (d *disk) Truncate(size int64) error {
	if d.rigid {
		return errFull
	}
	d.Buffer.Truncate(int(size))
	return nil
}

// A room counts the bytes that are taken.
type room struct{ used, max int64 }

func (r *room) Take(n int64) bool {
	if r.used+n > r.max {
		return false
	}
	r.used += n
	return true
}

func (r *room) Owe(n int64) { r.used += n }

// lines checks that a recording is valid, and returns its events.
func lines(t *testing.T, text string) (events []string) {
	t.Helper()
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] != "" {
		t.Fatalf("the last line is not whole: %q", all[len(all)-1])
	}
	var h map[string]any
	if err := json.Unmarshal([]byte(all[0]), &h); err != nil || h["version"] != 3.0 {
		t.Fatalf("%s: %v", all[0], err)
	}
	for _, line := range all[1 : len(all)-1] {
		var e []any
		if err := json.Unmarshal([]byte(line), &e); err != nil || len(e) != 3 || e[0].(float64) < 0 {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, strings.TrimSuffix(line, "\n"))
	}
	return events
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func TestEvents(t *testing.T) {
	d, r := &disk{room: -1}, &room{max: 1 << 20}
	w := NewWriter(Options{File: d, Max: 1 << 20, Room: r}, Header{Cols: 80, Rows: 24})
	w.Event(1500*time.Microsecond+900, Output, "a\n")
	w.Event(2*time.Second+1*time.Microsecond, Input, "b")
	w.Event(time.Second, Resize, "100x30") // earlier than the event before it
	w.Exit(90*time.Minute, "0")
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
	equal(t, lines(t, d.String()), `[0.001500,"o","a\n"]`, `[1.998501,"i","b"]`, `[0.000000,"r","100x30"]`, `[5397.999999,"x","0"]`)
	if int64(d.Len()) != w.Size() || r.used != w.Size() {
		t.Errorf("the file has %d bytes, is said to have %d, and took %d", d.Len(), w.Size(), r.used)
	}
}

// TestLimits checks that lines beyond the limits are dropped, and a marker says so.
func TestLimits(t *testing.T) {
	const text = "0123456789"
	for name, c := range map[string]struct {
		max  int64
		room *room
		why  string
	}{
		"size":  {1000, &room{max: 1 << 20}, "the size (1000 bytes)"},
		"total": {1 << 20, &room{max: 700}, "the total"},
	} {
		d := &disk{room: -1}
		w := NewWriter(Options{File: d, Max: c.max, Room: c.room, MaxName: "the size", RoomName: "the total"}, Header{Cols: 80, Rows: 24})
		n := 0
		for i := range 1000 {
			b := w.Begin(time.Duration(i)*time.Second, Output)
			if b == nil {
				break
			}
			n = i
			w.End(AppendText(b, text))
			if i%7 == 0 {
				_ = w.Flush()
			}
		}
		if !w.Over() || w.Begin(0, Input) != nil {
			t.Errorf("%s: it goes on", name)
		}
		w.Event(time.Hour, Input, "no more")
		w.Exit(2*time.Hour, "1")
		if err := w.Flush(); err != nil {
			t.Error(err)
		}
		events := lines(t, d.String())
		if len(events) != n+2 || n < 10 {
			t.Errorf("%s: %d events of %d", name, len(events), n)
		}
		equal(t, events[n:], `[1.000000,"m","shelld: the recording ends here: it reached `+c.why+`; the job continued"]`,
			fmt.Sprintf(`[%d.000000,"x","1"]`, 7200-n))
		if w.Size() != int64(d.Len()) || name == "size" && w.Size() > c.max || c.room.used != w.Size() {
			t.Errorf("%s: %d bytes, %d taken", name, w.Size(), c.room.used)
		}
	}
}

// TestFullDisk checks that the file keeps the lines before a partly written one.
func TestFullDisk(t *testing.T) {
	for free := range 400 {
		d, r := &disk{room: free}, &room{max: 1 << 20}
		w := NewWriter(Options{File: d, Max: 1 << 20, Room: r}, Header{Cols: 80, Rows: 24})
		for range 10 {
			w.Event(0, Output, "text")
		}
		early := w.Flush()
		w.Event(0, Output, "more")
		w.Exit(0, "0")
		failed := w.Flush()
		if early != nil && failed != early || failed != nil && !errors.Is(failed, errFull) {
			t.Errorf("with %d bytes: %v, and then %v", free, early, failed)
		}
		if d.Len() > 0 {
			lines(t, d.String())
		}
		if int64(d.Len()) != w.Size() || r.used != w.Size() || w.Over() != (failed != nil) {
			t.Errorf("with %d bytes: the file has %d, is said to have %d, and took %d", free, d.Len(), w.Size(), r.used)
		}
	}
}

// TestMend checks that a partly written line is removed later if that fails at first.
func TestMend(t *testing.T) {
	d := &disk{room: 100, rigid: true}
	w := NewWriter(Options{File: d, Max: 1 << 20}, Header{Cols: 80, Rows: 24})
	for range 10 {
		w.Event(0, Output, "text")
	}
	if err := w.Flush(); !errors.Is(err, errFull) || d.Len() != 100 {
		t.Errorf("%v, %d bytes", err, d.Len())
	}
	d.rigid = false
	w.Mend()
	lines(t, d.String())
	if int64(d.Len()) != w.Size() || d.Len() < 60 {
		t.Errorf("the file has %d bytes, and is said to have %d", d.Len(), w.Size())
	}
}

// TestWhole cuts a recording at many lengths, and checks the length of its whole lines.
func TestWhole(t *testing.T) {
	d := &disk{room: -1}
	w := NewWriter(Options{File: d, Max: 1 << 20}, Header{Cols: 80, Rows: 24})
	for i := range 5 {
		w.Event(0, Output, strings.Repeat("x", i*50_000))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= d.Len(); n += 1 + n%97 {
		p := d.Bytes()[:n]
		if whole, err := Whole(bytes.NewReader(p), int64(n)); err != nil || whole != int64(bytes.LastIndexByte(p, '\n')+1) {
			t.Errorf("of %d bytes %d are whole, %v", n, whole, err)
		}
	}
	if _, err := Whole(strings.NewReader("short"), 10); err == nil {
		t.Error("a file that is shorter than it was is no error")
	}
}

func BenchmarkText(b *testing.B) {
	for name, line := range map[string]string{
		"plain":    "the quick brown fox jumps over the lazy dog, and on it goes\r\n",
		"coloured": "\033[32mok\033[0m \033[1;34mINFO\033[0m the quick brown \033[38;5;196mfox\033[0m\r\n",
		"wide":     "日本語のテキストと한국어 텍스트\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			p := bytes.Repeat([]byte(line), 1000)
			var t Text
			var to []byte
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				to = t.Append(to[:0], p)
			}
		})
	}
}
