package screen

import "sync"

// A Color is the terminal's default, one of its 256 colours, or red, green and blue.
// The zero value is the default.
type Color uint32

// What the upper byte of a Color says of the lower ones.
const (
	colorIndexed Color = 1 << 24
	colorRGB     Color = 2 << 24
	colorKind    Color = 0xff << 24
)

// Indexed returns the colour n of the terminal's palette.
func Indexed(n uint8) Color { return colorIndexed | Color(n) }

// RGB returns a colour by what it is made of.
func RGB(r, g, b uint8) Color { return colorRGB | Color(r)<<16 | Color(g)<<8 | Color(b) }

// IsDefault says whether the colour is the terminal's own.
func (c Color) IsDefault() bool { return c&colorKind == 0 }

// Index returns the colour's place in the palette, if it is given by that.
func (c Color) Index() (n uint8, ok bool) { return uint8(c), c&colorKind == colorIndexed }

// RGB returns what the colour is made of, if it is given by that.
func (c Color) RGB() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c&colorKind == colorRGB
}

// An Attribute is a bit of how a character is drawn.
type Attribute uint16

// The attributes that a program can set (SGR).
const (
	Bold Attribute = 1 << iota
	Faint
	Italic
	Blink
	Inverse
	Invisible
	Strike
	Overline
)

// An Underline is the kind of line below a character.
type Underline uint8

// The kinds of SGR 4:n.
const (
	NoUnderline Underline = iota
	SingleUnderline
	DoubleUnderline
	CurlyUnderline
	DottedUnderline
	DashedUnderline
)

// A Style is how a character is drawn. The zero value is a plain one.
type Style struct {
	Foreground     Color
	Background     Color
	UnderlineColor Color // the default: as the foreground
	Attributes     Attribute
	Underline      Underline
	Link           string // the address that OSC 8 has given
}

// A Palette is what the terminal's own colours are made of.
type Palette struct {
	Foreground, Background, Cursor Color // each made of red, green and blue
	Colors                         [256]Color
}

// standardPalette returns what a terminal begins with: xterm's colours, on black.
var standardPalette = sync.OnceValue(makePalette)

func makePalette() *Palette {
	p := &Palette{Foreground: RGB(0xe5, 0xe5, 0xe5), Background: RGB(0, 0, 0), Cursor: RGB(0xe5, 0xe5, 0xe5)}
	copy(p.Colors[:], []Color{
		RGB(0, 0, 0), RGB(0xcd, 0, 0), RGB(0, 0xcd, 0), RGB(0xcd, 0xcd, 0),
		RGB(0, 0, 0xee), RGB(0xcd, 0, 0xcd), RGB(0, 0xcd, 0xcd), RGB(0xe5, 0xe5, 0xe5),
		RGB(0x7f, 0x7f, 0x7f), RGB(0xff, 0, 0), RGB(0, 0xff, 0), RGB(0xff, 0xff, 0),
		RGB(0x5c, 0x5c, 0xff), RGB(0xff, 0, 0xff), RGB(0, 0xff, 0xff), RGB(0xff, 0xff, 0xff),
	})
	level := func(n int) uint8 {
		if n == 0 {
			return 0
		}
		return uint8(55 + 40*n)
	}
	for n := range 216 {
		p.Colors[16+n] = RGB(level(n/36), level(n/6%6), level(n%6))
	}
	for n := range 24 {
		grey := uint8(8 + 10*n)
		p.Colors[232+n] = RGB(grey, grey, grey)
	}
	return p
}
