package screen

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"
	"unicode"
)

// A sheet is a snapshot that a test writes by hand.
type sheet struct {
	Snapshot
	tables tables
}

func newSheet(cols, rows int) *sheet {
	s := &sheet{Snapshot: Snapshot{Cols: cols, Rows: rows}, tables: tables{extras: []extra{{}}}}
	for range rows {
		s.Lines = append(s.Lines, Line{cells: make([]cell, cols), tables: &s.tables})
	}
	return s
}

// put writes a text in a style from a cell on, and returns the column behind it. Combining characters go to the
// character before.
func (s *sheet) put(row, col int, style Style, text string) int {
	flags := cellFlags(style.Attributes) | cellFlags(style.Underline)<<underlineShift
	var at uint16
	if !style.UnderlineColor.IsDefault() {
		s.tables.extras = append(s.tables.extras, extra{underline: style.UnderlineColor})
		at = uint16(len(s.tables.extras) - 1)
	}
	cells := s.Lines[row].cells
	for _, cluster := range clusters(text) {
		c := cell{fg: style.Foreground, bg: style.Background, flags: flags, extra: at}
		if runes := []rune(cluster); len(runes) == 1 {
			c.char = uint32(runes[0])
		} else {
			c.char = inTable | uint32(len(s.tables.clusters))
			s.tables.clusters = append(s.tables.clusters, cluster)
		}
		if col >= s.Cols {
			break
		}
		if wide(cluster) && col+1 < s.Cols {
			tail := c
			tail.char, tail.flags = 0, flags|wideTail
			c.flags |= wideHead
			cells[col+1] = tail
			cells[col], col = c, col+2
			continue
		}
		cells[col], col = c, col+1
	}
	return col
}

// clusters cuts a text into pieces that take a cell or two.
func clusters(text string) (all []string) {
	joined := false
	for _, r := range text {
		last := len(all) - 1
		flag := last >= 0 && isRegional(r) && len(all[last]) == 4 && isRegional([]rune(all[last])[0])
		if last >= 0 && (joined || flag || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || isSkinTone(r)) {
			all[last] += string(r)
		} else {
			all = append(all, string(r))
		}
		joined = r == zeroWidthJoiner
	}
	return all
}

func wide(cluster string) bool {
	r := []rune(cluster)[0]
	return r >= 0x1100 && r < 0x1160 || r >= 0x2e80 && r < 0xa4d0 || r >= 0xac00 && r < 0xd7a4 ||
		r >= 0xff00 && r < 0xff60 || r >= 0x1f1e6 && r < 0x1f200 && len(cluster) > 4 ||
		r >= 0x1f300 && r < 0x1fb00 || strings.ContainsRune(cluster, 0xfe0f)
}

// picture draws a snapshot, and decodes the file with the standard library.
func picture(t testing.TB, s *Snapshot) image.Image {
	t.Helper()
	b, err := s.PNG()
	if err != nil {
		t.Fatal(err)
	}
	i, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if size := i.Bounds().Size(); size != image.Pt(s.Cols*cellWidth, s.Rows*cellHeight) {
		t.Fatalf("the picture of %dx%d cells has %v pixels", s.Cols, s.Rows, size)
	}
	return i
}

// colorAt returns a pixel as 0xrrggbb.
func colorAt(i image.Image, x, y int) rgb {
	c := color.RGBAModel.Convert(i.At(x, y)).(color.RGBA)
	return rgb(c.R)<<16 | rgb(c.G)<<8 | rgb(c.B)
}

