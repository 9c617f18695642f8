package jobs

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/view"
	"shelld.dev/shelld/screen"
)

// A screenReq is a request for the screen, which is drawn in a goroutine of its own.
type screenReq struct {
	reply reply[Screen]
	over  atomic.Bool // it has failed: stop drawing
}

type (
	// A resizeRecorder resizes a terminal, and records that.
	resizeRecorder interface {
		resize(cols, rows int, do func() error) error
	}
	// A screenSearcher waits for what patterns find on the screen.
	screenSearcher interface {
		onShown(hits []view.Hit)
		onUnseen(keys []int, why error) // the patterns see no more of the screen
		glanced(number int)
	}
	// An ender knows until when the end of a job waits.
	ender interface{ settleUntil() time.Time }
	// An answerer types the answers to queries.
	answerer interface {
		isOpen() bool
		// typeAnswer puts an answer into the queue. It returns false if there is no room. If full is set, there is none
		// as long as other answers wait.
		typeAnswer(data []byte, attrs proc.Attrs, full bool) bool
	}
)

// displayPart owns the screen of a job's terminal, and answers the terminal queries of its programs. Package view draws
// the screen. displayPart owns one view, starts the goroutines that call it, and takes their results in turns.
type displayPart struct {
	noPart
	j *base

	files  resizeRecorder
	waits  screenSearcher
	ending ender
	input  answerer
	lease  typingChecker

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
	// shownMsg brings the screen that was drawn for a request.
	shownMsg struct {
		req   *screenReq
		shown Screen
	}
)

// theView returns the job's view, and creates it the first time. It may be called in turns of a job with a terminal.
func (p *displayPart) theView() *view.View {
	if p.view == nil {
		p.view = view.New(view.Source{
			Spool: p.j.output.stream(PTY).spool, Sizes: &p.sizes, Queries: &p.j.heard.screen,
			Told: p.j.heard.last, Clean: p.j.redaction.text, Ended: p.j.ended, Log: p.j.log.With("job", p.j.id),
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
	p.j.background(func() {
		defer release()
		v.Release(end)
	})
}

func (p *displayPart) onScreen(m screenMsg) {
	if p.j.heard == nil {
		m.reply.fail(p.j.notInteractive("job %d has no terminal and therefore no screen; start it in pty mode, or read its output with job/read", p.j.id))
		return
	}
	r := &screenReq{reply: m.reply}
	p.requests = append(p.requests, r)
	v, end := p.theView(), p.j.End(PTY)
	release := p.j.Hold()
	p.j.background(func() {
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

func (shownMsg) message() {}

// begin sets up the display of a new job: the leader has the foreground. Its command line is not read from the system,
// since a program that is being loaded has no arguments yet.
func (p *displayPart) begin() {
	p.j.heard = &display{term: p.j.term, scanner: screen.NewScanner(hostName()), group: p.j.info.PID}
	p.j.heard.scanner.Clean = p.j.redaction.text
	p.j.output.stream(PTY).display = p.j.heard
	p.glance.size = p.sizes.Count()
	command := strings.Join(p.j.info.Argv, " ")
	command = strings.ToValidUTF8(command[:min(len(command), maxCommand)], "?")
	p.j.info.Foreground = &Process{p.j.info.PID, p.j.redaction.command(command)}
}

func (p *displayPart) onResize(m resizeMsg) {
	err := p.lease.refuseOthers(m.owner)
	if err == nil || p.j.isVacant() || p.j.term == nil {
		err = p.resize(m.cols, m.rows)
	}
	if err != nil {
		m.reply.fail(err)
		return
	}
	m.reply.ok(struct{}{})
}

// resize changes the size of the terminal.
func (p *displayPart) resize(cols, rows int) *Error {
	switch {
	case p.j.isVacant():
		return p.j.over()
	case p.j.term == nil:
		return p.j.notInteractive("job %d has no terminal to resize; start it in pty mode", p.j.id)
	}
	end := p.j.End(PTY) // the program's output for the new size comes after this offset
	if err := p.files.resize(cols, rows, func() error { return p.j.term.Resize(cols, rows) }); err != nil {
		return errorf(CodeInternal, "the terminal of job %d cannot be resized: %v", p.j.id, err)
	}
	if cols != p.j.info.Cols || rows != p.j.info.Rows {
		p.j.info.Cols, p.j.info.Rows = cols, rows
		p.sizes.Note(end, cols, rows)
		p.j.publish()
		p.j.untold.Add(Changed{What: ChangeSize, Cols: cols, Rows: rows})
	}
	return nil
}
