package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// maxInFlight is the maximum number of unanswered requests of a connection.
const maxInFlight = 16384

// maxIDBytes limits the total length of their ids, each of which may be as long as a message.
const maxIDBytes = 16 << 20

// defaultMaxMessage is maxMessageBytes by default.
const defaultMaxMessage = 16 << 20

// Options configure a server.
type Options struct {
	Version     string  // of this build, for serverInfo
	SessionID   string  // from NewSessionID; "": a new one
	SessionName string  // of a shared session; "" if none
	Framing     Framing // a fixed framing; FramingUnknown = determined by the first byte
	Log         *slog.Logger
	// Window makes the jobs of job/start wait for their reader: at most so many bytes of a stream are read ahead of its
	// read cursor, and then the program waits. It is for a client in this process that reads only with job/read. 0:
	// jobs do not wait.
	Window int64
	// Unanswered leaves the queries that programs send to the terminals of job/start to the client: it shows their
	// output on a terminal that answers them.
	Unanswered bool
}

// A Server serves one connection of a session.
type Server struct {
	// Immutable:
	in      *Session
	mgr     *jobs.Manager // of the session
	log     *slog.Logger
	opts    Options
	began   time.Time
	arrived time.Time
	out     *outbox
	stream  *stream
	over    chan struct{} // closed by end

	ended    sync.Once
	ends     atomic.Bool // the client has ended the session
	attendee attendee    // set by initialize on the reading goroutine, before others have access to the connection

	places       places // of large answers (room.go)
	searchPlaces places

	life       lifecycle
	maxMessage atomic.Int64 // settings.maxMessage, for the goroutines that answer
	screens    sync.Mutex   // held while a screen is encoded for an answer

	settings settings // set by initialize on the reading goroutine; only this goroutine reads it

	mu       sync.Mutex
	inFlight map[string]*request // by the key of its id
	idBytes  int                 // in those keys
	answered sync.Cond           // signals that a request is no longer in flight; its lock is mu
}

// Serve speaks the protocol until the input ends, exit arrives, ctx is done or the output breaks. Then it ends every
// job, sends the outstanding answers, and reports whether the client had ended the session properly: with shutdown,
// answered, before the end.
//
// It is the only reader of in and the only writer of out, and closes neither. If Serve ends for another reason, a
// goroutine that is blocked reading in stays blocked.
func Serve(ctx context.Context, in io.Reader, out io.Writer, m *jobs.Manager, opts Options) (clean bool, err error) {
	s := newSession(m, opts).connect(in, out)
	defer s.end()
	s.serve(ctx)
	return s.finish(), s.out.flush()
}

// end ends the connection.
func (s *Server) end() { s.ended.Do(func() { close(s.over) }) }

// connect returns a connection of the session.
func (ss *Session) connect(in io.Reader, out io.Writer) *Server {
	frames := newFrameReader(in, ss.opts.Framing, defaultMaxMessage)
	s := &Server{
		in: ss, mgr: ss.mgr, log: ss.log, opts: ss.opts, began: ss.created, inFlight: map[string]*request{}, settings: defaultSettings(),
		over: make(chan struct{}), arrived: time.Now(),
	}
	s.attendee.jobs.grace = defaultGrace
	s.places, s.searchPlaces = newPlaces(), newSearchPlaces()
	s.answered.L = &s.mu
	s.maxMessage.Store(defaultMaxMessage)
	s.out = newOutbox(out, frames.Framing)
	s.out.unmet, s.out.client = ss.shared, &s.attendee
	s.stream = &stream{frames: frames, out: s.out}
	return s
}

// serve handles messages until the connection has to end. It returns whether the client has left, or was lost.
func (s *Server) serve(ctx context.Context) schema.SessionLeaveReason {
	conn := jsonrpc2.NewConn(context.WithoutCancel(ctx), s.stream, s, jsonrpc2.SetLogger(discard{}))
	select {
	case <-conn.DisconnectNotify():
		s.log.Debug("input ended", "why", s.stream.end)
		if s.stream.quit {
			return schema.SessionLeaveReasonDetached
		}
	case <-ctx.Done():
		s.log.Info("asked to exit", "why", context.Cause(ctx))
	case <-s.out.broken:
		s.log.Info("the client is gone")
	case <-s.over:
	case <-s.in.done:
		if s.ends.Load() {
			s.awaitExit(conn.DisconnectNotify())
		}
	}
	return schema.SessionLeaveReasonLost
}

