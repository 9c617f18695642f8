// Package view has what the screen of one terminal shows. It is drawn on demand, from the stored
// output, and knows nothing of jobs: whoever owns the terminal says what there is (Source).
package view

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/turn"
	"shelld/screen"
)

// A view draws the output of a terminal job, for those who want to know what its screen
// shows. No job has one before somebody asks. It reads the spool with a cursor of its own,
// and is fed by whoever asks, in his own goroutine: neither the readLoop nor the job's turns
// ever wait for it. It stays as long as the job is known, so that a job that has ended still
// has its screen, though not the terminal (view_rest.go).
type View struct {
	src Source // immutable

	busy turn.Lock // held by whoever draws

	// Guarded by busy:
	term *screen.Terminal
	next int64  // where the output begins that is not drawn yet
	size int    // the number of the sizeMark that is in effect
	base uint64 // added to revisions, where term is not the first

	patchy bool             // not all output was drawn
	last   *screen.Snapshot // in place of term, once the job is closed; see rest

	told  uint64 // the revision that was shown last
	since int64  // what was drawn when it was shown first
}

const (
	// History is how many lines above its screen a job's view remembers.
	History = 1000

	// viewLag is how far a view may be behind and still draw all of it. Some 100 to 200 MB
	// are drawn in a second (BenchmarkTerminal): who asks ten times a second while a job
	// floods must not take a processor from the job and its reader for that.
	viewLag = 1 << 20
	// viewDrawn is what it draws where it is further behind: hundreds of screens full, and
	// as a rule more lines than are remembered above the screen.
	viewDrawn = 256 << 10
	// viewSkimmed is what it reads before that for what lasts, such as modes and margins.
	viewSkimmed = 1 << 20
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// A Source is the terminal whose output is drawn, as its owner knows it.
type Source struct {
	Spool   *spool.Spool             // the output
	Sizes   *Sizes                   // that the terminal has had; one at least
	Queries *Queries                 // that have to be drawn to be answered
	Told    func() screen.Told       // what the output has told so far
	Clean   func(text string) string // a title without secret values
	Ended   <-chan struct{}          // closed when no output will come any more
	Log     *slog.Logger
}

// A Screen is what a job's terminal shows.
type Screen struct {
	*screen.Snapshot
	Offset int64 // all output before this one is drawn

	// Same says that whatever was shown with this revision was shown at this Offset: then
	// not even what one does not see has changed, such as the colour that comes next.
	Same bool
}

// New returns a view that has drawn nothing.
func New(src Source) *View {
	v := &View{src: src, busy: turn.NewLock()}
	m, _ := src.Sizes.at(0)
	v.term, v.size = v.newTerminal(m), m.number
	return v
}

// newTerminal returns an empty screen, whose titles have no secret value.
func (v *View) newTerminal(m sizeMark) *screen.Terminal {
	t := screen.NewTerminal(m.cols, m.rows, History)
	t.Clean = v.src.Clean
	return t
}

// Show draws what was stored up to end, and returns what is shown then, with so many lines
// of what came before; nothing where that is wanted no more.
func (v *View) Show(end int64, history int, wanted func() bool) Screen {
	v.busy.Lock()
	defer v.busy.Unlock()
	if !v.draw(end, wanted) {
		return Screen{}
	}
	shown := v.shown(history)
	if shown == nil {
		shown = v.shown(history) // it has begun anew
	}
	v.rest()
	s := Screen{Snapshot: shown, Offset: v.next}
	if s.Approximate && s.Title == "" {
		s.Title = v.src.Told().Title // it may have been set in what was left out
	}
	if s.Revision != v.told {
		v.told, v.since = s.Revision, v.next
	}
	s.Same = v.since == v.next
	return s
}

// shown is snapshot, or nil where that fails.
func (v *View) shown(history int) *screen.Snapshot {
	defer v.mended(v.next)
	return v.snapshot(history)
}

// resize gives the terminal the size that it has where the view is, and returns where it has
// another one.
func (v *View) resize() (next int64) {
	m, next := v.src.Sizes.at(v.next)
	if m.number != v.size {
		v.term.Resize(m.cols, m.rows)
		v.size = m.number
	}
	return next
}

// skip leaves out what lies before an offset.
func (v *View) skip(to int64) {
	if to > v.next {
		v.term.Lost(v.src.Told().Modes)
		v.next, v.patchy = to, true
	}
}

// mended goes on with an empty screen where drawing has failed. A program's output must not
// end the server, whatever it is.
func (v *View) mended(end int64) {
	if p := recover(); p != nil {
		v.beginAnew(p, end)
	}
}

// beginAnew makes an empty screen of one that has failed.
func (v *View) beginAnew(failure any, end int64) {
	v.src.Log.Error("the screen of a job could not be drawn, and begins anew", "offset", v.next, "panic", fmt.Sprint(failure), "stack", string(debug.Stack()))
	m, _ := v.src.Sizes.at(end)
	v.base = v.revision() + 1
	v.last = nil
	v.term, v.size = v.newTerminal(m), m.number
	v.next, v.patchy = max(v.next, end), true
	v.term.Lost(v.src.Told().Modes)
}
