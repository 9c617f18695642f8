package conformance

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file has the checks at the end of a session.

// end closes the session: after its stdin is closed, the server must answer every request and end by itself. If a
// step has failed, the server is killed.
func (p *player) end(failed error, orphans bool) error {
	defer p.conn.release(orphans)
	if failed != nil {
		p.conn.resume()
		return nil
	}
	inTime := p.conn.finish(p.cfg.Shutdown)
	return located(&step{position: position{p.session.file, p.session.last, 1}}, p.ended(inTime))
}

func (p *player) ended(inTime bool) error {
	log, _, over := p.conn.snapshot()
	if err := p.inspect(log); err != nil {
		return err
	}
	var g *wire.GarbageError
	switch {
	case errors.As(over, &g):
		return errors.New("the server's stdout has what is no message: " + g.Error())
	case errors.Is(over, errHeld):
		return over
	case !inTime:
		return fmt.Errorf("the server did not end within %v of the end of its stdin", p.cfg.Shutdown)
	}
	for _, st := range p.pending {
		if err := p.whole(st, log); err != nil {
			return located(st, err)
		}
	}
	if why := p.check.unclaimed(p.nulls); why != "" {
		return errors.New(why)
	}
	if p.killed {
		return nil // It could not do anything more. The session itself says which processes must be gone.
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
	return p.survivors()
}

// exitStatus checks that the status is 0 if shutdown was answered, else 1, unless a step has checked it.
func (p *player) exitStatus() error {
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

// whole executes the steps that examine the whole session.
func (p *player) whole(st *step, log []entry) error {
	if st.verb == "count" {
		return p.count(st, log)
	}
	to := len(log)
	if len(st.words) == 2 {
		r := p.requests[st.words[1]]
		if r == nil || r.answer == nil {
			return &syntaxError{st.position, fmt.Sprintf("no request %q was sent and answered", st.words[1])}
		}
		to = r.at
	}
	for i := p.froms[st]; i < to; i++ {
		if e := &log[i]; e.dir == wire.FromServer && p.fits(st.items[0], &e.msg) == nil {
			return errors.New("expected that this never comes, got " + wire.Clip(string(e.msg.Raw)))
		}
	}
	return nil
}

func (p *player) count(st *step, log []entry) error {
	want, _ := integer(st.words[0])
	var n int64
	for i := range log {
		if e := &log[i]; e.dir == wire.FromServer && p.fits(st.items[0], &e.msg) == nil {
			n++
		}
	}
	if n != want {
		return fmt.Errorf("expected %d of %s as here in the session, got %d", want, st.items[0], n)
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
// the last messages.
func (c *connection) transcript() string {
	log, _, _ := c.snapshot()
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
		fmt.Fprintf(&b, "%8.3fs %s %s\n", e.at.Seconds(), arrow, wire.Clip(string(e.msg.Raw)))
	}
	return b.String()
}
