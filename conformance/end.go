package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file has the checks at the end of a session.

// end closes the session: after its stdin is closed, the server must answer every request and end by itself. If a
// step has failed, the servers are killed.
func (p *player) end(failed error) error {
	all := p.lines()
	defer func() {
		for _, l := range all {
			l.conn.resume()
			l.conn.release()
		}
	}()
	if failed != nil {
		return nil
	}
	last := &step{position: position{p.session.file, p.session.last, 1}}
	for _, l := range all {
		if err := p.on(l, p.finish); err != nil {
			return located(last, err)
		}
	}
	for _, q := range p.pending {
		if err := p.whole(q); err != nil {
			return located(q.step, err)
		}
	}
	for _, l := range all {
		if err := p.on(l, p.ended); err != nil {
			return located(last, err)
		}
	}
	if p.killed {
		return nil // The session itself says which processes must be gone.
	}
	return located(last, p.left(all))
}

// finish lets the server end, and checks its last messages.
func (p *player) finish() error {
	inTime := p.lost || p.conn.finish(p.cfg.Shutdown)
	log, _, over := p.conn.snapshot()
	if err := p.inspect(log); err != nil {
		return err
	}
	var g *wire.GarbageError
	switch {
	case p.lost: // It may have ended inside a message.
	case errors.As(over, &g):
		return errors.New("the server's stdout has what is no message: " + g.Error())
	case errors.Is(over, errHeld):
		return over
	case !inTime:
		return fmt.Errorf("the server did not end within %v of the end of its stdin", p.cfg.Shutdown)
	}
	return nil
}

// ended checks a connection after its end.
func (p *player) ended() error {
	if why := p.check.unclaimed(p.nulls); why != "" {
		return errors.New(why)
	}
	if p.killed || p.lost {
		return nil // The server could not do anything more.
	}
	if why := p.check.ended(); why != "" {
		return errors.New(why)
	}
	if err := p.exitStatus(); err != nil {
		return err
	}
	if why := p.check.secretIn("the server's stderr", p.conn.lastWords()); why != "" {
		return errors.New(why)
	}
	return nil
}

// left checks that nothing of the session is left, and that its connections agree about its jobs.
func (p *player) left(all []*line) error {
	for _, l := range all {
		if err := p.on(l, p.survivors); err != nil {
			return err
		}
	}
	if p.facts == nil {
		return nil
	}
	if left := p.home.awaitEmpty(p.cfg.Shutdown); len(left) > 0 {
		return fmt.Errorf("the processes %v are left %v after the last client has gone: a session ends by session/end, or by its lease", left, p.cfg.Shutdown)
	}
	if why := sameBytes(all); why != "" {
		return errors.New(why)
	}
	return nil
}

// exitStatus checks that the status is 0 if shutdown was answered, else 1, unless a step has checked it.
func (p *player) exitStatus() error {
	if p.facts != nil {
		return nil // It is that of the command that joins the session.
	}
	want := 1
	if p.check.shutdown {
		want = 0
	}
	state := p.conn.cmd.ProcessState
	if got := state.ExitCode(); got != want && !p.status {
		return fmt.Errorf("expected the server's exit status %d (0 if shutdown was answered, else 1), got %s", want, state)
	}
	return nil
}

// survivors checks that no process of a job outlives the server.
func (p *player) survivors() error {
	for _, j := range p.check.jobs {
		if j.pid > 1 && !awaitGone(int(j.pid), p.cfg.Shutdown) {
			return fmt.Errorf("the process %d of job %s has outlived the server", j.pid, j.handle)
		}
	}
	return nil
}

// whole executes a step that examines the whole session of a client, over all of its connections.
func (p *player) whole(q inquiry) error {
	if q.verb == "count" {
		return p.count(q)
	}
	var until *request
	if len(q.words) == 2 {
		if until = p.requests[q.words[1]]; until == nil || until.answer == nil {
			return &syntaxError{q.position, fmt.Sprintf("no request %q was sent and answered", q.words[1])}
		}
	}
	after := false
	for _, l := range q.of.lines {
		if after = after || l == q.of; !after {
			continue
		}
		log, _, _ := l.conn.snapshot()
		from, to := 0, len(log)
		if l == q.of {
			from = q.from
		}
		if until != nil && until.of == l {
			to = until.at
		}
		for i := from; i < to; i++ {
			if e := &log[i]; e.dir == wire.FromServer && p.fits(q.items[0], &e.msg) == nil {
				return errors.New("expected that this never comes, got " + wire.Clip(string(e.msg.Raw)))
			}
		}
		if until != nil && until.of == l {
			break
		}
	}
	return nil
}

func (p *player) count(q inquiry) error {
	want, _ := integer(q.step.words[0])
	var n int64
	for _, l := range q.of.lines {
		log, _, _ := l.conn.snapshot()
		for i := range log {
			if e := &log[i]; e.dir == wire.FromServer && p.fits(q.items[0], &e.msg) == nil {
				n++
			}
		}
	}
	if n != want {
		return fmt.Errorf("expected %d of %s as here in the session, got %d", want, q.items[0], n)
	}
	return nil
}

// exit waits for the server to end, and sends nothing: an earlier step must have caused the end.
func (p *player) exit(st *step) error {
	p.status = true
	err := p.until(st, "the server's end", func([]entry) (bool, error) {
		select {
		case <-p.conn.died:
			return true, nil
		default:
			return false, nil
		}
	})
	if err != nil {
		select { // Its stdout has ended, and the process may end a little later.
		case <-p.conn.died:
		default:
			return err
		}
	}
	want, _ := integer(st.words[0])
	state := p.conn.cmd.ProcessState
	if st.words[0] != "any" && int(want) != state.ExitCode() {
		return fmt.Errorf("expected the server's exit status %d, got %s", want, state)
	}
	return nil
}

// gone waits until the process does not exist any more.
func (p *player) gone(st *step) error {
	v, err := (matcher{p.vars}).evaluate(st.v)
	if err != nil {
		return err
	}
	pid, ok := wire.Int(v)
	if !ok || pid <= 1 {
		return &syntaxError{st.v.at(), "this is no process id: " + wire.Show(v)}
	}
	if !awaitGone(int(pid), p.within(st)) {
		return fmt.Errorf("expected the process %d to be gone within %v; it is there", pid, p.within(st))
	}
	return nil
}

// awaitGone polls: the process may be a child of any other process, and only its parent is notified when it ends.
func awaitGone(pid int, within time.Duration) bool {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(within); alive(pid); <-look.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// transcript formats all messages in both directions, with relative times; of a long session only the first and
// the last messages. If there are several clients, each message has the name of its own.
func (p *player) transcript() string {
	type said struct {
		entry
		by string
	}
	var log []said
	for _, l := range p.lines() {
		entries, _, _ := l.conn.snapshot()
		by := ""
		if p.facts != nil {
			by = l.name + " "
		}
		for _, e := range entries {
			log = append(log, said{e, by})
		}
	}
	slices.SortStableFunc(log, func(a, b said) int { return cmp.Compare(a.at, b.at) })
	const most = 400
	var b strings.Builder
	for i, e := range log {
		if len(log) > most && i == most/2 {
			fmt.Fprintf(&b, "          … %d more …\n", len(log)-most)
		}
		if len(log) > most && i >= most/2 && i < len(log)-most/2 {
			continue
		}
		arrow := "-->"
		if e.dir == wire.FromServer {
			arrow = "<--"
		}
		fmt.Fprintf(&b, "%8.3fs %s%s %s\n", e.at.Seconds(), e.by, arrow, wire.Clip(string(e.msg.Raw)))
	}
	return b.String()
}