// awaitExit gives the client that has ended the session the time to take the answer and to leave, as after shutdown: some
// clients lose an answer that comes together with the end of the connection.
func (s *Server) awaitExit(left <-chan struct{}) {
	late := time.NewTimer(stuckTime)
	defer late.Stop()
	select {
	case <-left:
	case <-s.out.broken:
	case <-late.C:
	}
}

// discard is the library's logger: everything that the library reports is already known here.
type discard struct{}

func (discard) Printf(string, ...any) {}

// finish ends the jobs, unless shutdown has, and waits for the outstanding answers.
func (s *Server) finish() (clean bool) {
	s.life.end()
	s.out.withdrawAll()
	s.mgr.Shutdown()
	s.settle(0)
	return s.life.isShutDown() // only now: the answer to shutdown may have been among them
}

// settleTime is how long an answer may take after the end of all jobs. Only an answer of a job whose loop is stuck
// takes as long.
const settleTime = 500 * time.Millisecond

// settle waits until at most n requests are in flight. It answers those of a stuck job on its own. It waits for answers
// that wait for room as long as the client goes on reading.
func (s *Server) settle(n int) {
	var client pace
	for !s.awaitAnswers(n) && s.delivers(&client) {
	}
	s.mu.Lock()
	var left []*request
	if len(s.inFlight) > n {
		for _, r := range s.inFlight {
			if r.method != "shutdown" {
				left = append(left, r)
			}
		}
	}
	s.mu.Unlock()
	for _, r := range left {
		r.fail(wireErrorf(schema.KindShuttingDown, "the server is shutting down, and the job of this request is stuck"))
	}
}

// awaitAnswers waits until at most n requests are in flight, for settleTime at most, and reports whether that is so.
func (s *Server) awaitAnswers(n int) bool {
	late := false
	t := time.AfterFunc(settleTime, func() {
		s.mu.Lock()
		late = true
		s.mu.Unlock()
		s.answered.Broadcast()
	})
	defer t.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.inFlight) > n && !late {
		s.answered.Wait()
	}
	return len(s.inFlight) <= n
}

// Handle handles a message from the library, on the reading goroutine. The message itself is the stream's current.
func (s *Server) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {
	env := s.stream.current
	switch env.Kind {
	case kindNotification:
		defer s.recovered(nil)
		s.notified(env)
	case kindRequest:
		r := &request{server: s, id: append(json.RawMessage(nil), env.ID...), method: env.Method, params: env.Params, canceled: make(chan struct{})}
		defer s.recovered(r)
		err := s.begin(r, env)
		r.params = nil // They lie in the frame, which may be large.
		if err != nil {
			r.fail(err)
			r.letGo()
		}
	case kindResponse:
		defer s.recovered(nil)
		s.takeAnswer(env)
	}
}

// recovered answers a request whose handler panicked; no other request is affected.
func (s *Server) recovered(r *request) {
	p := recover()
	if p == nil {
		return
	}
	s.log.Error("handler panicked", "panic", p, "stack", string(debug.Stack()))
	if r != nil {
		r.fail(errors.New("panic"))
	}
}

func (s *Server) notified(env envelope) {
	handle, ok := notifications[env.Method]
	if !ok || ofSessions[env.Method] && !s.in.shared || env.Method != "exit" && !s.life.initialized() {
		return
	}
	handle(s, env.Params)
}

// begin checks a request in the protocol's order (life cycle, method, params) and passes it to its handler.
func (s *Server) begin(r *request, env envelope) error {
	if err := s.track(r); err != nil {
		return err
	}
	if err := s.life.admits(env.Method); err != nil {
		return err
	}
	m, err := lookup(env.Method, s.in.shared)
	if err != nil {
		return err
	}
	if s.attendee.role == schema.SessionRoleViewer && !m.views {
		return unfit(m.name, "role", "a viewer of a session may not call "+m.name+"; join as a driver, if the session allows that")
	}
	if env.PositionalParams {
		return invalidParams(schema.FieldError{Message: "params must be an object with named members", Expected: "object"})
	}
	if m.keyed && bytes.Contains(r.params, []byte(`"key"`)) {
		if done, err := s.in.claim(r); done || err != nil {
			return err
		}
	}
	return m.handle(s, r)
}

