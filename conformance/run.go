package conformance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"shelld.dev/shelld/conformance/internal/wire"
)

// defaultWithin bounds each step that awaits a message. It is generous: it shows that nothing will come, not that
// something came late.
const defaultWithin = 20 * time.Second

// defaultShutdown is the maximum time that a server may take to end after its stdin is closed: its own grace
// period of two seconds, plus slack for a busy machine.
const defaultShutdown = 15 * time.Second

// A Verdict is the result of a session.
type Verdict string

const (
	Passed  Verdict = "pass"
	Failed  Verdict = "fail"  // the server broke the protocol
	Skipped Verdict = "skip"  // the server or the machine lacks a need of the session
	Wrong   Verdict = "error" // the session file is wrong, or nothing could be run
	Known   Verdict = "known" // it failed, and the baseline expects that
)

// A Result is one run of one session. Its JSON form is what the flag -json prints.
type Result struct {
	Session    string        `json:"session"`
	Framing    string        `json:"framing"`
	Level      string        `json:"level"`
	Verdict    Verdict       `json:"verdict"`
	Reason     string        `json:"reason,omitempty"`     // for a skipped or failed session: the step, expected and got
	Transcript string        `json:"transcript,omitempty"` // with relative times, if it failed
	Stderr     string        `json:"stderr,omitempty"`     // the end of the server's stderr, if it failed
	Took       time.Duration `json:"-"`
	TookMs     int64         `json:"durationMs"`
}

// A Config holds the options for running sessions.
type Config struct {
	Contract *Contract
	Command  []string // the server's; [0] is a path, or a name to find on PATH
	// Connect is the command that joins a session of the level sessions, and starts it if there is none: each client is
	// one process of it. {session} in its words stands for the session's name. nil: that level is skipped.
	Connect []string
	Levels  []string // levels to run; others are skipped. nil: all
	// Orphans makes this process the parent of the processes that servers leave behind, and kills them (Linux;
	// elsewhere only a server's process group is killed). It treats all later children of the process as orphans:
	// use it only in a program that starts no other children.
	Orphans bool
	// Within bounds each step that awaits a message and sets no time itself. Shutdown is the maximum time that a
	// server may take to end after its stdin is closed. 0: 20 s and 15 s.
	Within, Shutdown time.Duration
}

// A failure is an error of the server.
type failure struct {
	pos position
	msg string
}

func (f *failure) Error() string { return f.pos.String() + ": " + f.msg }

// A skipError says that the server or machine lacks a need of the session.
type skipError struct{ why string }

func (e *skipError) Error() string { return e.why }

// A player plays one session.
type player struct {
	cfg      Config
	session  *Session
	contract *Contract
	framing  string
	home     *home
	command  []string
	facts    *facts // what all connections must agree about; nil for other levels than sessions

	*line   // the connection that the steps are about
	clients map[string]*client

	vars     vars
	requests map[string]*request // by name
	pending  []inquiry           // never and count, which examine the whole session
	killed   bool                // a step has sent SIGKILL
	fresh    bool                // the connection is new, and the runner has to initialize it
}

// An inquiry is a never or count step, with the place in the log at which it was met.
type inquiry struct {
	*step
	of   *line
	from int
}

// Run plays a session against a fresh server. It returns in bounded time, whatever the server does; by then the
// server and its process group are dead.
func Run(s *Session, framing string, cfg Config) (r Result) {
	r = Result{Session: s.Name, Framing: framing, Level: s.Level}
	began := time.Now()
	defer func() {
		r.Took = time.Since(began)
		r.TookMs = r.Took.Milliseconds()
	}()
	if r.Verdict, r.Reason = applies(s, cfg); r.Verdict != "" {
		return r
	}
	cfg.Within, cfg.Shutdown = orDefault(cfg.Within, defaultWithin), orDefault(cfg.Shutdown, defaultShutdown)
	h, err := newHome(cfg.Orphans)
	if err != nil {
		r.Verdict, r.Reason = Wrong, "there is no directory for the server: "+err.Error()
		return r
	}
	defer h.release()
	p := &player{
		cfg: cfg, session: s, contract: cfg.Contract, framing: framing, home: h, command: append(slices.Clone(cfg.Command), s.Args...),
		clients: map[string]*client{}, vars: vars{}, requests: map[string]*request{},
	}
	if s.Level == shared {
		p.facts = newFacts()
		p.command = append(joining(cfg.Connect), s.Args...)
	}
	if err = p.connect(s.firstClient()); err != nil {
		r.Verdict, r.Reason = Wrong, "the server cannot be started: "+err.Error()
		return r
	}
	err = p.play()
	if e := p.end(err); err == nil {
		err = e
	}
	r.judge(err, p)
	return r
}

