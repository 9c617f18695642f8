package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// watchdog limits every wait of these tests. Nothing in them takes a tenth of it.
const watchdog = 40 * time.Second

type obj = map[string]any

// A session is one client of a server that runs in this process. It sends raw messages and shares no code with the
// server's own reader and writer. Every message in either direction goes through the checker.
type session struct {
	t       *testing.T
	in      *io.PipeWriter
	gate    *gate
	framing rpc.Framing
	cancel  context.CancelFunc // of Serve's context

	began   time.Time
	lastID  int
	setUp   bool // initialize was answered
	settled bool // the session was ended on purpose
	joined  schema.InitializeResult

	cutOff atomic.Bool // the connection was cut on purpose: its end may be anywhere
	tear   func()      // cuts the connection; nil: it cannot be cut

	mu        sync.Mutex // guards the fields below
	changed   chan struct{}
	log       []line
	check     *checker
	told      map[string]bool     // complaints that were reported already
	answers   map[string][]answer // by id, as spelled
	orphans   []answer            // with id null
	events    []event
	questions []received // of the server
	taken     []string   // the ids of those that it has withdrawn
	eof       bool

	over  chan struct{} // closed when Serve has returned and everything is let go of
	clean bool
	err   error
}

// A line is an entry of the transcript.
type line struct {
	at   time.Duration
	sent bool
	body []byte
}

// An answer is a response of the server.
type answer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *failure
}

type failure struct {
	Code    int
	Message string
	Data    json.RawMessage
}

type settings struct {
	framing rpc.Framing
	server  rpc.Options
	prepare func(*jobs.Manager) // called before Serve; nil: nothing
}

// open runs a server and sends it nothing.
func open(t *testing.T, with ...func(*settings)) *session {
	t.Helper()
	if len(jobs.Platform().Modes) == 0 {
		t.Skip("there are no jobs on this system")
	}
	set := settings{framing: rpc.FramingHeader}
	for _, f := range with {
		f(&set)
	}
	m, err := jobs.NewManager(jobs.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if set.prepare != nil {
		set.prepare(m)
	}
	inR, inW := io.Pipe()
	outR, outW := newPipe(t)
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		t: t, in: inW, gate: newGate(outR), framing: set.framing, cancel: cancel, began: time.Now(),
		changed: make(chan struct{}), check: newChecker(), told: map[string]bool{}, answers: map[string][]answer{}, over: make(chan struct{}),
	}
	go func() {
		s.clean, s.err = rpc.Serve(ctx, inR, outW, m, set.server)
		_ = inR.Close()  // No message from here on is read.
		_ = outW.Close() // The client sees the end.
		if err := m.Close(); err != nil {
			s.fail("let go of the jobs: %v", err)
		}
		close(s.over)
	}()
	go s.read()
	t.Cleanup(s.finish)
	return s
}

// start runs a server and initializes it, with params given as pairs of a name and a value.
func start(t *testing.T, params ...any) *session {
	t.Helper()
	s := open(t)
	s.initialize(params...)
	return s
}

func lineFraming(s *settings) { s.framing = rpc.FramingLine }

func (s *session) initialize(params ...any) schema.InitializeResult {
	s.t.Helper()
	p := obj{}
	for i := 0; i < len(params); i += 2 {
		p[params[i].(string)] = params[i+1]
	}
	options, _ := p["options"].(obj)
	if options == nil {
		options = obj{}
	}
	env, _ := options["env"].(obj)
	options["env"] = merged(obj{"set": obj{markName: mark}}, flat(env))
	p["options"] = options
	s.joined = do[schema.InitializeResult](s, "initialize", p)
	s.setUp = true
	return s.joined
}

// finish ends the session as a client should, unless the test has ended it, and checks the transcript.
func (s *session) finish() {
	s.gate.let(true)
	if !s.settled {
		s.quit()
	}
	_ = s.in.Close()
	s.cancel()
	for _, bad := range s.ended() {
		s.fail("%s", bad)
	}
	if s.t.Failed() {
		s.dump()
	}
}

func (s *session) ended() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check.ended()
}

// quit ends the session properly: shutdown, exit, nothing left.
func (s *session) quit() {
	s.t.Helper()
	if s.setUp {
		s.begin("job/list", nil).answer()
		if a := s.begin("shutdown", nil).answer(); a.Error != nil {
			s.fail("shutdown: %+v", a.Error)
		}
	}
	s.send(`{"jsonrpc":"2.0","method":"exit"}`)
	if clean, err := s.end(); clean != s.setUp || err != nil {
		s.fail("the server ended: clean %v, error %v; want %v and none", clean, err, s.setUp)
	}
}