// TestPictureSheet draws most kinds of characters and styles. With SHELLD_PICTURE it leaves the picture in that file,
// for a person to look at.
func TestPictureSheet(t *testing.T) {
	s := newSheet(84, 34)
	plain := Style{}
	fg := func(n uint8) Style { return Style{Foreground: Indexed(n)} }
	bg := func(f, b uint8) Style { return Style{Foreground: Indexed(f), Background: Indexed(b)} }
	x := s.put(0, 0, bg(15, 4), " main.go ")
	x = s.put(0, x, bg(4, 0), "\ue0b0")
	s.put(0, x, fg(8), "\ue0a0 master \ue0b1 \ue0b2\ue0b3\ue0b4\ue0b5\ue0b6\ue0b7\ue0b8\ue0b9\ue0ba\ue0bb\ue0bc\ue0bd\ue0be\ue0bf \ue0a1\ue0a2 \uf113\U000f0001")
	x = s.put(1, 0, fg(8), "  1 ")
	x = s.put(1, x, fg(13), "package")
	s.put(1, x, plain, " main")
	x = s.put(2, 0, fg(8), "  2 ")
	x = s.put(2, x, fg(13), "import ")
	s.put(2, x, fg(10), `"fmt"`)
	x = s.put(3, 0, fg(8), "  3 ")
	s.put(3, x, Style{Foreground: Indexed(14), Attributes: Italic}, "// A comment, in italics: The quick brown fox jumps over the lazy dog.")
	x = s.put(4, 0, fg(11), "  4 ")
	s.put(4, 4, Style{Background: Indexed(236)}, strings.Repeat(" ", s.Cols))
	s.put(4, x, Style{Foreground: Indexed(15), Background: Indexed(236)}, "func main() { fmt.Println(\"hello, 世界\") }")
	col := 0
	for _, a := range []struct {
		name string
		Style
	}{
		{"bold", Style{Attributes: Bold}}, {"faint", Style{Attributes: Faint}}, {"italic", Style{Attributes: Italic}},
		{"both", Style{Attributes: Bold | Italic}},
		{"inverse", Style{Attributes: Inverse}}, {"hidden", Style{Attributes: Invisible}}, {"strike", Style{Attributes: Strike}},
		{"overline", Style{Attributes: Overline}}, {"single", Style{Underline: SingleUnderline}}, {"double", Style{Underline: DoubleUnderline}},
	} {
		col = s.put(6, col, a.Style, a.name) + 1
	}
	col = s.put(7, 0, Style{Underline: CurlyUnderline, UnderlineColor: Indexed(9)}, "curly jgq") + 1
	col = s.put(7, col, Style{Underline: DottedUnderline, UnderlineColor: RGB(0, 255, 255)}, "dotted gjp") + 1
	col = s.put(7, col, Style{Underline: DashedUnderline}, "dashed gjp") + 1
	s.put(7, col, Style{Underline: SingleUnderline, Foreground: Indexed(12)}, "https://example.com/漢字")
	s.put(9, 0, plain, "日本語 中文 漢字 ひらがな カタカナ 한국어 조선글 ＦＵＬＬ Ελληνικά Кириллица")
	s.put(10, 0, plain, "עברית ไทย éàü e\u0301a\u0308o\u0302 नमस्ते العربية ½ ± € £ ¥ « » “quotes” … – —")
	s.put(11, 0, plain, "😀 🚀 ✅ ❤\ufe0f 👍🏽 👨\u200d👩\u200d👧 🇩🇪 🎉 ✓ ✗ ★ ☃ ● ○ ■ □ ▲ ▼ ← ↑ → ↓ ⇒ ≤ ≥ ≠ ∞ ∑ √ ① ⓐ ⚠ ⏎")
	for i, l := range []string{
		"┌──────┬──────┐ ╔══════╦══════╗ ┏━━━━━━┳━━━━━━┓ ╭──────╮ ▁▂▃▄▅▆▇█ ░░▒▒▓▓██ ⠁⠃⠇⡇⣇⣧⣷⣿",
		"│ one  │ two  │ ║ one  ║ two  ║ ┃ one  ┃ two  ┃ │ round│ ▏▎▍▌▋▊▉█ ░░▒▒▓▓██ ⣀⣤⣶⣿⣿⣶⣤⣀",
		"├──────┼──────┤ ╠══════╬══════╣ ┣━━━━━━╋━━━━━━┫ │  ed  │ ▖▗▘▙▚▛▜▝▞▟▀▄▌▐▔▕  ⠀⢸⡇⢸⡇⢸⡇⠀",
		"│ 1    │ 2    │ ║ 1    ║ 2    ║ ┃ 1    ┃ 2    ┃ ╰──────╯ ╱╲╳ ┄┅┆┇┈┉┊┋ ╌╍╎╏  🬀🬁🬂🬃🬄",
		"└──────┴──────┘ ╚══════╩══════╝ ┗━━━━━━┻━━━━━━┛ ╒╕╓╖╘╛╙╜╞╡╟╢╪╫ ┍┑┎┒┝┥┠┨┿╂",
	} {
		s.put(13+i, 0, plain, l)
	}
	for n := range 16 {
		s.put(19, n*5, bg(uint8(15-n), uint8(n)), " abc ")
	}
	for n := range 216 {
		s.put(20+n/72, n%72, bg(0, uint8(16+n)), " ")
	}
	for n := range 24 {
		s.put(23, n*3, bg(0, uint8(232+n)), "   ")
	}
	s.put(25, 0, plain, "The quick brown fox jumps over the lazy dog. 0123456789 !\"#$%&'()*+,-./:;<=>?@")
	s.put(26, 0, Style{Attributes: Bold}, "The quick brown fox jumps over the lazy dog. 0123456789 !\"#$%&'()*+,-./:;<=>?@")
	s.put(27, 0, Style{Attributes: Faint}, "The quick brown fox jumps over the lazy dog. 0123456789 [\\]^_`{|}~")
	s.put(28, 0, Style{Attributes: Bold | Italic}, "Bold italic WMwm 漢字 The quick brown fox")
	s.put(29, 0, Style{Foreground: Indexed(2)}, "~/src/shelld (main) $ ls -la | grep go")
	s.put(31, 0, bg(0, 2), " NORMAL ")
	s.put(31, 8, Style{Foreground: Indexed(2), Background: Indexed(238)}, "\ue0b0 main.go [+]")
	s.put(33, 0, Style{Attributes: Bold, Foreground: Indexed(9)}, "E37: No write since last change (add ! to override)")
	s.Cursor = Cursor{Row: 4, Col: 8, Visible: true}
	picture(t, &s.Snapshot)
	if name := os.Getenv("SHELLD_PICTURE"); name != "" {
		b, _ := s.PNG() // It was encoded without an error just now.
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