// track records a request under its id.
func (s *Server) track(r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := idKey(r.id)
	if s.inFlight[key] != nil {
		return wireErrorf(schema.KindInvalidRequest, "a request with the id "+clip(string(r.id), 100)+" is still in flight; give each an id of its own")
	}
	switch {
	case len(s.inFlight) >= maxInFlight:
		return tooMuchInFlight("too many requests are in flight; wait for some answers first", "requestsInFlight", maxInFlight)
	case s.idBytes+len(key) > maxIDBytes && len(s.inFlight) > 0:
		return tooMuchInFlight("the ids of the requests in flight are too long in total; wait for some answers first, or use shorter ids", "requestIdBytes", maxIDBytes)
	}
	r.key = key
	s.inFlight[key] = r
	s.idBytes += len(key)
	return nil
}

func tooMuchInFlight(message, limit string, most int64) error {
	return &wireError{schema.KindLimitExceeded, message,
		schema.LimitExceededData{Kind: string(schema.KindLimitExceeded), Limit: limit, Max: most, Retryable: optional(true)}}
}

// idKey returns a key for an id that does not depend on escapes: a string's text, a number's spelling.
func idKey(id json.RawMessage) string {
	var text string
	if len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &text) == nil {
		return "s" + text
	}
	return "n" + string(id)
}

// cancel handles $/cancelRequest. An id that is not in flight was answered already.
func (s *Server) cancel(params []byte) {
	var p schema.CancelRequestParams
	if err := schema.DecodeParams("$/cancelRequest", params, &p); err != nil {
		s.log.Debug("bad cancel", "error", err)
		return
	}
	s.mu.Lock()
	r := s.inFlight[idKey(p.ID)]
	s.mu.Unlock()
	if r != nil {
		r.cancel()
	}
}

// A request is a request that is not answered yet.
type request struct {
	server *Server
	id     json.RawMessage // as spelled
	key    string          // in inFlight; "" = it is not there
	method string
	params []byte // valid until the handler returns

	once     sync.Once
	canceled chan struct{}
	told     func()      // nil, or called when the answer is queued, under s.mu and out.mu
	release  func()      // nil, or releases the job that the answer quotes
	made     *int64      // nil, or the handle of the job that it has started
	place    answerPlace // the place of its answer
	keyed    *keyed      // nil, or what is kept so that it is not done twice
}

func (r *request) cancel() { r.once.Do(func() { close(r.canceled) }) }

// decode checks the params against their schema and stores them.
func (r *request) decode(into any) error {
	if err := r.wellFormed(); err != nil {
		return err
	}
	return schema.DecodeParams(r.method, r.params, into)
}

// wellFormed refuses params that would change in decoding.
func (r *request) wellFormed() error {
	if hasLoneSurrogate(r.params) {
		return invalidParams(schema.FieldError{Message: `params have a lone surrogate (\ud800 to \udfff), which is not a valid character`})
	}
	return nil
}

// hasLoneSurrogate reports whether JSON has an escape that encoding/json would silently turn into U+FFFD.
func hasLoneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		first := escaped(data[i:])
		switch {
		case first < 0:
			i++ // Another escape: if its character is a backslash, that begins no escape.
		case !utf16.IsSurrogate(first):
			i += 5
		case utf16.DecodeRune(first, escaped(data[i+6:])) == utf8.RuneError:
			return true
		default:
			i += 11
		}
	}
	return false
}

