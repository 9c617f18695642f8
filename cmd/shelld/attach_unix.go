//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
)

const (
	// typedBytes is the maximum size of one job/write.
	typedBytes = 16 << 10
	// maxTyped is how much typed input waits for a job that does not read; more is dropped, with a beep.
	maxTyped = 1 << 20
)

// An attacher shows one job in our terminal.
//
// While it holds the input, the job's terminal has our size, and output goes to our terminal as it is. The server
// answers the queries of programs, and our terminal is not sent them: the program gets one answer, also when this
// process detaches between a query and its answer. Otherwise the sizes may differ, and the job's screen is drawn, cut to
// our size.
//
// Goroutines: loop owns everything below "Owned by loop". One reads our input; each request that is not answered yet has
// one. They pass functions to the loop.
type attacher struct {
	// Immutable:
	opts    attachOptions
	console *console
	member  *member
	handle  int64
	inbox   chan func()   // any goroutine -> loop
	over    chan struct{} // closed when nothing runs the loop any more
	stop    func()        // closes over, once

	// Owned by loop:
	filter   keyFilter
	holder   string // the client that holds the input; "": none
	former   string // the client from which we took the input
	holds    bool   // we hold the input
	taking   bool   // we have asked for the input
	pending  []byte // typed, and not sent yet
	writing  bool   // a job/write is not answered yet
	screen   shownScreen
	exit     *schema.Exit
	leaving  bool
	finished bool
	status   int // < 0: that of the job
	messages []string
}

// attach shows a job until it ends or the person detaches. It returns the exit status.
func attach(c *base.Call, o attachOptions) int {
	a := &attacher{
		opts: o, console: newConsole(), status: -1, filter: keyFilter{key: o.key},
		inbox: make(chan func()), over: make(chan struct{}),
	}
	a.stop = sync.OnceFunc(func() { close(a.over) })
	m, job, err := find(o, func(e client.Event) {
		if strings.HasPrefix(e.Method, "job/") { // None comes before we subscribe.
			a.post(func() { a.event(e) })
		}
	})
	if err != nil {
		return attachFailed(c, err)
	}
	a.member, a.handle, a.holder = m, job.Handle, deref0(job.InputHolder)
	err = a.run(job)
	a.stop()
	a.screen.leave()
	a.console.restore()
	m.leave()
	for _, text := range a.messages {
		fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name(), printable(text))
	}
	if err != nil {
		return attachFailed(c, err)
	}
	if a.status < 0 {
		return exitStatus(a.exit)
	}
	return a.status
}

// deref0 returns *p, or the zero value for nil.
func deref0[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// run shows the job. Whatever ends it, even a panic, the terminal is as it was.
func (a *attacher) run(job *schema.JobInfo) error {
	defer a.console.restore()
	switch {
	case job.Exit != nil:
		a.exit = job.Exit
		return a.showEnd()
	case job.Mode != schema.ModePty:
		return a.follow()
	}
	if err := a.console.raw(); err != nil {
		return err
	}
	defer a.screen.leave()
	sigs := make(chan os.Signal, 16)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGWINCH)
	defer signal.Stop(sigs)
	go a.readKeys()
	if a.opts.view {
		a.look("")
	} else {
		a.take()
	}
	a.loop(sigs)
	switch {
	case a.exit != nil && a.screen.drawn:
		a.screen.leave()
		return a.showEnd()
	case a.exit != nil && a.screen.raw:
		a.keepEnd()
	}
	return nil
}

// keepEnd leaves the last output of a job that has ended where it is, and continues below it.
func (a *attacher) keepEnd() {
	var res schema.JobScreenResult
	if a.member.call("job/screen", map[string]any{"handle": a.handle}, &res) != nil || res.Alternate {
		return // leave continues at the bottom.
	}
	a.screen.raw = false
	a.screen.write(fmt.Sprintf("%s\x1b[%d;%dH", resetModes, res.Cursor.Row+1, res.Cursor.Col+1))
	if res.Cursor.Col > 0 {
		a.screen.write("\r\n")
	}
}

// say keeps a message until the terminal is restored.
func (a *attacher) say(format string, args ...any) {
	a.messages = append(a.messages, fmt.Sprintf(format, args...))
}

// finish ends the loop.
func (a *attacher) finish(status int) {
	a.finished = true
	if a.status < 0 {
		a.status = status
	}
}

