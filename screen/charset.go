package screen

// A charset is one of the sets that ESC ( and similar sequences select. All others are treated as ASCII: programs that
// use UTF-8 need no others.
type charset byte

const (
	ascii       charset = 'B'
	british     charset = 'A' // # is £
	lineDrawing charset = '0' // DEC special graphics
)

// charsets are the four sets and the choice between them.
type charsets struct {
	g      [4]charset
	gl     uint8 // in use for ASCII
	single uint8 // for the next character only, SS2 and SS3; 0: none
}

func newCharsets() charsets { return charsets{g: [4]charset{ascii, ascii, ascii, ascii}} }

// plain reports whether ASCII stands for itself.
func (c *charsets) plain() bool { return c.single == 0 && c.g[c.gl] == ascii }

// designate handles ESC ( B and similar sequences.
func (c *charsets) designate(inter, final byte) {
	var slot int
	switch inter {
	case '(', ')', '*', '+':
		slot = int(inter - '(')
	case '-', '.', '/':
		slot = int(inter-'-') + 1
		final = byte(ascii) // sets of 96 characters: Latin 1 and the like
	default:
		return
	}
	switch set := charset(final); set {
	case british, lineDrawing:
		c.g[slot] = set
	default:
		c.g[slot] = ascii
	}
}

// translate returns the character that r stands for in the current set.
func (c *charsets) translate(r rune) rune {
	set := c.g[c.gl]
	if c.single != 0 {
		set, c.single = c.g[c.single], 0
	}
	switch {
	case set == lineDrawing && r >= 0x5f && r <= 0x7e:
		return lineDrawingRunes[r-0x5f]
	case set == british && r == '#':
		return '£'
	}
	return r
}

var lineDrawingRunes = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}