// end waits for the server's end, and for all its output.
func (s *session) end() (clean bool, err error) {
	s.t.Helper()
	s.settled = true
	select {
	case <-s.over:
	case <-time.After(watchdog):
		s.fatal("the server does not end")
	}
	s.wait("the end of the server's output", func() bool { return s.eof })
	return s.clean, s.err
}

// hangUp closes the server's input.
func (s *session) hangUp() { _ = s.in.Close() }

// send sends a message that a client may send.
func (s *session) send(body string) { s.t.Helper(); s.put(body, true) }

// sendBad sends a message that a client may not send.
func (s *session) sendBad(body string) { s.t.Helper(); s.put(body, false) }

func (s *session) put(body string, valid bool) {
	s.t.Helper()
	s.mu.Lock()
	s.log = append(s.log, line{time.Since(s.began), true, []byte(body)})
	err := s.check.sent([]byte(body), valid)
	s.mu.Unlock()
	if err != nil {
		s.fail("the test sends what no client may: %v\n%.300s", err, body)
	}
	s.sendBytes(framed(s.framing, body))
}

func framed(f rpc.Framing, body string) string {
	if f == rpc.FramingLine {
		return body + "\n"
	}
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// sendBytes writes arbitrary bytes to the server. The server may have ended.
func (s *session) sendBytes(b string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.WriteString(s.in, b)
	}()
	select {
	case <-done:
	case <-time.After(watchdog):
		s.fatal("the server does not read")
	}
}

// read reads the server's messages until the output ends.
func (s *session) read() {
	r := bufio.NewReaderSize(s.gate, 64<<10)
	for {
		body, err := readMessage(r, s.framing)
		if err != nil {
			if err != io.EOF && !s.cutOff.Load() {
				s.fail("the server's output: %v", err)
			}
			s.mu.Lock()
			s.eof = true
			s.wake()
			s.mu.Unlock()
			_ = s.gate.r.Close() // A server that goes on writing gets an error.
			return
		}
		s.take(body)
	}
}

func readMessage(r *bufio.Reader, f rpc.Framing) ([]byte, error) {
	head, err := r.ReadString('\n')
	if err != nil || f == rpc.FramingLine {
		return []byte(head), err
	}
	var n int
	if _, err := fmt.Sscanf(head, "Content-Length: %d\r\n", &n); err != nil {
		return nil, fmt.Errorf("header %q: %w", head, err)
	}
	if blank, err := r.ReadString('\n'); err != nil || blank != "\r\n" {
		return nil, fmt.Errorf("after the header %q: %q, %v", head, blank, err)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return body, err
}

func (s *session) take(body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line{time.Since(s.began), false, body})
	m, wrong := s.check.received(body)
	for _, bad := range wrong {
		if !s.told[bad] {
			s.told[bad] = true
			s.fail("%s\n%.600s", bad, body)
		}
	}
	a := answer{m.ID, m.Result, m.Error}
	switch {
	case m.Method == "$/cancelRequest":
		var p schema.CancelRequestParams
		_ = json.Unmarshal(m.Params, &p) // The checker has checked it.
		s.taken = append(s.taken, string(p.ID))
	case m.event == nil && m.Method != "":
		s.questions = append(s.questions, m)
	case m.event != nil:
		s.events = append(s.events, *m.event)
	case string(m.ID) == "null":
		s.orphans = append(s.orphans, a)
	default:
		s.answers[string(m.ID)] = append(s.answers[string(m.ID)], a)
	}
	s.wake()
}

// wake wakes the goroutines that wait for a message. The caller must hold s.mu.
func (s *session) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits until cond holds. It calls cond under s.mu after each message.
func (s *session) wait(what string, cond func() bool) {
	s.t.Helper()
	late := time.NewTimer(watchdog)
	defer late.Stop()
	for {
		s.mu.Lock()
		ok, gone, changed := cond(), s.eof, s.changed
		s.mu.Unlock()
		switch {
		case ok:
			return
		case gone:
			s.fatal("the server is gone, without " + what)
		}
		select {
		case <-changed:
		case <-late.C:
			s.fatal("there is no " + what)
		}
	}
}

// comes is wait for a connection that may be cut meanwhile. It reports whether cond holds.
func (s *session) comes(what string, cond func() bool) (ok bool) {
	s.t.Helper()
	s.wait(what, func() bool {
		ok = cond()
		return ok || s.eof && s.cutOff.Load()
	})
	return ok
}

// fail may be called from any goroutine.
func (s *session) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf(format, args...)
}

func (s *session) fatal(what string) {
	s.t.Helper()
	s.settled = true
	stacks := make([]byte, 1<<20)
	s.t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
	s.t.Fatal(what)
}