// post passes a function to the loop.
func (a *attacher) post(f func()) {
	select {
	case a.inbox <- f:
	case <-a.over:
	}
}

// ask sends a request now; the loop calls then after the answer.
func (a *attacher) ask(method string, params map[string]any, result any, then func(error)) {
	params["handle"] = a.handle
	sent, err := a.member.Send(method, params)
	if err != nil {
		return // The loop notices a lost host.
	}
	go func() {
		err := sent.Await(context.Background(), result)
		if !errors.Is(err, client.ErrServerGone) {
			a.post(func() { then(err) })
		}
	}()
}

func (a *attacher) loop(sigs <-chan os.Signal) {
	defer a.stop()
	for !a.finished {
		select {
		case f := <-a.inbox:
			f()
		case s := <-sigs:
			a.onSignal(s.(syscall.Signal))
		case <-a.member.Done():
			if !a.leaving {
				a.say("%v", a.member.gone())
			}
			a.finish(statusHostGone)
		}
	}
}

func (a *attacher) onSignal(s syscall.Signal) {
	switch {
	case s == syscall.SIGWINCH:
	case s == syscall.SIGINT && a.screen.plain: // Typed by the person: our terminal is not raw.
		a.detach(0)
		return
	default:
		a.detach(statusSignal + int(s))
		return
	}
	if a.holds {
		if cols, rows, ok := a.console.size(); ok {
			a.ask("job/resize", map[string]any{"cols": cols, "rows": rows}, nil, func(error) {}) // An error means that we hold the input no more, or that the job has ended.
		}
	}
	a.refresh()
}

// event handles an event of the job.
func (a *attacher) event(e client.Event) {
	switch e.Method {
	case "job/output":
		var p schema.JobOutputParams
		if e.Decode(&p) == nil && p.Handle == a.handle {
			a.output(&p)
		}
	case "job/screenChanged":
		if a.screen.drawn {
			a.draw()
		}
	case "job/inputChanged":
		var p schema.JobInputChangedParams
		if e.Decode(&p) == nil && p.Handle == a.handle {
			a.inputChanged(&p)
		}
	case "job/exited":
		var p schema.JobExitedParams
		if e.Decode(&p) == nil && p.Handle == a.handle {
			a.exit = &p.Exit
			a.say("job %d has ended", a.handle)
			a.finished = true
		}
	}
}

// take takes the input, at the beginning and not with the first key: what the person sees is then what the keys meet, in
// the person's own size, and an agent cannot type in between. A person who only wants to look gives -view.
func (a *attacher) take() {
	if a.taking || a.holds {
		return
	}
	a.taking = true
	p := map[string]any{"force": true}
	if cols, rows, ok := a.console.size(); ok {
		p["cols"], p["rows"] = cols, rows
	}
	former := a.holder
	a.ask("job/takeInput", p, nil, func(err error) {
		a.taking = false
		switch {
		case a.leaving:
		case client.KindOf(err) == schema.KindJobExited:
			a.gone(err)
		case err != nil:
			a.look("you cannot type: " + explainCall(err))
		default:
			a.holds = true
			a.write()
			if former != a.member.id {
				a.former = former
			}
			a.pass()
		}
	})
}

// gone is for a job that has ended before its events could be subscribed to.
func (a *attacher) gone(err error) {
	var res schema.JobGetResult
	a.ask("job/get", map[string]any{}, &res, func(failed error) {
		if failed != nil || res.Job.Exit == nil {
			a.say("%s", explainCall(err))
			a.finish(1)
			return
		}
		a.exit, a.finished = res.Job.Exit, true
		a.say("job %d has ended", a.handle)
	})
}

// inputChanged handles a new holder of the input.
func (a *attacher) inputChanged(p *schema.JobInputChangedParams) {
	a.holder = deref0(p.Holder)
	switch mine := a.holder == a.member.id; {
	case a.leaving || a.taking:
	case mine && !a.holds: // It was given to us.
		a.take()
	case !mine && a.holds:
		a.lost(p.By)
	case !mine && a.screen.drawn:
		a.draw()
	}
}

// lost is for an input that another client has taken.
func (a *attacher) lost(by string) {
	a.holds, a.pending = false, nil
	a.look(by + " has taken the input")
}

