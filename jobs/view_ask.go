package jobs

import (
	"slices"
	"sync/atomic"

	"shelld/jobs/internal/view"
)

type (
	// A Screen is what a job's terminal shows.
	Screen = view.Screen
	// A Place is where something stands on a screen.
	Place = view.Place
)

// A screenReq waits for the screen, which is drawn in a goroutine of its own.
type screenReq struct {
	reply reply[Screen]
	over  atomic.Bool // it was failed, and needs no screen any more
}

// displayPart knows what the terminal of a job shows, and answers what programs ask of it.
type displayPart struct {
	noPart
	j *Job

	heard    *display // nil: pipe mode
	sizes    view.Sizes
	glance   glancer
	view     *view.View // nil until somebody asks for the screen
	requests []*screenReq
	queries  queries // that wait for an answer
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

func (m screenMsg) deliver(j *Job) { j.display.onScreen(m) }
func (m shownMsg) deliver(j *Job)  { j.display.onShown(m) }

// theView returns the job's view, which it makes if there is none. Only turns call it, of a
// job with a terminal.
func (p *displayPart) theView() *view.View {
	if p.view == nil {
		p.view = view.New(view.Source{
			Spool: p.j.output.stream(PTY).spool, Sizes: &p.sizes, Queries: &p.heard.screen,
			Told: p.heard.last, Clean: p.j.redaction.text, Ended: p.j.ended, Log: p.j.log.With("job", p.j.id),
		})
	}
	return p.view
}

// restView lets go of the terminal of a job that is closed, once all of its output is drawn.
func (p *displayPart) restView() {
	if p.view == nil {
		return
	}
	v, end, release := p.view, p.j.End(PTY), p.j.Hold()
	p.j.output.loops.Go(func() {
		defer release()
		v.Rest(end)
	})
}

func (p *displayPart) onScreen(m screenMsg) {
	if p.heard == nil {
		m.reply.fail(p.j.input.notInteractive("job %d has no terminal, and so no screen; start it in pty mode, or read its output with job/read", p.j.id))
		return
	}
	r := &screenReq{reply: m.reply}
	p.requests = append(p.requests, r)
	v, end := p.theView(), p.j.End(PTY)
	release := p.j.Hold()
	p.j.output.loops.Go(func() {
		defer release()
		if m.room != nil && !m.room() {
			p.j.ask(cancelMsg{m.tok})
			return
		}
		p.j.ask(shownMsg{r, v.Show(end, m.history, r.wanted)})
	})
}

// onShown answers a request, unless it was cancelled meanwhile.
func (p *displayPart) onShown(m shownMsg) {
	if i := slices.Index(p.requests, m.req); i >= 0 {
		p.requests = slices.Delete(p.requests, i, i+1)
		m.req.reply.ok(m.shown)
	}
}

func (p *displayPart) cancel(tok *token) bool {
	i := slices.IndexFunc(p.requests, func(r *screenReq) bool { return r.reply.tok == tok })
	if i < 0 {
		return false
	}
	p.requests[i].fail(p.j.canceled())
	p.requests = slices.Delete(p.requests, i, i+1)
	return true
}

// Screen is what the terminal shows as of a wait's end, where its spec asks for that; nil:
// it does not. It may have to be drawn.
func (o *Outcome) Screen() *Screen {
	switch {
	case o.view == nil:
		return nil
	case o.shown == nil:
		s := o.view.Show(o.Output[PTY].To, 0, nil)
		o.shown = &s
	}
	return o.shown
}

func (p *displayPart) pending() int { return len(p.requests) }

func (p *displayPart) fail(err *Error) {
	for _, r := range p.requests {
		r.fail(err)
	}
	p.requests = nil
}
