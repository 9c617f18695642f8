package screen

import "image/color"

// An rgb is a colour as 0xrrggbb.
type rgb uint32

// mix returns the mean of two colours.
func mix(a, b rgb) rgb { return a&0xfefefe>>1 + b&0xfefefe>>1 + a&b&0x010101 }

// near reports whether two colours are hard to tell apart.
func near(a, b rgb) bool {
	distance := 0
	for shift := 0; shift < 24; shift += 8 {
		distance += max(int(a>>shift&0xff)-int(b>>shift&0xff), int(b>>shift&0xff)-int(a>>shift&0xff))
	}
	return distance < 0x60
}

// opposite returns black or white, whichever contrasts more with a colour.
func opposite(c rgb) rgb {
	if 3*(c>>16)+6*(c>>8&0xff)+c&0xff < 5*0xff { // green looks brightest, then red
		return 0xffffff
	}
	return 0
}

// colors are a terminal's own colours.
type colors struct {
	text, ground rgb
	cursor       rgb
	ownCursor    bool // the cursor has another colour than the text
	palette      *Palette
}

func colorsOf(s *Snapshot) colors {
	c := colors{palette: s.Palette}
	if c.palette == nil {
		c.palette = standardPalette()
	}
	c.text = made(c.palette.Foreground, made(standardPalette().Foreground, 0))
	c.ground = made(c.palette.Background, made(standardPalette().Background, 0))
	c.cursor = made(c.palette.Cursor, c.text)
	c.ownCursor = c.cursor != c.text
	if s.reverse {
		c.text, c.ground = c.ground, c.text
	}
	return c
}

// made returns the RGB value of a colour, or otherwise if the colour has none.
func made(c Color, otherwise rgb) rgb {
	if r, g, b, ok := c.RGB(); ok {
		return rgb(r)<<16 | rgb(g)<<8 | rgb(b)
	}
	return otherwise
}

// of returns the RGB value of a colour of a style; own is the terminal's own colour.
func (c *colors) of(color Color, own rgb) rgb {
	if n, ok := color.Index(); ok {
		return made(c.palette.Colors[n], made(standardPalette().Colors[n], own))
	}
	return made(color, own)
}

// A look is the set of colours for the parts of a cell.
type look struct{ text, ground, underline rgb }

func (c *colors) look(s Style) look {
	// Bold has always meant the brighter half of the first 16 colours as well, and programs choose their colours for
	// that: blue is hard to read on black.
	if n, ok := s.Foreground.Index(); ok && n < 8 && s.Attributes&Bold != 0 {
		s.Foreground = Indexed(n + 8)
	}
	l := look{text: c.of(s.Foreground, c.text), ground: c.of(s.Background, c.ground)}
	if s.Attributes&Inverse != 0 {
		l.text, l.ground = l.ground, l.text
	}
	if s.Attributes&Faint != 0 {
		l.text = mix(l.text, l.ground)
	}
	l.underline = c.of(s.UnderlineColor, l.text)
	return l
}

// underCursor returns the look of a cell under a block cursor: the reverse, or the cursor's own colour behind the text
// if it has one that is visible there.
func (c *colors) underCursor(l look) look {
	cursor := c.cursor
	if !c.ownCursor || near(cursor, l.ground) {
		cursor = l.text
	}
	if near(cursor, l.ground) {
		cursor = opposite(l.ground)
	}
	if l.underline == l.text {
		l.underline = l.ground
	}
	return look{text: l.ground, ground: cursor, underline: l.underline}
}

// cursorOn returns the colour of a cursor that covers little of a cell.
func (c *colors) cursorOn(l look) rgb {
	for _, cursor := range []rgb{c.cursor, l.text} {
		if !near(cursor, l.ground) {
			return cursor
		}
	}
	return opposite(l.ground)
}

// paletteColors is the maximum number of colours in the palette of a PNG.
const paletteColors = 256

// inks are the colours that occur in a picture. A pixel is an index of the palette, or the colour itself in a picture
// without a palette.
type inks struct {
	trueColor bool
	palette   color.Palette
	index     map[rgb]rgb
}

func (i *inks) of(c rgb) rgb {
	if i.trueColor {
		return c
	}
	n, ok := i.index[c]
	if !ok {
		if i.index == nil {
			i.index = map[rgb]rgb{}
		}
		n = rgb(len(i.palette))
		own := c // The palette has a pointer, and most calls need not allocate.
		i.index[c], i.palette = n, append(i.palette, &own)
	}
	return n
}
