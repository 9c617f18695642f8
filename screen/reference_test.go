package screen

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// A reference is another project's emulator. Run on the corpora it shows that these are read correctly; compared with
// ours, it shows whether both agree.
type reference struct {
	vt      *vt.Emulator
	title   string
	mu      sync.Mutex // guards replies
	replies bytes.Buffer
}

func newReference(cols, rows, history int) emulator {
	r := &reference{vt: vt.NewEmulator(cols, rows)}
	r.vt.SetScrollbackSize(history)
	r.vt.SetCallbacks(vt.Callbacks{Title: func(s string) { r.title = s }})
	go r.drain()
	return r
}

// drain reads the emulator's answers; otherwise it would block on them.
func (r *reference) drain() {
	p := make([]byte, 4096)
	for {
		n, err := r.vt.Read(p)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.replies.Write(p[:n])
		r.mu.Unlock()
	}
}

func (r *reference) Write(p []byte) { _, _ = r.vt.Write(p) } // It takes all.

func (r *reference) Resize(cols, rows int) { r.vt.Resize(cols, rows) }

// Replies waits for the reader first: once the reader has taken the mark, it has kept the answers before it.
func (r *reference) Replies() []byte {
	const mark = "\x00"
	_, _ = io.WriteString(r.vt.InputPipe(), mark) // It fails only once closed.
	_, _ = io.WriteString(r.vt.InputPipe(), mark)
	r.mu.Lock()
	defer r.mu.Unlock()
	got := bytes.ReplaceAll(r.replies.Bytes(), []byte(mark), nil)
	r.replies.Reset()
	return got
}

func (r *reference) look() *view {
	at := r.vt.CursorPosition()
	inner := reflect.ValueOf(r.vt).Elem() // for state without an accessor
	v := &view{
		cols: r.vt.Width(), rows: r.vt.Height(), row: at.Y, col: at.X, title: r.title,
		pending: inner.FieldByName("atPhantom").Bool(),
		visible: !inner.FieldByName("scr").Elem().FieldByName("cur").FieldByName("Hidden").Bool(),
	}
	for row := range v.rows {
		v.cells = append(v.cells, referenceLine(v.cols, func(col int) *uv.Cell { return r.vt.CellAt(col, row) }))
	}
	for _, line := range r.vt.Scrollback().Lines() {
		v.history = append(v.history, strings.TrimRight(line.String(), " "))
	}
	return v
}

func referenceLine(cols int, at func(col int) *uv.Cell) []viewCell {
	cells := make([]viewCell, cols)
	for col := 0; col < cols; col++ {
		c := at(col)
		if c == nil {
			c = &uv.EmptyCell
		}
		cells[col] = viewCell{text: c.Content, width: max(c.Width, 1), style: referenceStyle(&c.Style)}
		if c.Width == 2 && col+1 < cols {
			col++
			cells[col] = viewCell{style: cells[col-1].style}
		}
	}
	return cells
}

func referenceStyle(s *uv.Style) viewStyle {
	has := func(a uint8) bool { return s.Attrs&a != 0 }
	return viewStyle{
		Fg: referenceColor(s.Fg), Bg: referenceColor(s.Bg),
		Bold: has(uv.AttrBold), Dim: has(uv.AttrFaint), Italic: has(uv.AttrItalic),
		Inverse: has(uv.AttrReverse), Strike: has(uv.AttrStrikethrough), Underline: s.Underline != uv.UnderlineNone,
	}
}

func referenceColor(c color.Color) string {
	switch c := c.(type) {
	case nil:
		return ""
	case ansi.BasicColor:
		return fmt.Sprint(uint8(c))
	case ansi.IndexedColor:
		return fmt.Sprint(uint8(c))
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// TestReferenceCorpus counts the cases that the reference passes: the reference does not change, so a different number
// means that the corpora or their reader have changed.
func TestReferenceCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine computes: the race detector sees nothing here, and takes ten times as long")
	}
	for name, want := range map[string]int{
		"alacritty": 26, "esctest2": 245, "libvterm": 73, "pyte": 7, "vt100rust": 17, "xtermjs": 48,
	} {
		results, passed := runCorpus(t, name, newReference), 0
		for _, complaint := range results {
			if complaint == "" {
				passed++
			}
		}
		if passed != want && *caseName == "" {
			t.Errorf("%s: %d of %d pass, not %d", name, passed, len(results), want)
		}
	}
}
