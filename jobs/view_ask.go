package jobs

import (
	"slices"
	"sync/atomic"

	"shelld/jobs/internal/view"
)

type (
	// A Screen is the visible content of a job's terminal.
	Screen = view.Screen
	// A Place is a cell of a screen.
	Place = view.Place
)

// A screenReq is a request for the screen, which is drawn in a goroutine of its own.
type screenReq struct {
	reply reply[Screen]
	over  atomic.Bool // it has failed: stop drawing
}

// displayPart owns the screen of a job's terminal, and answers the terminal queries of its programs. Package view draws
// the screen. displayPart owns one view, starts the goroutines that call it, and takes their results in turns.
type displayPart struct {
	noPart
	j *Job

	heard    *display // nil: pipe mode
	sizes    view.Sizes
	glance   glancer
	view     *view.View // nil until the screen is needed
	requests []*screenReq
	queries  queries // unanswered
}

// fail answers a request with an error.
func (r *screenReq) fail(err *Error) {
	r.over.Store(true)
	r.reply.fail(err)
}

func (r *screenReq) wanted() bool { return !r.over.Load() }

type (
	// screenMsg requests the screen.
	screenMsg struct {
		history int
		room    func() bool // nil: there is room
		reply[Screen]
	}
	// shownMsg brings the screen that was drawn for a request.
	shownMsg struct {
		req   *screenReq
		shown Screen
	}
)

func (m screenMsg) deliver(j *Job) { j.display.onScreen(m) }
func (m shownMsg) deliver(j *Job)  { j.display.onShown(m) }

// theView returns the job's view, and creates it the first time. It may be called in turns of a job with a terminal.
func (p *displayPart) theView() *view.View {
	if p.view == nil {
		p.view = view.New(view.Source{
			Spool: p.j.output.stream(PTY).spool, Sizes: &p.sizes, Queries: &p.heard.screen,
			Told: p.heard.last, Clean: p.j.redaction.text, Ended: p.j.ended, Log: p.j.log.With("job", p.j.id),
		})
	}
	return p.view
}

// releaseView releases the drawn terminal of a closed job.
func (p *displayPart) releaseView() {
	if p.view == nil {
		return
	}
	v, end, release := p.view, p.j.End(PTY), p.j.Hold()
	p.j.output.loops.Go(func() {
		defer release()
		v.Release(end)
	})
}

func (p *displayPart) onScreen(m screenMsg) {
	if p.heard == nil {
		m.reply.fail(p.j.input.notInteractive("job %d has no terminal and therefore no screen; start it in pty mode, or read its output with job/read", p.j.id))
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

// onShown answers a request, unless it was cancelled in the meantime.
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

// Screen returns the screen of the terminal at the end of the wait, or nil if the wait's spec does not request it. It
// may draw in the caller's goroutine.
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
