package view

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/turn"
	"shelld.dev/shelld/screen"
)

// History is the number of lines above the screen that a view keeps.
const History = 1000

// A Source is the terminal that a view draws.
type Source struct {
	Spool   *spool.Spool             // its output
	Sizes   *Sizes                   // at least one
	Queries *Queries                 // which the view answers as it passes them
	Told    func() screen.Told       // title and modes as of the latest output; any goroutine may call it
	Clean   func(text string) string // removes secret values from a title; nil: there are none
	Ended   <-chan struct{}          // closed when no more output will come
	Log     *slog.Logger
}

// A View draws the output of one terminal. It reads the spool with a cursor of its own. Every method may be called in
// any goroutine; it draws in that goroutine, and blocks while another one draws.
type View struct {
	src  Source    // immutable
	busy turn.Lock // held while drawing, which can take long: unlike a mutex, waiters show up as blocked on a channel

	// Guarded by busy:
	term       *screen.Terminal
	next       int64            // offset of the first byte that is not drawn yet
	size       int              // number of the sizeMark that term has
	base       uint64           // added to the revisions of term, if it is not the first terminal
	incomplete bool             // some output was skipped
	final      *screen.Snapshot // replaces term once the terminal is closed; see release

	shownRevision uint64 // of the latest Screen
	shownFrom     int64  // Offset of the first Screen with that revision
}

// A Screen is the visible content of a terminal.
type Screen struct {
	*screen.Snapshot
	Offset int64 // all output before this offset is drawn

	// Same reports that every Screen with this revision had this Offset. Then invisible state, such as the colour of
	// the next character, has not changed either.
	Same bool
}

// New returns a view that has drawn nothing yet.
func New(src Source) *View {
	v := &View{src: src, busy: turn.NewLock()}
	v.newTerminal(0)
	return v
}

// newTerminal replaces the terminal by an empty one with the size that applies at an offset.
func (v *View) newTerminal(at int64) {
	m, _ := v.src.Sizes.at(at)
	v.term, v.size = screen.NewTerminal(m.cols, m.rows, History), m.number
	v.term.Clean = v.src.Clean
}

// Show draws the output up to end and returns the screen with at most history lines above it. It calls wanted, which
// may be nil, before each slice of work, and returns a Screen without Snapshot if that returns false.
func (v *View) Show(end int64, history int, wanted func() bool) Screen {
	v.busy.Lock()
	defer v.busy.Unlock()
	if !v.draw(end, wanted) {
		return Screen{}
	}
	shown := v.trySnapshot(history)
	if shown == nil {
		shown = v.trySnapshot(history) // of the new terminal
	}
	v.release()
	s := Screen{Snapshot: shown, Offset: v.next}
	if s.Approximate && s.Title == "" {
		s.Title = v.src.Told().Title // it may have been set in output that was skipped
	}
	if s.Revision != v.shownRevision {
		v.shownRevision, v.shownFrom = s.Revision, v.next
	}
	s.Same = v.shownFrom == v.next
	return s
}

// drawTo draws the output up to end, and returns the offset and the revision that were reached.
func (v *View) drawTo(end int64) (offset int64, revision uint64) {
	v.busy.Lock()
	defer v.busy.Unlock()
	v.draw(end, nil)
	return v.next, v.revision()
}

// trySnapshot returns the snapshot, or nil after a panic.
func (v *View) trySnapshot(history int) *screen.Snapshot {
	defer v.recoverAt(v.next)
	return v.snapshot(history)
}

// snapshot returns the screen with at most history lines above it.
func (v *View) snapshot(history int) *screen.Snapshot {
	if v.final == nil {
		s := v.term.Snapshot(history)
		s.Revision += v.base
		return s
	}
	s := *v.final
	s.History = s.History[max(len(s.History)-history, 0):]
	return &s
}

// revision counts the visible changes.
func (v *View) revision() uint64 {
	switch {
	case v.final != nil:
		return v.final.Revision
	case v.term == nil:
		return v.base
	}
	return v.base + v.term.Revision()
}

// recoverAt is deferred. It continues at an offset with an empty terminal if drawing panics: no output may end the
// server.
func (v *View) recoverAt(offset int64) {
	if p := recover(); p != nil {
		v.restart(p, offset)
	}
}

// restart replaces a terminal that panicked by an empty one, and skips the output up to an offset.
func (v *View) restart(failure any, offset int64) {
	v.src.Log.Error("a screen could not be drawn and starts empty", "offset", v.next, "panic", fmt.Sprint(failure), "stack", string(debug.Stack()))
	v.base = v.revision() + 1
	v.final = nil
	v.newTerminal(offset)
	v.next, v.incomplete = max(v.next, offset), true
	v.term.Lost(v.src.Told().Modes)
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}
