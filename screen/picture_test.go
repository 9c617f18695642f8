package screen

import (
	"bytes"
	"image"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

const (
	grey  rgb = 0xe5e5e5 // the text's own colour
	black rgb = 0
	red   rgb = 0xcd0000
	blue  rgb = 0x0000ee
)

// art draws a cell of a picture in letters: one for each colour, in the order of colors, and a question mark for any
// other.
func art(i image.Image, col, row int, names string, colors ...rgb) string {
	var b strings.Builder
	for y := range cellHeight {
		for x := range cellWidth {
			name := byte('?')
			for n, c := range colors {
				if colorAt(i, col*cellWidth+x, row*cellHeight+y) == c {
					name = names[n]
				}
			}
			b.WriteByte(name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cellArt draws one cell of a text in a style, with # for the pixels in a colour.
func cellArt(t *testing.T, style Style, text string, ink, ground rgb) string {
	t.Helper()
	s := newSheet(4, 1)
	s.put(0, 1, style, text)
	return art(picture(t, &s.Snapshot), 1, 0, "#.", ink, ground)
}

const (
	artRow   = cellWidth + 1 // bytes of a row of art
	fullRow  = "########\n"
	emptyRow = "........\n"
)

func rows(n int, row string) string { return strings.Repeat(row, n) }

const artOfA = "........\n........\n........\n........\n...##...\n..#..#..\n..#..#..\n.#....#.\n" +
	".#....#.\n.######.\n.#....#.\n.#....#.\n.#....#.\n.#....#.\n........\n........\n"

// TestPictureCell checks the pixels of single cells.
func TestPictureCell(t *testing.T) {
	withRow := func(art string, n int, row string) string { return art[:n*artRow] + row + "\n" + art[(n+1)*artRow:] }
	const full, empty = "████", "    "
	for _, test := range []struct {
		name        string
		style       Style
		text        string
		ink, ground rgb
		want        string
	}{
		{"a letter", Style{}, "A", grey, black, artOfA},
		{"a red letter on blue", Style{Foreground: Indexed(1), Background: Indexed(4)}, "A", red, blue, artOfA},
		{"true colours", Style{Foreground: RGB(1, 2, 3), Background: RGB(4, 5, 6)}, "A", 0x010203, 0x040506, artOfA},
		{"a red cell", Style{Background: Indexed(1)}, empty, red, black, rows(16, fullRow)},
		{"a block", Style{Foreground: Indexed(1)}, full, red, black, rows(16, fullRow)},
		{"inverse", Style{Attributes: Inverse}, "A", black, grey, artOfA},
		{"inverse colours", Style{Foreground: Indexed(1), Background: Indexed(4), Attributes: Inverse}, "A", blue, red, artOfA},
		{"faint", Style{Attributes: Faint}, "A", 0x727272, black, artOfA},
		{"blink", Style{Attributes: Blink}, "A", grey, black, artOfA},
		{"hidden", Style{Attributes: Invisible | Strike, Underline: SingleUnderline}, "A", grey, black, rows(16, emptyRow)},
		{"underline", Style{Underline: SingleUnderline}, "A", grey, black, withRow(artOfA, 15, "########")},
		{"underline of a colour", Style{Underline: SingleUnderline, UnderlineColor: Indexed(1)}, empty, red, black, rows(15, emptyRow) + fullRow},
		{"double", Style{Underline: DoubleUnderline}, empty, grey, black, rows(13, emptyRow) + fullRow + emptyRow + fullRow},
		{"curly", Style{Underline: CurlyUnderline}, empty, grey, black, rows(13, emptyRow) + ".##.....\n#..##..#\n.....##.\n"},
		{"dotted", Style{Underline: DottedUnderline}, empty, grey, black, rows(15, emptyRow) + "#.#.#.#.\n"},
		{"dashed", Style{Underline: DashedUnderline}, empty, grey, black, rows(15, emptyRow) + "#####...\n"},
		{"strike", Style{Attributes: Strike}, empty, grey, black, rows(9, emptyRow) + fullRow + rows(6, emptyRow)},
		{"overline", Style{Attributes: Overline}, "A", grey, black, withRow(artOfA, 0, "########")},
		{"bold", Style{Attributes: Bold}, "-", grey, black, rows(9, emptyRow) + "..#####.\n" + rows(6, emptyRow)},
		{"bold lines", Style{Attributes: Bold | Italic}, "│", grey, black, rows(16, "....#...\n")},
		{"italic", Style{Attributes: Italic}, "|", grey, black,
			rows(2, emptyRow) + rows(4, ".....#..\n") + rows(4, "....#...\n") + rows(6, "...#....\n")},
		{"a line", Style{}, "─", grey, black, rows(7, emptyRow) + fullRow + rows(8, emptyRow)},
		{"a crossing", Style{}, "┼", grey, black, rows(7, "....#...\n") + fullRow + rows(8, "....#...\n")},
		{"a lower half", Style{}, "▄", grey, black, rows(8, emptyRow) + rows(8, fullRow)},
		{"a shade", Style{}, "▒", grey, black, rows(8, "#.#.#.#.\n.#.#.#.#\n")},
		{"all dots of Braille", Style{}, "⣿", grey, black, rows(4, "........\n.##..##.\n.##..##.\n........\n")},
		{"no dots of Braille", Style{}, "\u2800", grey, black, rows(16, emptyRow)},
		{"an arrow of Powerline", Style{}, "\ue0b0", grey, black,
			"#.......\n##......\n###.....\n####....\n#####...\n######..\n#######.\n########\n" +
				"########\n#######.\n######..\n#####...\n####....\n###.....\n##......\n#.......\n"},
		{"one that points left", Style{}, "\ue0b3", grey, black,
			".......#\n......#.\n.....#..\n....#...\n...#....\n..#.....\n.#......\n#.......\n" +
				"#.......\n.#......\n..#.....\n...#....\n....#...\n.....#..\n......#.\n.......#\n"},
		{"a soft hyphen", Style{}, "\u00ad", grey, black, rows(9, emptyRow) + "..####..\n" + rows(6, emptyRow)},
		{"private use", Style{}, "\uf1a0", grey, black,
			"........\n#######.\n........\n###..#..\n#...##..\n###..#..\n#....#..\n#...###.\n" +
				"........\n###.###.\n#.#.#.#.\n###.#.#.\n#.#.#.#.\n#.#.###.\n........\n#######.\n"},
	} {
		if got := cellArt(t, test.style, test.text, test.ink, test.ground); got != test.want {
			t.Errorf("%s:\n%s, not\n%s", test.name, got, test.want)
		}
	}
}

// TestPictureBeside checks that a cell does not reach into the next ones.
func TestPictureBeside(t *testing.T) {
	s := newSheet(3, 3)
	s.put(1, 1, Style{Background: Indexed(1), Attributes: Bold | Italic | Strike | Overline, Underline: CurlyUnderline}, "W")
	i := picture(t, &s.Snapshot)
	for n := range 9 {
		if n != 4 && art(i, n%3, n/3, ".", black) != rows(16, emptyRow) {
			t.Errorf("cell %d of 9 is not empty", n)
		}
	}
}

// TestPictureCombining checks that all characters of a cell are drawn over each other.
func TestPictureCombining(t *testing.T) {
	draw := func(text string) string { return cellArt(t, Style{}, text, grey, black) }
	if got, want := draw("e\u0301\u0323"), over(draw("e"), draw("\u0301"), draw("\u0323")); got != want || got == draw("e") {
		t.Errorf("e with two marks:\n%s, not\n%s", got, want)
	}
	for _, pair := range [][2]string{
		{"a\u200d", "a"}, {"x\ufe0e", "x"}, // invisible characters
		{"🚀\u200d🚀", "🚀"}, {"👍🏽", "👍"}, // sequences with a picture of their own
	} {
		if draw(pair[0]) != draw(pair[1]) {
			t.Errorf("%+q is not drawn as %+q", pair[0], pair[1])
		}
	}
	if draw("1\u20e3") == draw("1") {
		t.Error("a wide mark is not drawn over a narrow character")
	}
}

// over lays pieces of art over each other.
func over(arts ...string) string {
	all := []byte(arts[0])
	for _, art := range arts[1:] {
		for i := range all {
			if art[i] == '#' {
				all[i] = '#'
			}
		}
	}
	return string(all)
}

// TestPictureWide checks characters of two cells, and those that have to fit into one.
func TestPictureWide(t *testing.T) {
	s := newSheet(8, 1)
	s.put(0, 0, Style{Background: Indexed(4), Underline: SingleUnderline}, "一🇩🇪")
	i := picture(t, &s.Snapshot)
	line := rows(7, emptyRow) + fullRow + rows(7, emptyRow) + fullRow
	if got := art(i, 0, 0, "#.", grey, blue); got != line {
		t.Errorf("the left half of 一:\n%s", got)
	}
	if got := art(i, 1, 0, "#.", grey, blue); got != line[:7*artRow]+"#######.\n"+line[8*artRow:] {
		t.Errorf("the right half of 一:\n%s", got)
	}
	for n, letter := range []string{"D", "E"} {
		want := cellArt(t, Style{Underline: SingleUnderline}, letter, grey, black)
		if got := art(i, 2+n, 0, "#.", grey, blue); got != want {
			t.Errorf("half %d of a flag:\n%s, not\n%s", n, got, want)
		}
	}
	if got := art(i, 4, 0, "#.", grey, black); got != rows(16, emptyRow) {
		t.Errorf("behind a wide character:\n%s", got)
	}
	squeezed := cellArt(t, Style{}, "★", grey, black) // wide in the font, narrow in a terminal
	if !strings.Contains(squeezed, "#") || !strings.Contains(squeezed, "?") {
		t.Errorf("a wide glyph in a cell:\n%s", squeezed)
	}

	s = newSheet(2, 2)
	s.Lines[0].cells[1] = cell{char: '一', flags: wideHead} // no room for the other half
	s.Lines[1].cells[0] = cell{char: '一', flags: wideHead}
	s.Lines[1].cells[1] = cell{char: 'A'}
	i = picture(t, &s.Snapshot)
	for n, at := range []image.Point{{1, 0}, {0, 1}} {
		if got := art(i, at.X, at.Y, "#.", grey, black); got != rows(7, emptyRow)+fullRow+rows(8, emptyRow) &&
			got != rows(7, emptyRow)+"#######?\n"+rows(8, emptyRow) {
			t.Errorf("half of a wide character, %d:\n%s", n, got)
		}
	}
	if got := art(i, 1, 1, "#.", grey, black); got != artOfA {
		t.Errorf("what took the place of the other half:\n%s", got)
	}
}

// TestPictureReverse checks that DECSCNM exchanges only the terminal's own colours.
func TestPictureReverse(t *testing.T) {
	s := newSheet(4, 1)
	s.put(0, 0, Style{}, "A")
	s.put(0, 1, Style{Attributes: Inverse}, "A")
	s.put(0, 2, Style{Foreground: Indexed(1), Background: Indexed(4)}, "A")
	s.Snapshot.reverse = true
	i := picture(t, &s.Snapshot)
	for col, colors := range [][2]rgb{{black, grey}, {grey, black}, {red, blue}} {
		if got := art(i, col, 0, "#.", colors[:]...); got != artOfA {
			t.Errorf("cell %d:\n%s", col, got)
		}
	}
	if got := art(i, 3, 0, "#", grey); got != rows(16, fullRow) {
		t.Errorf("an empty cell:\n%s", got)
	}
}

func TestPictureCursor(t *testing.T) {
	under := artOfA[:14*artRow] + rows(2, fullRow)
	bar := ""
	for _, row := range strings.SplitAfter(artOfA, "\n")[:cellHeight] {
		bar += "##" + row[2:]
	}
	own := *standardPalette()
	own.Cursor = RGB(0, 255, 0)
	const green = 0x00ff00
	for _, test := range []struct {
		name        string
		cursor      Cursor
		style       Style
		palette     *Palette
		ink, ground rgb
		want        string
	}{
		{"block", Cursor{Visible: true}, Style{}, nil, black, grey, artOfA},
		{"block on colours", Cursor{Visible: true}, Style{Foreground: Indexed(1), Background: Indexed(4)}, nil, blue, red, artOfA},
		{"block on inverse", Cursor{Visible: true}, Style{Attributes: Inverse}, nil, grey, black, artOfA},
		{"block on one colour", Cursor{Visible: true}, Style{Foreground: Indexed(0)}, nil, black, 0xffffff, artOfA},
		{"block of its own", Cursor{Visible: true}, Style{}, &own, black, green, artOfA},
		{"block of the same", Cursor{Visible: true}, Style{Background: RGB(0, 250, 0)}, &own, 0x00fa00, grey, artOfA},
		{"a shape that is unknown", Cursor{Visible: true, Shape: 99}, Style{}, nil, black, grey, artOfA},
		{"underline", Cursor{Visible: true, Shape: UnderlineCursor}, Style{}, nil, grey, black, under},
		{"bar", Cursor{Visible: true, Shape: BarCursor}, Style{}, nil, grey, black, bar},
		{"hidden", Cursor{}, Style{}, nil, grey, black, artOfA},
		{"elsewhere", Cursor{Visible: true, Col: 1}, Style{}, nil, grey, black, artOfA},
		{"outside", Cursor{Visible: true, Col: -1, Row: 7}, Style{}, nil, grey, black, artOfA},
	} {
		s := newSheet(2, 1)
		s.put(0, 0, test.style, "A")
		s.Cursor, s.Palette = test.cursor, test.palette
		if got := art(picture(t, &s.Snapshot), 0, 0, "#.", test.ink, test.ground); got != test.want {
			t.Errorf("%s:\n%s, not\n%s", test.name, got, test.want)
		}
	}
	for col := range 2 {
		s := newSheet(4, 1)
		s.put(0, 0, Style{}, "一")
		s.Cursor = Cursor{Visible: true, Col: col}
		i := picture(t, &s.Snapshot)
		for x := range 2 * cellWidth {
			if c := colorAt(i, x, 0); c != grey {
				t.Errorf("cursor in column %d of a wide character: pixel %d is %06x", col, x, c)
			}
		}
	}
	s := newSheet(4, 1) // in a line without cells
	s.Lines[0].cells = nil
	s.Cursor = Cursor{Visible: true, Col: 3}
	if c := colorAt(picture(t, &s.Snapshot), 31, 15); c != grey {
		t.Errorf("cursor behind a line: %06x", c)
	}
}

// TestPicturePalette checks the origin of the colours.
func TestPicturePalette(t *testing.T) {
	own := &Palette{Foreground: RGB(1, 1, 1), Background: RGB(2, 2, 2)}
	own.Colors[1] = RGB(3, 3, 3)
	s := newSheet(3, 1)
	s.put(0, 0, Style{}, "█")
	s.put(0, 1, Style{Foreground: Indexed(1)}, "█")
	s.put(0, 2, Style{Foreground: Indexed(4)}, "▀") // has no colour in this palette: the standard one is used
	s.Palette = own
	i := picture(t, &s.Snapshot)
	for _, test := range []struct {
		x, y int
		want rgb
	}{{0, 0, 0x010101}, {8, 0, 0x030303}, {16, 0, blue}, {16, 15, 0x020202}} {
		if got := colorAt(i, test.x, test.y); got != test.want {
			t.Errorf("pixel %d,%d is %06x, not %06x", test.x, test.y, got, test.want)
		}
	}
}

// TestPictureColors checks that a palette is used as long as it has room for all colours.
func TestPictureColors(t *testing.T) {
	for _, test := range []struct {
		colors  int
		palette bool
	}{{1, true}, {256, true}, {257, false}, {4000, false}} {
		s := newSheet(test.colors, 1)
		for n := range test.colors {
			s.put(0, n, Style{Background: RGB(uint8(n), uint8(n>>8), 99)}, " ")
		}
		i := picture(t, &s.Snapshot)
		if _, ok := i.(*image.Paletted); ok != test.palette {
			t.Errorf("%d colours: %T", test.colors, i)
		}
		for n := range test.colors {
			if want := rgb(n&0xff<<16 | n>>8<<8 | 99); colorAt(i, 8*n+7, 15) != want {
				t.Fatalf("colour %d of %d is %06x, not %06x", n, test.colors, colorAt(i, 8*n+7, 15), want)
			}
		}
	}
}

func TestPictureLimits(t *testing.T) {
	for _, test := range []struct {
		cols, rows int
		wrong      string
	}{
		{1, 1, ""},
		{65535, 4, ""},
		{513, 512, "too large for a picture (at most 262144 cells)"},
		{65535, 65535, "too large"},
		{math.MaxInt, math.MaxInt, "too large"},
		{0, 24, "nothing to draw"},
		{80, 0, "nothing to draw"},
		{-1, -1, "nothing to draw"},
	} {
		s := &Snapshot{Cols: test.cols, Rows: test.rows}
		b, err := s.PNG()
		switch {
		case test.wrong == "" && err != nil:
			t.Errorf("%dx%d: %v", test.cols, test.rows, err)
		case test.wrong == "" && len(b) > 1<<20:
			t.Errorf("%dx%d empty cells make %d bytes", test.cols, test.rows, len(b))
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%dx%d: %v, not %q", test.cols, test.rows, err, test.wrong)
		}
	}
}

// TestPictureOdd draws snapshots that no terminal makes.
func TestPictureOdd(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	texts := []rune{0, ' ', 'A', 0x1b, 0x301, zeroWidthJoiner, '一', 0x1100, 0x1161, 0xd800, 0xe0b4, 0xe0bf, 0xf8ff, 0xffff, 0x1f600, 0x1f1e6, 0x1f3fb, 0xe0001, 0xf0000, 0x10ffff, 0x7fffffff}
	for range 300 {
		s := newSheet(1+dice.IntN(20), 1+dice.IntN(5))
		s.tables.clusters = []string{"", "\xff\xfe", "e\u0301", strings.Repeat("\u0336", 1000), "🇩🇪", "🇩A\u0301\u0301", "a\u200d🚀"}
		s.tables.extras = append(s.tables.extras, extra{underline: Indexed(3), link: "x"})
		for _, l := range s.Lines {
			for n := range l.cells {
				c := cell{char: uint32(texts[dice.IntN(len(texts))]), fg: Color(dice.Uint32()), bg: Color(dice.Uint32N(4 << 24)), flags: cellFlags(dice.Uint32()), extra: uint16(dice.IntN(2))}
				if dice.IntN(3) == 0 {
					c.char = inTable | uint32(dice.IntN(len(s.tables.clusters)))
				}
				l.cells[n] = c
			}
		}
		for n := range s.Lines {
			switch dice.IntN(4) {
			case 0:
				s.Lines[n].cells = s.Lines[n].cells[:dice.IntN(s.Cols)]
			case 1:
				s.Lines[n] = Line{}
			}
		}
		s.Lines = s.Lines[:dice.IntN(len(s.Lines)+1)]
		s.Cols += dice.IntN(3) - min(1, s.Cols-1)
		s.Cursor = Cursor{Row: dice.IntN(9) - 2, Col: dice.IntN(30) - 2, Visible: true, Shape: CursorShape(dice.IntN(5))}
		s.reverse = dice.IntN(2) == 0
		if dice.IntN(2) == 0 {
			s.Palette = &Palette{Foreground: Indexed(1), Background: Color(dice.Uint32())}
		}
		picture(t, &s.Snapshot)
	}
}

// TestPictureTogether draws a snapshot in several goroutines, which may not write to it.
func TestPictureTogether(t *testing.T) {
	s := benchSheet(80, 24)
	want, err := s.PNG()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got, err := s.PNG(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("another picture, of %d bytes, not %d: %v", len(got), len(want), err)
			}
		})
	}
	all.Wait()
}

// benchSheet is a screen full of coloured text.
func benchSheet(cols, rows int) *Snapshot {
	s := newSheet(cols, rows)
	words := strings.Fields("package main import fmt func main() { for i := range 10 { fmt.Println(i, 漢字, \"naïve\") } } // ── │")
	for row := range rows {
		for col, n := 0, row; col < cols; n++ {
			style := Style{Foreground: Indexed(uint8(n * 7 % 16)), Attributes: Attribute(n % 5 / 4)}
			col = s.put(row, col, style, words[n*11%len(words)]+" ")
		}
	}
	s.Cursor = Cursor{Row: 1, Col: 2, Visible: true}
	return &s.Snapshot
}

func BenchmarkPicture(b *testing.B) {
	colorful := benchSheet(80, 24)
	for y, l := range colorful.Lines {
		for x := range l.cells {
			l.cells[x].bg = RGB(uint8(3*x), uint8(9*y), 80)
		}
	}
	for _, bench := range []struct {
		name string
		s    *Snapshot
	}{
		{"80x24", benchSheet(80, 24)},
		{"80x24 empty", &newSheet(80, 24).Snapshot},
		{"80x24 of 1,900 colours", colorful},
		{"200x60", benchSheet(200, 60)},
		{"512x512", benchSheet(512, 512)},
		{"65535x4", benchSheet(65535, 4)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				png, err := bench.s.PNG()
				if err != nil {
					b.Fatal(err)
				}
				size = len(png)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
