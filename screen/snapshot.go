package screen

// A Snapshot is what a terminal shows at one moment. It does not change, whatever is
// written to the terminal afterwards, and may be read by several goroutines.
type Snapshot struct {
	Cols, Rows  int
	Lines       []Line // of the screen, from the top; Rows of them
	History     []Line // what has left the normal screen at its top, oldest first
	Cursor      Cursor
	Title       string
	Modes       Modes
	Palette     *Palette
	Revision    uint64 // grows with every change of what is shown
	Approximate bool   // drawn from less than all output: parts may be wrong

	reverse bool   // the whole screen is inverse (DECSCNM)
	resume  resume // what AppendANSI needs beside what is shown
}

// A Cursor is where the next character goes.
type Cursor struct {
	Row, Col int // from 0, inside of the screen
	Visible  bool
	Shape    CursorShape
	Blink    bool
	// Pending: the last column was written, and the next character goes to the next
	// row (if the terminal wraps lines). Col is the last column then.
	Pending bool
}

// A CursorShape is how the cursor looks.
type CursorShape uint8

// The shapes of DECSCUSR.
const (
	BlockCursor CursorShape = iota
	UnderlineCursor
	BarCursor
)

// A Line is a row of cells.
type Line struct {
	Wrapped bool // the line was full, and goes on in the next row

	cells  []cell
	tables *tables
}

// A Cell is a place for a character.
type Cell struct {
	Text  string // a character with what combines with it; "" where nothing was written
	Width int    // 1; 2 for a wide character; 0 for the place behind a wide one
	Style Style
}

// A Run is what stands side by side in one style.
type Run struct {
	Col   int    // where it begins
	Width int    // in columns
	Text  string // places where nothing was written are blanks
	Style Style
}

// Len returns how many cells the line has: the columns of the screen, or fewer in
// history, where no cell is kept behind the last that was written.
func (l Line) Len() int { return len(l.cells) }
