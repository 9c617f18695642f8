package rpc

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// A Session is a set of jobs with the clients that use it. Serve makes one for a single client, which ends with it. A
// shared one, of NewSession, has any number of clients, which come and go, and ends when it has been without clients and
// jobs for a while, or is told to.
//
// A client is known by its clientId, over any number of connections. One without gets an id from the session. It cannot say
// that it comes back, so the next client without an id takes over the jobs of those that have left.
type Session struct {
	// Immutable:
	mgr     *jobs.Manager
	log     *slog.Logger
	opts    Options
	id      string
	token   string // of the owners
	created time.Time
	shared  bool
	done    chan struct{} // closed when the session has ended: no client can come any more
	keys    *keys

	// door is held while a client comes or goes, so that this is one step for the jobs. Turns of jobs are taken under it: a
	// turn must not take it.
	door    sync.Mutex
	begun   bool                // a client has configured the session; guarded by door
	known   map[string]*visitor // the clients that have been there, by clientId; guarded by door
	emptied time.Time           // when the last client left; guarded by door

	mu      sync.Mutex // no other lock but an outbox's is taken under it
	share   schema.SessionShare
	lease   lease
	clients []*Server // connected, in order of their arrival; changed under door as well
	last    int       // number of connections so far
	open    int       // connections, with those that have not initialized yet
	idle    *time.Timer
	ending  bool
}

// A visitor is a client that is or has been in the session.
type visitor struct {
	unnamed bool      // the session has made its id
	left    time.Time // zero: it is there
}

// A lease is how long a session lives without clients.
type lease struct {
	detached time.Duration // its jobs that are kept; 0: for ever
	idle     time.Duration // the session itself, without live jobs
}

// The defaults of a session.
const (
	defaultDetached = 24 * time.Hour
	defaultIdle     = time.Minute
	defaultGrace    = time.Minute
)

// NewSession returns a session for any number of clients. The caller must call End before it closes m.
func NewSession(m *jobs.Manager, opts Options) *Session {
	s := newSession(m, opts)
	s.shared = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restIfIdleLocked()
	return s
}

func newSession(m *jobs.Manager, opts Options) *Session {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	opts.Log = m.CleanLog(opts.Log)
	var token [32]byte
	_, _ = rand.Read(token[:]) // Never fails; see crypto/rand.
	return &Session{
		mgr: m, log: opts.Log, opts: opts, id: cmp.Or(opts.SessionID, NewSessionID()), token: base64.RawURLEncoding.EncodeToString(token[:]),
		created: time.Now(), done: make(chan struct{}), keys: newKeys(), known: map[string]*visitor{}, share: schema.SessionShareDriver, lease: lease{defaultDetached, defaultIdle},
	}
}

// NewSessionID returns a name that is unique among all runs of servers.
func NewSessionID() string {
	var id [8]byte
	_, _ = rand.Read(id[:])
	return time.Now().UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(id[:])
}

// Done returns a channel that is closed when the session has ended.
func (ss *Session) Done() <-chan struct{} { return ss.done }

// End ends all jobs and every connection. It returns when the jobs have ended.
func (ss *Session) End() {
	ss.mu.Lock()
	first := !ss.ending
	ss.ending = true
	ss.stopIdleLocked()
	clients := slices.Clone(ss.clients)
	ss.mu.Unlock()
	for _, s := range clients {
		s.life.end()
		s.out.withdrawAll()
	}
	ss.mgr.Shutdown()
	if first {
		close(ss.done)
	}
}

// restIfIdleLocked ends the session after a while without clients and jobs.
func (ss *Session) restIfIdleLocked() {
	if ss.open > 0 || ss.ending || ss.idle != nil || ss.live() {
		return
	}
	ss.idle = time.AfterFunc(ss.lease.idle, func() {
		ss.mu.Lock()
		is := ss.open == 0 && !ss.ending && ss.idle != nil
		ss.idle = nil
		ss.mu.Unlock()
		if is {
			ss.log.Info("the session has been idle", "for", ss.lease.idle)
			ss.End()
		}
	})
}

func (ss *Session) stopIdleLocked() {
	if ss.idle != nil {
		ss.idle.Stop()
		ss.idle = nil
	}
}

// live reports whether a job of the session lives, or is starting.
func (ss *Session) live() bool {
	return slices.ContainsFunc(ss.mgr.All(), isLive)
}

func isLive(j *jobs.Job) bool {
	info := j.Published()
	return info == nil || info.Live()
}

// Serve serves one client of a shared session, until its input ends, exit arrives, ctx is done, its output breaks,
// another connection takes its place, or the session ends. The jobs of the session live on as they were started to. It
// reports whether everything was sent that the client was to get.
//
// It is the only reader of in and the only writer of out, and closes neither. If Serve ends for another reason, a
// goroutine that is blocked reading in stays blocked.
func (ss *Session) Serve(ctx context.Context, in io.Reader, out io.Writer) (clean bool, err error) {
	ss.opened(1)
	defer ss.opened(-1)
	s := ss.connect(in, out)
	ss.part(s, s.serve(ctx))
	s.detach()
	err = s.out.flush()
	s.out.abandon()
	return err == nil, err
}

// opened counts connections.
func (ss *Session) opened(n int) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.open += n; ss.open > 0 {
		ss.stopIdleLocked()
	}
	ss.restIfIdleLocked()
}

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
	s.out.unmet = ss.shared
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

// detach ends a connection whose client has gone, and leaves the jobs alone. What the client has only looked for is
// withdrawn; what it has asked to be done is done.
func (s *Server) detach() {
	s.end()
	s.life.end()
	s.withdraw()
	s.mu.Lock()
	for _, r := range s.inFlight {
		if looks[r.method] {
			r.cancel()
		}
	}
	s.mu.Unlock()
	if s.out.brokenBy() == nil {
		s.awaitAnswers(0)
	}
}

// withdraw takes back the questions to the client: no person has said yes.
func (s *Server) withdraw() {
	for _, a := range s.out.withdrawAll() {
		a.answered(s, nil, json.RawMessage("null"))
	}
}

// looks are the requests that change nothing, and may take long.
var looks = map[string]bool{"job/wait": true, "job/read": true, "job/search": true, "job/screen": true, "env/get": true, "env/list": true}
