package screen

import "sync"

// A Color is the terminal's default, one of its 256 colours, or red, green and blue. The zero value is the default.
type Color uint32

// The kinds of a Color, in its upper byte; the lower ones hold the value.
const (
	colorIndexed Color = 1 << 24
	colorRGB     Color = 2 << 24
	colorKind    Color = 0xff << 24
)

// Indexed returns the colour n of the terminal's palette.
func Indexed(n uint8) Color { return colorIndexed | Color(n) }

// RGB returns the colour with these components.
func RGB(r, g, b uint8) Color { return colorRGB | Color(r)<<16 | Color(g)<<8 | Color(b) }

// IsDefault reports whether the colour is the terminal's own.
func (c Color) IsDefault() bool { return c&colorKind == 0 }

// Index returns the colour's index in the palette, if it has one.
func (c Color) Index() (n uint8, ok bool) { return uint8(c), c&colorKind == colorIndexed }

// RGB returns the components of the colour, if it has them.
func (c Color) RGB() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c&colorKind == colorRGB
}

// An Attribute is a property of a character's appearance, as a bit.
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

// A Style is the appearance of a character. The zero value is a plain one.
type Style struct {
	Foreground     Color
	Background     Color
	UnderlineColor Color // the default: the same as the foreground
	Attributes     Attribute
	Underline      Underline
	Link           string // the address given by OSC 8
}

// A Palette holds the terminal's own colours.
type Palette struct {
	Foreground, Background, Cursor Color // each made of red, green and blue
	Colors                         [256]Color
}

// standardPalette returns the initial palette of a terminal: xterm's colours, on black.
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