// dump prints the end of the transcript.
func (s *session) dump() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	for _, l := range s.log[max(len(s.log)-80, 0):] {
		arrow := "<-"
		if l.sent {
			arrow = "->"
		}
		fmt.Fprintf(&b, "%9.3fs %s %.1000s\n", l.at.Seconds(), arrow, l.body)
	}
	s.t.Logf("transcript:\n%s", b.String())
}

// A call is a request that was sent.
type call struct {
	s      *session
	id     string // as spelled
	method string
	taken  int // earlier answers with this id
}

// begin sends a request with the next number.
func (s *session) begin(method string, params any) *call {
	s.t.Helper()
	s.lastID++
	return s.beginID(strconv.Itoa(s.lastID), method, params)
}

// beginID sends a request with an id that the test spells.
func (s *session) beginID(id, method string, params any) *call {
	s.t.Helper()
	c, body := s.request(id, method, params)
	s.send(body)
	return c
}

// beginBad sends a request that must be refused.
func (s *session) beginBad(method string, params any) *call {
	s.t.Helper()
	s.lastID++
	c, body := s.request(strconv.Itoa(s.lastID), method, params)
	s.sendBad(body)
	return c
}

func (s *session) request(id, method string, params any) (*call, string) {
	s.mu.Lock()
	c := &call{s, id, method, len(s.answers[id])}
	s.mu.Unlock()
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":` + encode(method)
	if params != nil {
		body += `,"params":` + encode(params)
	}
	return c, body + "}"
}

func encode(v any) string {
	if r, ok := v.(json.RawMessage); ok {
		return string(r)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a test's own params
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// answer waits for the answer.
func (c *call) answer() (a answer) {
	c.s.t.Helper()
	c.s.wait("answer to "+c.method+" "+c.id, func() bool {
		all := c.s.answers[c.id]
		if len(all) > c.taken {
			a = all[c.taken]
		}
		return len(all) > c.taken
	})
	return a
}

// answered reports whether the answer has arrived.
func (c *call) answered() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return len(c.s.answers[c.id]) > c.taken
}

// result waits for an answer that is a result.
func result[T any](c *call) (r T) {
	c.s.t.Helper()
	a := c.answer()
	if a.Error != nil {
		c.s.t.Fatalf("%s %s: %d %s %s", c.method, c.id, a.Error.Code, a.Error.Message, a.Error.Data)
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		c.s.t.Fatalf("%s %s: %v in %s", c.method, c.id, err, a.Result)
	}
	return r
}

// do sends a request and waits for its result.
func do[T any](s *session, method string, params any) T {
	s.t.Helper()
	return result[T](s.begin(method, params))
}

// refused waits for an answer that is an error of a kind, and returns its data.
func refused[T any](c *call, kind schema.Kind) (data T) {
	c.s.t.Helper()
	a := c.answer()
	if a.Error == nil {
		c.s.t.Fatalf("%s %s: result %.300s, want the error %s", c.method, c.id, a.Result, kind)
	}
	a.Error.is(c.s.t, kind)
	if err := json.Unmarshal(a.Error.Data, &data); err != nil {
		c.s.t.Fatalf("%s %s: %v in %s", c.method, c.id, err, a.Error.Data)
	}
	return data
}

// is checks the kind of an error and its code.
func (f *failure) is(t *testing.T, kind schema.Kind) {
	t.Helper()
	var data struct{ Kind schema.Kind }
	if err := json.Unmarshal(f.Data, &data); err != nil || data.Kind != kind || f.Code != codeOf(kind) {
		t.Fatalf("error %d %q %s, want %s (%d)", f.Code, f.Message, f.Data, kind, codeOf(kind))
	}
}

func codeOf(kind schema.Kind) int {
	for _, k := range schema.ErrorKinds() {
		if k.Kind == string(kind) {
			return k.Code
		}
	}
	return 0
}

// withdraw cancels a request.
func (c *call) withdraw() {
	c.s.t.Helper()
	c.s.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + c.id + `}}`)
}

// needs skips a test if a program is missing, or fails it in an environment that must have all programs.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("SHELLD_CI") != "" {
			t.Fatalf("%s is missing", program)
		}
		t.Skipf("%s is missing", program)
	}
}

// A gate is a client that does not read while it is shut.
type gate struct {
	r io.ReadCloser

	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
	shut bool
}

func newGate(r io.ReadCloser) *gate {
	g := &gate{r: r, open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) let(pass bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case pass && g.shut:
		close(g.open)
	case !pass && !g.shut:
		g.open = make(chan struct{})
	}
	g.shut = !pass
}

// Read returns the server's output, once the gate is open.
func (g *gate) Read(p []byte) (int, error) {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
	return g.r.Read(p)
}