// escaped returns the code unit of a \uXXXX at the start of data, and -1 for anything else.
func escaped(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// letGo releases the job that the answer quotes. That may be the last one of the session, and have failed to start.
func (r *request) letGo() {
	if r.release != nil {
		r.release()
	}
	if r.made != nil {
		r.server.in.jobOver()
	}
}

func (r *request) reply(result any) { r.answer(r.replyBody(result)) }

func (r *request) replyBody(result any) []byte {
	body := resultBody(r.id, result)
	limit := int(r.server.maxMessage.Load())
	if len(body) > limit {
		if less, ok := withoutScreen(result, limit/2); ok {
			result = less
			body = resultBody(r.id, result)
		}
	}
	if len(body) > limit {
		if short, ok := shortened(result, limit-len(r.id)); ok {
			body = resultBody(r.id, short)
		}
	}
	if len(body) > limit {
		msg := "the request was carried out, but the answer is longer than maxMessageBytes; ask for less, as with maxBytes, or raise the limit"
		return r.failBody(&wireError{schema.KindLimitExceeded, msg, schema.LimitExceededData{
			Kind: string(schema.KindLimitExceeded), Limit: "maxMessageBytes", Max: int64(limit), Handle: r.made,
		}})
	}
	return body
}

func (r *request) fail(err error) { r.answer(r.failBody(err)) }

func (r *request) failBody(err error) []byte {
	w := r.server.toWire(err)
	if w.kind == schema.KindInternalError {
		r.server.log.Error("internal error", "method", r.method, "error", err)
	}
	body, limit := errorBody(r.id, w), int(r.server.maxMessage.Load())
	if len(body) > limit {
		if less, ok := withoutScreen(w.data, limit/2); ok {
			body = errorBody(r.id, &wireError{w.kind, w.message, less})
		}
	}
	return body
}

// answer sends the answer of a request. Only the first one counts. The id is free again before the client can see the
// answer. It never blocks.
func (r *request) answer(body []byte) { r.send(message{body: body}) }

// answerInTime is answer, but waits for room first.
func (r *request) answerInTime(body []byte) {
	m := message{body, r.server.out.reserve(len(body))}
	if !r.send(m) && m.waited {
		r.server.out.unreserve(len(body)) // settle has answered it.
	}
}

func (r *request) send(m message) bool {
	sent := r.queueAnswer(m)
	if sent {
		r.server.out.flushSoon()
	}
	return sent
}

func (r *request) queueAnswer(m message) bool {
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.key != "" {
		if s.inFlight[r.key] != r {
			return false
		}
		delete(s.inFlight, r.key)
		s.idBytes -= len(r.key)
		s.answered.Broadcast()
	}
	if r.keyed != nil {
		s.in.keys.answered(r, m.body)
	}
	s.out.queueThen(m, r.told)
	return true
}

// whenAnswered sets a function that is called when the answer is queued, whatever the answer is, and before anything is
// queued after it. f is called under out.mu and must not block.
func (r *request) whenAnswered(f func()) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	r.told = f
}

// await leaves the rest of a request to a goroutine, in which its answer waits for room. f returns the result or the
// error of the answer.
func (r *request) await(f func() (any, error)) { go r.conclude(f, r.answerInTime) }

func (r *request) conclude(f func() (any, error), answer func(body []byte)) {
	defer r.letGo()
	defer r.leavePlace()
	defer r.server.recovered(r)
	switch result, err := f(); {
	case errors.Is(err, errClientGone):
		r.answer(nil) // Nothing can be sent any more.
	case err != nil:
		answer(r.failBody(err))
	default:
		answer(r.replyBody(result))
	}
}

// wait waits for the result of a job. If the request is cancelled, wait cancels it in the job, which still answers.
func wait[T any](r *request, p jobs.Pending[T]) (T, error) {
	select {
	case res := <-p.C:
		return res.Value, res.Err
	case <-r.canceled:
		p.Cancel()
		res := <-p.C
		return res.Value, res.Err
	}
}

// respond waits for the result of a job, and answers with convert's conversion of it.
func respond[T, R any](r *request, p jobs.Pending[T], convert func(T) R) {
	r.await(func() (any, error) {
		res, err := wait(r, p)
		return converted(r, res, err, convert)
	})
}

// respondNow is respond for a convert that quotes no output and so never waits for a disk. If the job has answered
// already, no other goroutine has to wake up.
func respondNow[T, R any](r *request, p jobs.Pending[T], convert func(T) R) {
	if len(p.C) == 0 {
		respond(r, p, convert)
		return
	}
	res := <-p.C
	f := func() (any, error) { return converted(r, res.Value, res.Err, convert) }
	if sizeOf(res.Value)+sizeOf(res.Err) > smallAnswer {
		r.await(f)
		return
	}
	r.conclude(f, r.answer)
}

// converted returns the result for a request's answer, once the request has a place.
func converted[T, R any](r *request, res T, err error, convert func(T) R) (any, error) {
	if !r.takePlace(sizeOf(res)+sizeOf(err), false) {
		return nil, errClientGone
	}
	if err != nil {
		return nil, err
	}
	return convert(res), nil
}
