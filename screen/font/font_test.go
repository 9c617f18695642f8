package font

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// used returns the number of unpacked chunks.
func used() (n int) {
	for i := range unpacked {
		if unpacked[i].Load() != nil {
			n++
		}
	}
	return n
}

// usedAtStart is the number of chunks unpacked before the first test.
var usedAtStart int

func TestMain(m *testing.M) {
	usedAtStart = used()
	os.Exit(m.Run())
}

// TestLazy checks that no chunk is unpacked before a glyph in it is requested.
func TestLazy(t *testing.T) {
	if usedAtStart != 0 {
		t.Fatalf("%d chunks are unpacked before the first glyph", usedAtStart)
	}
	for i := range unpacked {
		unpacked[i].Store(nil)
	}
	Lookup('A')
	Lookup('z')
	if n := used(); n != 1 {
		t.Errorf("%d chunks are unpacked for ASCII, not 1", n)
	}
}

// TestCoverage checks that each character of some ranges has a glyph, and its width.
func TestCoverage(t *testing.T) {
	for _, test := range []struct {
		name     string
		from, to rune
		width    int // 0: any
	}{
		{"ASCII", 0x20, 0x7e, 8},
		{"Latin-1", 0xa1, 0xac, 8},
		{"Latin Extended", 0xc0, 0x24f, 8},
		{"Greek", 0x3b1, 0x3c9, 8},
		{"Cyrillic", 0x400, 0x45f, 8},
		{"Hebrew", 0x5d0, 0x5ea, 8},
		{"Devanagari", 0x904, 0x939, 16},
		{"arrows", 0x2190, 0x21ff, 0},
		{"mathematics", 0x2200, 0x22ff, 0},
		{"box drawing", 0x2500, 0x257f, 8},
		{"block elements", 0x2580, 0x259f, 8},
		{"Braille", 0x2800, 0x28ff, 8},
		{"kana", 0x3041, 0x3096, 16},
		{"CJK", 0x4e00, 0x9fff, 16},
		{"Hangul", 0xac00, 0xd7a3, 16},
		{"full width", 0xff01, 0xff5e, 16},
		{"emoji", 0x1f600, 0x1f64f, 16},
		{"legacy computing", 0x1fb00, 0x1fb92, 8},
	} {
		for r := test.from; r <= test.to; r++ {
			g, ok := Lookup(r)
			if !ok || test.width != 0 && g.Width != test.width {
				t.Errorf("%s: U+%04X: %v, %d pixels, not %d", test.name, r, ok, g.Width, test.width)
				break
			}
			if g == (Glyph{Width: g.Width}) && r != ' ' {
				t.Errorf("%s: U+%04X is blank", test.name, r)
			}
		}
	}
}

func TestNone(t *testing.T) {
	for _, r := range []rune{-1, 0, 0x1b, 0x7f, 0x378, 0x200d, 0xe0b0, 0xfe0f, 0x1fbff, 0x3ffff, runes, 0x10ffff, 0x7fffffff} {
		if _, ok := Lookup(r); ok {
			t.Errorf("U+%04X has a glyph", r)
		}
	}
}

// TestGlyph checks one glyph of each width.
func TestGlyph(t *testing.T) {
	for _, test := range []struct {
		char rune
		want string
	}{
		{'A', "0000 0000 0000 0000 1800 2400 2400 4200 4200 7e00 4200 4200 4200 4200 0000 0000"},
		{'一', "0000 0000 0000 0000 0000 0000 0000 fffe 0000 0000 0000 0000 0000 0000 0000 0000"},
	} {
		g, _ := Lookup(test.char)
		got := ""
		for _, row := range g.Rows {
			got += fmt.Sprintf(" %04x", row)
		}
		if got[1:] != test.want {
			t.Errorf("%c: %s, not %s", test.char, got[1:], test.want)
		}
	}
}

// TestTogether unpacks the same chunks in several goroutines.
func TestTogether(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for r := rune(0x1000); r < 0x3000; r += 100 {
				Lookup(r)
			}
		})
	}
	all.Wait()
}

func TestLicense(t *testing.T) {
	want, err := os.ReadFile("OFL.txt")
	if err != nil {
		t.Fatal(err)
	}
	if License() != string(want) || !strings.HasPrefix(License(), "Copyright © ") {
		t.Error("the license in unifont.bin is not that of OFL.txt; make unifont.bin again, see README.md")
	}
}

func BenchmarkUnpack(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		unpack(0x4e00 / chunkRunes)
	}
}

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		Lookup('漢')
	}
}
