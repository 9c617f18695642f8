package screen

// A Snapshot is the picture of a terminal at one moment. Later writes to the terminal do not change it, and several
// goroutines may read it.
type Snapshot struct {
	Cols, Rows  int
	Lines       []Line // of the screen, from the top; Rows of them
	History     []Line // the lines that have left the normal screen at its top, oldest first
	Cursor      Cursor
	Title       string
	Modes       Modes
	Palette     *Palette
	Revision    uint64 // grows with every change of the picture
	Approximate bool   // drawn from less than all output: parts may be wrong

	reverse bool   // the whole screen is inverse (DECSCNM)
	resume  resume // the further state that AppendANSI needs
}

// A Cursor is the place of the next character.
type Cursor struct {
	Row, Col int // from 0, inside of the screen
	Visible  bool
	Shape    CursorShape
	Blink    bool
	// Pending: the last column was written, and the next character goes to the next row (if the terminal wraps lines).
	// Col is the last column then.
	Pending bool
}

// A CursorShape is the form of the cursor.
type CursorShape uint8

// The shapes of DECSCUSR.
const (
	BlockCursor CursorShape = iota
	UnderlineCursor
	BarCursor
)

// A Line is a row of cells.
type Line struct {
	Wrapped bool // the line was full, and continues in the next row

	cells  []cell
	tables *tables
}

// A Cell is a place for a character.
type Cell struct {
	Text  string // a character with its combining characters; "" if the cell is unwritten
	Width int    // 1; 2 for a wide character; 0 for the place behind a wide one
	Style Style
}

// A Run is a piece of a line in one style.
type Run struct {
	Col   int    // its first column
	Width int    // in columns
	Text  string // unwritten places are blanks
	Style Style
}

// Len returns the number of cells in the line: the columns of the screen, or fewer in history, which keeps no cell
// behind the last written one.
func (l Line) Len() int { return len(l.cells) }
