package conformance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"shelld/conformance/internal/wire"
)

// defaultWithin bounds each step that awaits something. It is loose: it says that
// nothing will come, not that something came late.
const defaultWithin = 20 * time.Second

// defaultShutdown is how long a server may take to end once its stdin has: its own grace
// of two seconds and then some, on a busy machine.
const defaultShutdown = 15 * time.Second

// A Verdict is how a session came out.
type Verdict string

const (
	Passed  Verdict = "pass"
	Failed  Verdict = "fail"  // the server did something wrong
	Skipped Verdict = "skip"  // the server or the machine lacks what the session needs
	Wrong   Verdict = "error" // the session file is wrong, or nothing could be run
	Known   Verdict = "known" // it failed, as the baseline says
)

// A Result is one run of one session. Its JSON form is what the flag -json prints.
type Result struct {
	Session    string        `json:"session"`
	Framing    string        `json:"framing"`
	Level      string        `json:"level"`
	Verdict    Verdict       `json:"verdict"`
	Reason     string        `json:"reason,omitempty"`     // why it was skipped, or how it failed: the step, expected and got
	Transcript string        `json:"transcript,omitempty"` // with relative times, where it failed
	Stderr     string        `json:"stderr,omitempty"`     // the end of what the server said there, where it failed
	Took       time.Duration `json:"-"`
	TookMs     int64         `json:"durationMs"`
}

// A Config says what sessions are run against.
type Config struct {
	Contract *Contract
	Command  []string // the server's; [0] is a path, or a name that is looked for on PATH
	Levels   []string // those that count; others are skipped. nil: all
	// Orphans makes this process the parent of what servers leave behind, and ends it
	// (Linux; elsewhere a server's process group alone is ended). It takes all children
	// of the process that come later for its own: for a program that does nothing else.
	Orphans bool
	// Within bounds each step that awaits something and does not say so itself, Shutdown
	// how long a server may take to end once its stdin has. 0: 20 s and 15 s.
	Within, Shutdown time.Duration
}

// A failure is what the server did wrong.
type failure struct {
	pos position
	msg string
}

func (f *failure) Error() string { return f.pos.String() + ": " + f.msg }

// A skipError says that the server or machine lacks what the session needs.
type skipError struct{ why string }

func (e *skipError) Error() string { return e.why }

// A player plays one session against one server process.
type player struct {
	cfg      Config
	session  *Session
	contract *Contract
	conn     *connection
	check    *checker

	vars     vars
	requests map[string]*request // by name
	ids      int
	cursors  map[string]int   // in the log: behind what the last expect matched, by its label (or "")
	seen     int              // in the log: what was checked
	spots    map[string]int64 // by job and stream: where the last output step ended
	nulls    int              // how many answers with id null the steps have asked for
	replies  []*step          // to requests of the server
	pending  []*step          // never and count, which look at the whole session
	froms    map[*step]int    // where each never begins
	closed   bool             // stdin
	status   bool             // a step has looked at the server's exit
	killed   bool             // a step has sent SIGKILL
}

// Run plays a session against a fresh server. It returns in bounded time, whatever the
// server does, and then the server and its process group are gone.
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
	conn, err := dial(append(slices.Clone(cfg.Command), s.Args...), framing)
	if err != nil {
		r.Verdict, r.Reason = Wrong, "the server cannot be started: "+err.Error()
		return r
	}
	cfg.Within, cfg.Shutdown = orDefault(cfg.Within, defaultWithin), orDefault(cfg.Shutdown, defaultShutdown)
	p := &player{
		cfg: cfg, session: s, contract: cfg.Contract, conn: conn, check: newChecker(),
		vars: vars{}, cursors: map[string]int{}, requests: map[string]*request{}, spots: map[string]int64{}, froms: map[*step]int{},
	}
	err = p.play()
	if e := p.end(err, cfg.Orphans); err == nil {
		err = e
	}
	r.judge(err, conn)
	return r
}

// applies is a verdict without a server, or "".
func applies(s *Session, cfg Config) (Verdict, string) {
	if s.bad != nil {
		return Wrong, s.bad.Error()
	}
	if cfg.Levels != nil && !slices.Contains(cfg.Levels, s.Level) {
		return Skipped, "the level " + s.Level + " was not asked for"
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

// within is how long a step may wait.
func (p *player) within(st *step) time.Duration { return orDefault(st.within, p.cfg.Within) }

func (r *Result) judge(err error, conn *connection) {
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
	r.Reason, r.Transcript, r.Stderr = err.Error(), conn.transcript(), conn.stderrTail()
}

// machineLacks says what of a session's needs the machine does not have.
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
	if !p.session.cold && p.session.steps[0].verb != "initialize" {
		if err := p.initialize(&step{position: position{p.session.file, 1, 1}}); err != nil {
			return located(&step{position: position{p.session.file, 1, 1}}, err)
		}
	}
	for i := range p.session.steps {
		st := &p.session.steps[i]
		if err := p.step(st); err != nil {
			return located(st, err)
		}
	}
	return nil
}

// located gives an error the step's place, if it has none of its own.
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

// step does one step.
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
		p.froms[st] = p.cursors[""]
		p.pending = append(p.pending, st)
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

// control does what the client does besides sending messages.
func (p *player) control(st *step) error {
	switch st.verb {
	case "close":
		p.closed = true
		p.conn.closeStdin()
	case "stall":
		p.conn.stall()
	case "resume":
		p.conn.resume()
	case "signal":
		p.killed = p.killed || st.words[0] == "KILL"
		if err := signalServer(p.conn.cmd, st.words[0]); !errors.Is(err, os.ErrProcessDone) { // how it has ended is told by what comes next
			return err
		}
	}
	return nil
}

// until waits until the log satisfies done, the server can say no more, or the time
// of the step is over. Everything that comes meanwhile is checked.
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

// whyOver says why a server says no more.
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

// inspect holds what came since the last time against contract and invariants, and
// answers the server's requests.
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

// reply answers a request of the server as the session says, or refuses it.
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
