package screen

// A Terminal draws what a program writes to it, as xterm does with UTF-8.
type Terminal struct{ rows, cols int }

// NewTerminal returns a terminal of this size that keeps at most history lines of
// what has left its normal screen at the top.
func NewTerminal(cols, rows, history int) *Terminal { return &Terminal{rows: rows, cols: cols} }

// Write draws. It takes all of it, whatever it is.
func (t *Terminal) Write(p []byte) {}

// Resize changes the size.
func (t *Terminal) Resize(cols, rows int) {}

// Replies returns what the terminal has answered since the last call.
func (t *Terminal) Replies() []byte { return nil }

// Snapshot returns what is shown, with at most history lines of what came before.
func (t *Terminal) Snapshot(history int) *Snapshot { return &Snapshot{Cols: t.cols, Rows: t.rows} }

type resume struct{}
