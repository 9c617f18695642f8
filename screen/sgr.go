package screen

// selectStyle handles SGR.
func (t *Terminal) selectStyle(p *params) {
	pen := &t.cursor.pen
	if p.count() == 0 {
		t.plainPen()
		return
	}
	for i := 0; i < p.count(); i++ {
		n := p.at(i, 0)
		subs := i + 1
		for subs < p.count() && p.isSub(subs) {
			subs++
		}
		switch n {
		case 38, 48, 58:
			color, used, ok := p.color(i, subs)
			if ok {
				t.setColor(n, color)
			}
			i += used
			continue
		case 4:
			kind := 1
			if subs > i+1 {
				kind = p.at(i+1, 1)
			}
			if kind <= int(DashedUnderline) {
				pen.setUnderline(Underline(kind))
			}
		default:
			if subs == i+1 {
				t.styleNumber(n)
			}
		}
		i = subs - 1
	}
}

// plainPen handles SGR 0, which leaves protection unchanged.
func (t *Terminal) plainPen() {
	pen := &t.cursor.pen
	link := t.tables.extras[pen.extra]
	link.underline = 0
	*pen = cell{flags: pen.flags & protected, extra: t.extraFor(link)}
}

func (c *cell) setUnderline(u Underline) {
	c.flags = c.flags&^underlineBits | cellFlags(u)<<underlineShift
}

// styleNumber performs one number of SGR.
func (t *Terminal) styleNumber(n int) {
	pen := &t.cursor.pen
	switch {
	case n == 0:
		t.plainPen()
	case n >= 30 && n <= 37:
		pen.fg = Indexed(uint8(n - 30))
	case n >= 40 && n <= 47:
		pen.bg = Indexed(uint8(n - 40))
	case n >= 90 && n <= 97:
		pen.fg = Indexed(uint8(n - 90 + 8))
	case n >= 100 && n <= 107:
		pen.bg = Indexed(uint8(n - 100 + 8))
	case n == 39:
		pen.fg = 0
	case n == 49:
		pen.bg = 0
	case n == 59:
		t.setColor(58, 0)
	case n == 21:
		pen.setUnderline(DoubleUnderline)
	case n == 24:
		pen.setUnderline(NoUnderline)
	case n < len(attributeNumbers):
		a := attributeNumbers[n]
		pen.flags = pen.flags&^cellFlags(a.clear) | cellFlags(a.set)
	}
}

// attributeNumbers are the effects of SGR numbers on the attributes.
var attributeNumbers = [56]struct{ set, clear Attribute }{
	1: {set: Bold}, 2: {set: Faint}, 3: {set: Italic}, 5: {set: Blink}, 6: {set: Blink},
	7: {set: Inverse}, 8: {set: Invisible}, 9: {set: Strike}, 53: {set: Overline},
	22: {clear: Bold | Faint}, 23: {clear: Italic}, 25: {clear: Blink}, 27: {clear: Inverse},
	28: {clear: Invisible}, 29: {clear: Strike}, 55: {clear: Overline},
}

func (t *Terminal) setColor(what int, c Color) {
	pen := &t.cursor.pen
	switch what {
	case 38:
		pen.fg = c
	case 48:
		pen.bg = c
	case 58:
		e := t.tables.extras[pen.extra]
		e.underline = c
		pen.extra = t.extraFor(e)
	}
}

// color parses the colour after SGR 38, 48 or 58, at i: with colons, the parts of which end at subs, or with
// semicolons. used is the number of parameters taken.
func (p *params) color(i, subs int) (c Color, used int, ok bool) {
	if subs > i+1 {
		return p.colonColor(i, subs)
	}
	switch p.at(i+1, 0) {
	case 5:
		n := p.at(i+2, 0)
		return Indexed(uint8(n)), 2, n < 256 && i+2 < p.count()
	case 2:
		r, g, b := p.at(i+2, 0), p.at(i+3, 0), p.at(i+4, 0)
		return RGB(uint8(r), uint8(g), uint8(b)), 4, r < 256 && g < 256 && b < 256 && i+4 < p.count()
	}
	return 0, p.count() - i, false // the beginning of the next number is unknown
}

func (p *params) colonColor(i, subs int) (c Color, used int, ok bool) {
	used = subs - i - 1
	switch p.at(i+1, 0) {
	case 5:
		n := p.at(i+2, 0)
		return Indexed(uint8(n)), used, used >= 2 && n < 256
	case 2:
		first := i + 2
		if used >= 5 {
			first++ // a colour space comes first
		}
		r, g, b := p.at(first, 0), p.at(first+1, 0), p.at(first+2, 0)
		return RGB(uint8(r), uint8(g), uint8(b)), used, used >= 4 && r < 256 && g < 256 && b < 256
	}
	return 0, used, false
}
