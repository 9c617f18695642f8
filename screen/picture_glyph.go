package screen

import (
	"math/bits"
	"unicode"

	"shelld.dev/shelld/screen/font"
)

// A glyph is the picture of a character: pixels of its colour, and paler ones if it had to be made narrower.
type glyph struct{ full, half mask }

// glyphOf returns the picture of a cell's text, of one cell or two.
func glyphOf(text string, width int, a Attribute) glyph {
	if text == "" || text == " " {
		return glyph{}
	}
	g, whole := overlay(text, width)
	if !whole {
		if a&Italic != 0 {
			g = g.each(shear)
		}
		if a&Bold != 0 {
			g = g.each(thicken)
		}
		if width == 1 { // no part goes into the next cell
			g = g.each(func(m mask) mask { return m.and(0xff00) })
		}
	}
	return g
}

// overlay draws all characters of a text over each other: one, and its combining characters. Of several pictures that
// form another one together, only the first is drawn. whole reports whether the glyph must be left unchanged, because
// it joins its neighbours.
func overlay(text string, width int) (g glyph, whole bool) {
	if m, ok := flagOf(text, width); ok {
		return glyph{full: m}, false
	}
	var narrow, wide mask
	isWide, joiner, first := false, false, true
	for _, r := range text {
		if !first && (isSkinTone(r) || joiner && unicode.Is(unicode.So, r)) {
			continue
		}
		joiner = r == zeroWidthJoiner
		m, pixels := signOf(r, width)
		if pixels > cellWidth {
			wide, isWide = wide.or(m), true
		} else {
			narrow = narrow.or(m)
		}
		if first {
			whole, first = joins(r), false
		}
	}
	switch {
	case isWide:
		return fit(wide.or(narrow.right(cellWidth/2)), width), whole
	case width == 2:
		return glyph{full: narrow.right(cellWidth / 2)}, whole
	}
	return glyph{full: narrow}, whole
}

const zeroWidthJoiner = '\u200d'

// isSkinTone reports whether a character only colours the one before.
func isSkinTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// flagOf draws the two letters of a flag side by side.
func flagOf(text string, width int) (m mask, ok bool) {
	letters := []rune(nil)
	if len(text) == 8 { // 4 bytes each
		letters = []rune(text)
	}
	if len(letters) != 2 || !isRegional(letters[0]) || !isRegional(letters[1]) || width != 2 {
		return mask{}, false
	}
	a, _ := signOf(letters[0], 1)
	b, _ := signOf(letters[1], 1)
	return a.or(b.right(cellWidth)), true
}

// signOf returns a character's own picture and its width in pixels. Invisible characters are blank; a character that
// the font lacks is drawn as its number.
func signOf(r rune, width int) (m mask, pixels int) {
	if m, ok := drawn(r); ok {
		return m, cellWidth
	}
	if g, ok := font.Lookup(r); ok {
		return g.Rows, g.Width
	}
	if unseen(r) {
		return mask{}, cellWidth
	}
	return numberBox(r, width), width * cellWidth
}

// unseen reports whether a character is not drawn if the font has no glyph for it.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Zs, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// fit brings a glyph of 16 pixels into its cells. Many are narrow enough as they are; in the others every two pixels
// become one.
func fit(m mask, width int) glyph {
	if width == 2 {
		return glyph{full: m}
	}
	var used uint16
	for _, row := range m {
		used |= row
	}
	left := bits.LeadingZeros16(used)
	if wide := 16 - left - bits.TrailingZeros16(used); wide <= cellWidth {
		return glyph{full: m.left(left).right((cellWidth - wide) / 2)}
	}
	var g glyph
	for y, row := range m {
		for x := range cellWidth {
			switch row << (2 * x) >> 14 {
			case 3:
				g.full[y] |= 1 << 15 >> x
			case 1, 2:
				g.half[y] |= 1 << 15 >> x
			}
		}
	}
	return g
}

func (g glyph) each(change func(mask) mask) glyph {
	return glyph{full: change(g.full), half: change(g.half)}
}

// thicken draws a glyph twice, side by side.
func thicken(m mask) mask { return m.or(m.right(1)) }

// shear moves the upper rows to the right and the lower ones to the left. Most glyphs leave a pixel free at each side.
func shear(m mask) mask {
	for y := range m {
		switch {
		case y < 6:
			m[y] >>= 1
		case y > 9:
			m[y] <<= 1
		}
	}
	return m
}

func (m mask) or(other mask) mask {
	for y := range m {
		m[y] |= other[y]
	}
	return m
}

func (m mask) and(bits uint16) mask {
	for y := range m {
		m[y] &= bits
	}
	return m
}

func (m mask) left(n int) mask {
	for y := range m {
		m[y] <<= n
	}
	return m
}

func (m mask) right(n int) mask {
	for y := range m {
		m[y] >>= n
	}
	return m
}
