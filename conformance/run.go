package conformance

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shutdownTime is how long a server may take to end once its stdin has: its own grace
// of two seconds and then some, on a busy machine.
const shutdownTime = 15 * time.Second

// A Verdict is how a session came out.
type Verdict string

const (
	Passed  Verdict = "pass"
	Failed  Verdict = "fail"
	Skipped Verdict = "skip"
	Wrong   Verdict = "error" // the session file itself
)

// A Result is one run of one session.
type Result struct {
	Session    string
	Framing    string
	Level      string
	Verdict    Verdict
	Reason     string // why it was skipped, or how it failed: the step, expected and got
	Transcript string // with relative times, where it failed
	Stderr     string // the end of what the server said there
	Took       time.Duration
}

// A Config says what is run against what.
type Config struct {
	Contract *Contract
	Command  []string
	Levels   []string // those that count; others are skipped
}

// A failure is what the server did wrong.
type failure struct {
	pos position
	msg string
}

func (f *failure) Error() string { return f.pos.String() + ": " + f.msg }

// A player plays one session against one server process.
type player struct {
	session  *Session
	contract *Contract
	conn     *connection

	vars     vars
	requests map[string]string // ids as spelled, by name
	methods  map[string]string // by id
	ids      int
	cursor   int // in the log: behind what the last expect matched
	seen     int // in the log: what was checked
	check    *checker
	replies  []step // to requests of the server
	raw      bool   // bytes were sent that the contract knows nothing of
	spots    map[string]int64
	pending  []func() error // checks at the session's end
	closed   bool           // stdin
}

// Run plays a session against a fresh server.
func Run(s *Session, framing string, cfg Config) (r Result) {
	r = Result{Session: s.Name, Framing: framing, Level: s.Level}
	began := time.Now()
	defer func() { r.Took = time.Since(began) }()
	if !slices.Contains(cfg.Levels, s.Level) {
		r.Verdict, r.Reason = Skipped, "level "+s.Level+" was not asked for"
		return r
	}
	if why := machineLacks(s); why != "" {
		r.Verdict, r.Reason = Skipped, why
		return r
	}
	conn, err := dial(append(slices.Clone(cfg.Command), s.Args...), framing)
	if err != nil {
		r.Verdict, r.Reason = Failed, "the server cannot be started: "+err.Error()
		return r
	}
	p := &player{
		session: s, contract: cfg.Contract, conn: conn, vars: vars{}, requests: map[string]string{}, methods: map[string]string{},
		check: newChecker(), spots: map[string]int64{},
	}
	err = p.play()
	if e := p.end(err == nil); err == nil {
		err = e
	}
	var skip *skipError
	var wrong *syntaxError
	switch {
	case err == nil:
		r.Verdict = Passed
		return r
	case errors.As(err, &skip):
		r.Verdict, r.Reason = Skipped, skip.why
		return r
	case errors.As(err, &wrong):
		r.Verdict = Wrong
	default:
		r.Verdict = Failed
	}
	r.Reason, r.Transcript, r.Stderr = err.Error(), conn.transcript(), string(conn.stderr)
	return r
}

// A skipError says that the server or machine lacks what the session needs.
type skipError struct{ why string }

