package screen

// A mask marks the pixels that are drawn: 16 rows, the highest bit of each at the left. A mask of 8 pixels has the
// upper 8 bits.
type mask [cellHeight]uint16

// The lines of a cell, each drawn in every cell of a character. Letters stand on row 13; their descenders reach the
// last row.
var (
	strikeLine      = mask{9: 0xff00}
	overLine        = mask{0: 0xff00}
	underlineCursor = mask{14: 0xff00, 15: 0xff00}
	barCursor       = mask{
		0xc000, 0xc000, 0xc000, 0xc000, 0xc000, 0xc000, 0xc000, 0xc000,
		0xc000, 0xc000, 0xc000, 0xc000, 0xc000, 0xc000, 0xc000, 0xc000,
	}
)

func underlineMask(u Underline) mask {
	switch u {
	case NoUnderline:
		return mask{}
	case DoubleUnderline:
		return mask{13: 0xff00, 15: 0xff00}
	case CurlyUnderline: // continues from cell to cell
		return mask{13: 0x6000, 14: 0x9900, 15: 0x0600}
	case DottedUnderline:
		return mask{15: 0xaa00}
	case DashedUnderline:
		return mask{15: 0xf800}
	}
	return mask{15: 0xff00}
}

// drawLines draws the lines of a cell besides its character.
func (p *painter) drawLines(a area, s Style, l look) {
	if s.Underline != NoUnderline {
		p.drawMask(a, underlineMask(s.Underline), l.underline)
	}
	if s.Attributes&Strike != 0 {
		p.drawMask(a, strikeLine, l.text)
	}
	if s.Attributes&Overline != 0 {
		p.drawMask(a, overLine, l.text)
	}
}