// applies returns a verdict if none needs a server, or "".
func applies(s *Session, cfg Config) (Verdict, string) {
	if s.bad != nil {
		return Wrong, s.bad.Error()
	}
	if cfg.Levels != nil && !slices.Contains(cfg.Levels, s.Level) {
		return Skipped, "the level " + s.Level + " was not asked for"
	}
	if s.Level == shared && len(cfg.Connect) == 0 {
		return Skipped, "there is no command that joins a session (-connect)"
	}
	if why := machineLacks(s); why != "" {
		return Skipped, why
	}
	if cfg.Orphans {
		if err := adoptOrphans(); err != nil {
			return Wrong, "this process cannot adopt what servers leave behind: " + err.Error()
		}
	}
	return "", ""
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// within returns the maximum time of a step.
func (p *player) within(st *step) time.Duration { return orDefault(st.within, p.cfg.Within) }

func (r *Result) judge(err error, p *player) {
	var skip *skipError
	var wrong *syntaxError
	switch {
	case err == nil:
		r.Verdict = Passed
		return
	case errors.As(err, &skip):
		r.Verdict, r.Reason = Skipped, skip.why
		return
	case errors.As(err, &wrong):
		r.Verdict = Wrong
	default:
		r.Verdict = Failed
	}
	r.Reason, r.Transcript, r.Stderr = err.Error(), p.transcript(), p.conn.stderrTail()
}

// machineLacks returns which need of a session the machine does not meet, or "".
func machineLacks(s *Session) string {
	for _, n := range s.Needs {
		switch n.Kind {
		case "platform":
			if n.Value != runtime.GOOS {
				return "this is not " + n.Value
			}
		case "program":
			if _, err := exec.LookPath(n.Value); err != nil {
				return n.Value + " is not installed"
			}
		}
	}
	return ""
}

func (p *player) play() error {
	if err := p.contract.misspelled(p.session); err != nil {
		return err
	}
	before := &step{position: position{p.session.file, 1, 1}}
	for i := range p.session.steps {
		st := &p.session.steps[i]
		if st.verb != "initialize" && st.verb != "client" && !st.prepares() {
			if err := p.greet(before); err != nil {
				return located(before, err)
			}
		}
		if err := p.step(st); err != nil {
			return located(st, err)
		}
		before = st
	}
	return located(before, p.greet(before))
}

// greet initializes a new connection, unless the session does that.
func (p *player) greet(st *step) error {
	if !p.fresh {
		return nil
	}
	return p.initialize(&step{position: st.position})
}

// located adds the step's position to an error, if the error has none.
func located(st *step, err error) error {
	var f *failure
	var s *syntaxError
	var k *skipError
	var m *mismatch
	if errors.As(err, &m) {
		return &failure{m.pos, m.text()}
	}
	if err == nil || errors.As(err, &f) || errors.As(err, &s) || errors.As(err, &k) {
		return err
	}
	return &failure{st.position, err.Error()}
}

// step executes one step.
func (p *player) step(st *step) error {
	switch st.verb {
	case "initialize":
		return p.initialize(st)
	case "send":
		return p.send(st)
	case "notify":
		return p.notify(st)
	case "frame":
		return p.content(st, wire.Frame(p.conn.framing, []byte(st.content)))
	case "raw":
		return p.content(st, []byte(st.content))
	case "answer", "error":
		return p.answer(st)
	case "expect":
		return p.expect(st)
	case "never", "count":
		p.pending = append(p.pending, inquiry{st, p.line, p.cursors[""]})
	case "output":
		return p.output(st)
	case "bytes":
		return p.bytes(st)
	case "reply":
		p.replies = append(p.replies, st)
	case "let":
		v, err := matcher{p.vars}.evaluate(st.v)
		p.vars[st.words[0]] = v
		return err
	case "exit":
		return p.exit(st)
	case "gone":
		return p.gone(st)
	default:
		return p.control(st)
	}
	return nil
}

// control executes the steps that do something other than sending messages.
func (p *player) control(st *step) error {
	switch st.verb {
	case "close":
		p.closed = true
		p.conn.closeStdin()
	case "stall":
		p.conn.stall()
	case "resume":
		p.conn.resume()
	case "client":
		return p.speak(st)
	case "cut":
		return p.cut(st)
	case "signal":
		p.killed = p.killed || st.words[0] == "KILL"
		if err := signalServer(p.conn.cmd, st.words[0]); !errors.Is(err, os.ErrProcessDone) { // the following steps report how it has ended
			return err
		}
	}
	return nil
}

// until waits until done accepts the log, the server can send no more, or the step's time is over. It checks
// every message that comes meanwhile.
func (p *player) until(st *step, what string, done func([]entry) (bool, error)) error {
	t := time.NewTimer(p.within(st))
	defer t.Stop()
	for {
		log, changed, over := p.conn.snapshot()
		if err := p.inspect(log); err != nil {
			return err
		}
		ok, err := done(log)
		if ok || err != nil {
			return err
		}
		if over != nil {
			return fmt.Errorf("expected %s, but %s", what, p.whyOver(over))
		}
		select {
		case <-t.C:
			return fmt.Errorf("expected %s within %v; it did not come", what, p.within(st))
		default:
		}
		select {
		case <-changed:
		case <-t.C:
			return fmt.Errorf("expected %s within %v; it did not come", what, p.within(st))
		}
	}
}

// whyOver returns why a server sends no more.
func (p *player) whyOver(over error) string {
	var g *wire.GarbageError
	if errors.As(over, &g) {
		return "the server's stdout has what is no message: " + g.Error()
	}
	if errors.Is(over, errHeld) {
		return over.Error()
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-p.conn.died:
		return "the server has ended (" + p.conn.cmd.ProcessState.String() + ")"
	case <-t.C:
		return "the server has closed its stdout"
	}
}

// inspect checks the new messages against contract and invariants, and answers the server's requests.
func (p *player) inspect(log []entry) error {
	for ; p.seen < len(log); p.seen++ {
		e := &log[p.seen]
		if e.dir == wire.ToServer {
			continue
		}
		m := &e.msg
		why := p.contract.received(m, p.check.method(m))
		if why == "" {
			why = p.check.received(m, p.seen)
		}
		if why != "" {
			return fmt.Errorf("the server sent what it must not: %s\n\tin %s", why, wire.Clip(string(m.Raw)))
		}
		if m.Kind == wire.KindRequest {
			if err := p.reply(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// reply answers a request of the server according to the session, or refuses it.
func (p *player) reply(m *wire.Message) error {
	id := m.V["id"]
	for _, st := range slices.Backward(p.replies) {
		if st.words[0] != m.Method || st.v != nil && match(st.v, m.Params, p.vars) != nil {
			continue
		}
		if st.more == nil {
			return nil // unanswered
		}
		v, err := (matcher{p.vars}).evaluate(st.more)
		if err != nil {
			return err
		}
		if why := p.contract.result(m.Method, v); why != "" {
			return &syntaxError{st.position, "the result does not fit its schema: " + why}
		}
		p.check.replied(m, v)
		p.message(map[string]any{"jsonrpc": "2.0", "id": id, "result": v})
		return nil
	}
	p.check.replied(m, nil)
	p.message(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code": wire.Number("-32601"), "message": "this client does not answer " + m.Method, "data": map[string]any{"kind": "methodNotFound", "method": m.Method},
	}})
	return nil
}