func (e *skipError) Error() string { return e.why }

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
	if !p.session.initializes() {
		if err := p.initialize(&step{position: position{p.session.Name, 1, 1}, within: defaultWithin}); err != nil {
			return err
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
	if errors.As(err, &f) || errors.As(err, &s) || errors.As(err, &k) {
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
		p.raw = true
		return p.conn.send(frame(p.conn.framing, []byte(st.content)))
	case "raw":
		p.raw = true
		return p.conn.send([]byte(st.content))
	case "answer", "error":
		return p.answer(st)
	case "expect":
		return p.expect(st)
	case "never":
		from := p.cursor
		p.pending = append(p.pending, func() error { return p.never(st, from) })
	case "count":
		p.pending = append(p.pending, func() error { return p.count(st) })
	case "output":
		return p.output(st)
	case "reply":
		p.replies = append(p.replies, *st)
	case "let":
		v, err := matcher{p.vars}.evaluate(st.v)
		p.vars[st.words[0]] = v
		return err
	case "close":
		p.closed = true
		p.conn.closeStdin()
	case "stall":
		p.conn.stall()
	case "resume":
		p.conn.resume()
	case "exit":
		return p.exit(st)
	case "signal":
		return signalServer(p.conn.cmd, st.words[0])
	case "gone":
		return p.gone(st)
	}
	return nil
}

// initialize sends initialize and initialized, and looks at what the server can do.
func (p *player) initialize(st *step) error {
	params := any(map[string]any{})
	if st.v != nil {
		v, err := (matcher{p.vars}).evaluate(st.v)
		if err != nil {
			return err
		}
		params = v
	}
	id := p.nextID()
	p.requests["initialize"] = id
	if err := p.request(id, "initialize", params); err != nil {
		return err
	}
	m, err := p.await(st, "an answer to initialize", p.responseTo(id))
	if err != nil {
		return err
	}
	if m.err != nil {
		return fmt.Errorf("initialize failed: %s", show(m.err))
	}
	if st.more != nil {
		if err := match(st.more, m.result, p.vars); err != nil {
			return err
		}
	}
	if err := p.serverLacks(m.result); err != nil {
		return err
	}
	return p.message(map[string]any{"jsonrpc": "2.0", "method": "initialized", "params": map[string]any{}})
}

// needMembers are where capabilities tells of a need.
var needMembers = map[string]string{
	"mode": "modes", "method": "methods", "event": "events", "condition": "conditions", "signal": "signals", "key": "keys",
	"encoding": "encodings", "readFormat": "readFormats", "waitFormat": "waitFormats",
}

// serverLacks is a skipError if capabilities do not have what the session needs.
func (p *player) serverLacks(result any) error {
	o, _ := result.(map[string]any)
	caps, _ := o["capabilities"].(map[string]any)
	for _, n := range p.session.Needs {
		if n.Kind == "capability" && caps[n.Value] != true {
			return &skipError{"the server has no capability " + n.Value}
		}
		list, ok := caps[needMembers[n.Kind]].([]any)
		if needMembers[n.Kind] != "" && (!ok || !slices.Contains(list, any(n.Value))) {
			return &skipError{fmt.Sprintf("the server has no %s %s", n.Kind, n.Value)}
		}
	}
	return nil
}

func (p *player) nextID() string {
	p.ids++
	return strconv.Itoa(p.ids)
}

func (p *player) send(st *step) error {
	it := st.items[0]
	id := p.nextID()
	if it.id != nil {
		v, err := (matcher{p.vars}).evaluate(it.id)
		if err != nil {
			return err
		}
		id = string(encode(v))
	}
	params, err := p.params(st, it)
	if err != nil {
		return err
	}
	p.requests[st.name] = id
	return p.request(id, it.method, params)
}

func (p *player) notify(st *step) error {
	params, err := p.params(st, st.items[0])
	if err != nil {
		return err
	}
	o := map[string]any{"jsonrpc": "2.0", "method": st.items[0].method}
	if params != nil {
		o["params"] = params
	}
	return p.message(o)
}

// params fills params in, and holds them against the contract: those of a session are
// as the protocol wants them, unless the step says that they are not.
func (p *player) params(st *step, it item) (any, error) {
	var v any
	if it.params != nil {
		var err error
		if v, err = (matcher{p.vars}).evaluate(it.params); err != nil {
			return nil, err
		}
	}
	why, invalid := p.contract.params(it.method, v), slices.Contains(st.words, "invalid")
	switch {
	case why != "" && !invalid:
		return nil, &syntaxError{it.position, "the params do not fit their schema: " + why + " (write invalid behind the name if that is what is shown)"}
	case why == "" && invalid && p.contract.methods[it.method] != nil:
		return nil, &syntaxError{it.position, "the params fit their schema, though the step says that they are invalid"}
	}
	return v, nil
}

func (p *player) request(id, method string, params any) error {
	o := map[string]any{"jsonrpc": "2.0", "id": rawID(id), "method": method}
	if params != nil {
		o["params"] = params
	}
	p.methods[id] = method
	return p.message(o)
}

// rawID is an id as it was spelled.
func rawID(id string) any {
	v, err := decode([]byte(id))
	if err != nil {
		return id // the session spelled a string
	}
	return v
}

// message sends a message, and notes it.
func (p *player) message(o map[string]any) error {
	raw := encode(o)
	m, err := classify(raw)
	if err != nil {
		return err
	}
	p.check.sent(&m)
	p.conn.append(entry{dir: toServer, msg: m})
	return p.conn.send(frame(p.conn.framing, raw))
}

func (p *player) responseTo(id string) func(*message) bool {
	return func(m *message) bool { return m.kind == kindResponse && m.id == id }
}

// await returns the first message of the server that fits, from the log's start on.
func (p *player) await(st *step, what string, fits func(*message) bool) (*message, error) {
	at := 0
	var found *message
	err := p.until(st, what, func(log []entry) (bool, error) {
		for ; at < len(log); at++ {
			if e := &log[at]; e.dir == fromServer && fits(&e.msg) {
				found = &e.msg
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}

// until waits until the log satisfies done, the server can say no more, or the time
// of the step is over. Everything that comes meanwhile is checked.
func (p *player) until(st *step, what string, done func([]entry) (bool, error)) error {
	t := time.NewTimer(st.within)
	defer t.Stop()
	for {
		p.conn.mu.Lock()
		log, changed, over := p.conn.log, p.conn.changed, p.conn.over
		p.conn.mu.Unlock()
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
		case <-changed:
		case <-t.C:
			return fmt.Errorf("expected %s within %v; it did not come", what, st.within)
		}
	}
}

// whyOver says why a server says no more.
func (p *player) whyOver(over error) string {
	var g *garbageError
	if errors.As(over, &g) {
		return "the server's stdout has what is no message: " + g.msg
	}
	select {
	case <-p.conn.ended:
		return "the server has ended (" + statusText(p.conn.status) + ")"
	case <-time.After(time.Second):
		return "the server has closed its stdout"
	}
}

func statusText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// inspect holds what came since the last time against contract and invariants, and
// answers the server's requests.
func (p *player) inspect(log []entry) error {
	for ; p.seen < len(log); p.seen++ {
		e := &log[p.seen]
		if e.dir == toServer {
			continue
		}
		m := &e.msg
		why := p.contract.received(m, p.methods[m.id])
		if why == "" && !(p.raw && m.kind == kindResponse) {
			why = p.check.received(m, p.seen)
		} else if why == "" {
			p.check.answered[m.id]++ // an answer to what was sent raw: the session says what it must be
		}
		if why != "" {
			return fmt.Errorf("the server sent what it must not: %s\n\tin %s", why, clip(string(m.raw)))
		}
		if m.kind == kindRequest {
			if err := p.reply(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// reply answers a request of the server as the session says, or refuses it.
func (p *player) reply(m *message) error {
	id := rawID(m.id)
	for _, st := range slices.Backward(p.replies) {
		if st.words[0] != m.method || st.v != nil && match(st.v, m.params, p.vars) != nil {
			continue
		}
		v, err := (matcher{p.vars}).evaluate(st.more)
		if err != nil {
			return err
		}
		return p.message(map[string]any{"jsonrpc": "2.0", "id": id, "result": v})
	}
	return p.message(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code": number("-32601"), "message": "this client does not answer " + m.method,
	}})
}

// end closes the session: the server must end by itself once its stdin has, having
// answered every request.
func (p *player) end(passed bool) error {
	st := &step{position: position{p.session.Name, 1, 1}, within: shutdownTime}
	if passed {
		for _, f := range p.pending {
			if len(p.pending) > 0 && !p.closed {
				p.closed = true
				p.conn.closeStdin()
				_ = p.until(st, "the end of the output", func([]entry) (bool, error) { return false, nil }) // pending says what is wrong
			}
			if err := f(); err != nil {
				return err
			}
		}
	}
	patience := shutdownTime
	if !passed {
		patience = 0
	}
	inTime := p.conn.finish(patience)
	if !passed {
		return nil
	}
	p.conn.mu.Lock()
	log, over := p.conn.log, p.conn.over
	p.conn.mu.Unlock()
	if err := p.inspect(log); err != nil {
		return &failure{st.position, err.Error()}
	}
	var g *garbageError
	switch {
	case errors.As(over, &g):
		return &failure{st.position, "the server's stdout has what is no message: " + g.msg}
	case !inTime:
		return &failure{st.position, fmt.Sprintf("the server did not end within %v of the end of its stdin", shutdownTime)}
	}
	if why := p.check.ended(); why != "" && !p.raw {
		return &failure{st.position, why}
	}
	return nil
}

func (p *player) exit(st *step) error {
	t := time.NewTimer(st.within)
	defer t.Stop()
	select {
	case <-p.conn.ended:
	case <-t.C:
		return fmt.Errorf("expected the server to end within %v; it runs on", st.within)
	}
	want, _ := integer(st.words[0])
	got := p.conn.cmd.ProcessState.ExitCode()
	if st.words[0] != "any" && int(want) != got {
		return fmt.Errorf("expected the server's exit status %d, got %d (%s)", want, got, p.conn.cmd.ProcessState)
	}
	return nil
}

// gone waits until there is no such process. There is no event to wait for: the
// process may be anybody's.
func (p *player) gone(st *step) error {
	v, err := (matcher{p.vars}).evaluate(st.v)
	if err != nil {
		return err
	}
	pid, ok := asInt(v)
	if !ok || pid <= 1 {
		return &syntaxError{st.v.at(), "this is no process id: " + show(v)}
	}
	deadline := time.Now().Add(st.within)
	for alive(int(pid)) {
		if time.Now().After(deadline) {
			return fmt.Errorf("expected the process %d to be gone within %v; it is there", pid, st.within)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// transcript is everything that went to and fro, with relative times.
func (c *connection) transcript() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	log := c.log
	const most = 400
	for i, e := range log {
		if len(log) > most && i == most/2 {
			fmt.Fprintf(&b, "          … %d more …\n", len(log)-most)
		}
		if len(log) > most && i >= most/2 && i < len(log)-most/2 {
			continue
		}
		arrow := "-->"
		if e.dir == fromServer {
			arrow = "<--"
		}
		fmt.Fprintf(&b, "%8.3fs %s %s\n", e.at.Seconds(), arrow, clip(string(e.msg.raw)))
	}
	return b.String()
}
