package jobs

import (
	"slices"
	"sync/atomic"
)

// A screenReq waits for the screen, which is drawn in a goroutine of its own.
type screenReq struct {
	reply reply[Screen]
	over  atomic.Bool // it was failed, and needs no screen any more
}

// fail answers a request that gets no screen.
func (r *screenReq) fail(err *Error) {
	r.over.Store(true)
	r.reply.fail(err)
}

func (r *screenReq) wanted() bool { return !r.over.Load() }

type (
	// screenMsg asks what the terminal shows.
	screenMsg struct {
		history int
		room    func() bool // nil: there is room
		reply[Screen]
	}
	// shownMsg brings what has been drawn for a request.
	shownMsg struct {
		req   *screenReq
		shown Screen
	}
)

func (screenMsg) message() {}
func (shownMsg) message()  {}

// Screen asks what the job's terminal shows, with at most so many lines of what has left its
// screen at the top. All output that is stored when the request takes its turn is drawn, once room (which may be nil)
// has returned, in a goroutine that may block, that the caller has room for a screen and still wants it. It works as
// well after the job's end.
func (j *Job) Screen(history int, room func() bool) Pending[Screen] {
	r := newReply[Screen]()
	j.ask(screenMsg{history, room, r})
	return pend(j, r)
}

func (j *Job) onScreen(m screenMsg) {
	if j.display == nil {
		m.reply.fail(j.notInteractive("job %d has no terminal, and so no screen; start it in pty mode, or read its output with job/read", j.id))
		return
	}
	r := &screenReq{reply: m.reply}
	j.screens = append(j.screens, r)
	v, end := j.theView(), j.End(PTY)
	release := j.Hold()
	j.loops.Go(func() {
		defer release()
		if m.room != nil && !m.room() {
			j.ask(cancelMsg{m.tok})
			return
		}
		j.ask(shownMsg{r, v.show(end, m.history, r.wanted)})
	})
}

// onShown answers a request, unless it was cancelled meanwhile.
func (j *Job) onShown(m shownMsg) {
	if i := slices.Index(j.screens, m.req); i >= 0 {
		j.screens = slices.Delete(j.screens, i, i+1)
		m.req.reply.ok(m.shown)
	}
}

func (j *Job) cancelScreen(tok *token) bool {
	i := slices.IndexFunc(j.screens, func(r *screenReq) bool { return r.reply.tok == tok })
	if i < 0 {
		return false
	}
	j.screens[i].fail(j.canceled())
	j.screens = slices.Delete(j.screens, i, i+1)
	return true
}

// Screen is what the terminal shows as of a wait's end, where its spec asks for that; nil:
// it does not. It may have to be drawn.
func (o *Outcome) Screen() *Screen {
	switch {
	case o.view == nil:
		return nil
	case o.shown == nil:
		s := o.view.show(o.Output[PTY].To, 0, anyway)
		o.shown = &s
	}
	return o.shown
}