// readKeys reads our input. It ends with the process.
func (a *attacher) readKeys() {
	buf := make([]byte, feedBytes)
	for {
		n, err := os.Stdin.Read(buf)
		if n > 0 {
			typed := slices.Clone(buf[:n])
			a.post(func() { a.keys(typed) })
		}
		if err != nil {
			a.post(func() { a.detach(statusSignal + int(syscall.SIGHUP)) }) // Our terminal is gone.
			return
		}
	}
}

// keys handles typed keys.
func (a *attacher) keys(typed []byte) {
	forJob, command := a.filter.filter(typed, a.holds || a.taking)
	if a.holds || a.taking {
		if a.pending = append(a.pending, forJob...); len(a.pending) > maxTyped {
			a.pending = a.pending[:maxTyped]
			a.screen.write("\a")
		}
		a.write()
	}
	switch {
	case command == keyDetach:
		a.detach(0)
	case command == keyTake && !a.opts.view:
		a.take()
	}
}

// write sends what was typed, one request at a time.
func (a *attacher) write() {
	if a.writing || !a.holds || len(a.pending) == 0 {
		return
	}
	a.writing = true
	n := min(len(a.pending), typedBytes)
	p := map[string]any{"send": []any{map[string]any{"base64": base64.StdEncoding.EncodeToString(a.pending[:n])}}}
	a.pending = a.pending[n:]
	a.ask("job/write", p, nil, func(err error) {
		a.writing = false
		switch client.KindOf(err) {
		case schema.KindLineTooLong:
			a.screen.write("\a") // Like the kernel's terminal, which drops such a line.
		case schema.KindInputHeld: // It was taken before our subscription took effect.
			if a.holds && !a.leaving {
				a.lost("another client")
			}
		}
		a.write()
	})
}

// detach gives the input back and leaves the session. A second one does not wait for that.
func (a *attacher) detach(status int) {
	if a.leaving {
		a.finish(status)
		return
	}
	a.leaving = true
	left := func(has string) {
		a.say("detached from job %d of the session %s, which goes on; %s", a.handle, a.member.session, has)
		a.ask("session/detach", map[string]any{}, nil, func(error) { a.finish(status) })
		if a.status < 0 {
			a.status = status // The connection may end first.
		}
	}
	if !a.holds {
		left(heldBy(a.holder))
		return
	}
	a.write()
	a.giveBack(func() { left(heldBy(a.holder)) })
}

// giveBack gives the input to the client that had it, or, if that is not attached any more, to all.
func (a *attacher) giveBack(then func()) {
	free := func() {
		a.ask("job/giveInput", map[string]any{}, nil, func(err error) {
			if err == nil {
				a.holder = ""
			}
			then()
		})
	}
	if a.former == "" {
		free()
		return
	}
	a.ask("job/giveInput", map[string]any{"to": a.former}, nil, func(err error) {
		if err != nil {
			free()
			return
		}
		a.holder = a.former
		then()
	})
}

func heldBy(holder string) string {
	return cmp.Or(holder, "no client") + " holds its input"
}

// showEnd prints the last screen of a job that has ended, and how to read the rest.
func (a *attacher) showEnd() error {
	a.console.restore()
	var res schema.JobScreenResult
	err := a.member.call("job/screen", map[string]any{"handle": a.handle}, &res)
	if err == nil {
		text := strings.TrimRight(screenText(res.Lines), "\n")
		if _, err := os.Stdout.WriteString(printableLines(text)); err != nil {
			return err
		}
	}
	if len(a.messages) == 0 {
		a.say("job %d of the session %s has ended; \"shelld jobs\" and \"shelld jobs tail\" have its output", a.handle, a.member.session)
	}
	return nil
}

// printableLines returns text with its line ends, and with a last one.
func printableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(printable(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// follow prints the output of a job without a terminal until it ends.
func (a *attacher) follow() error {
	fmt.Fprintf(os.Stderr, "shelld attach: job %d has no terminal: this is its output, and keys do not reach it; Ctrl-C detaches\n", a.handle)
	sigs := make(chan os.Signal, 16)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(sigs)
	a.screen.plain = true
	params := map[string]any{
		"events": []string{"output", "exited"}, "from": "start", "encoding": schema.EncodingBase64,
	}
	a.ask("job/subscribe", params, nil, func(err error) {
		if err != nil {
			a.gone(err)
		}
	})
	a.loop(sigs)
	return nil
}
