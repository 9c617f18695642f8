package rpc

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// A Session is a set of jobs with the clients that use it. Serve makes one for a single client, which ends with it. A
// shared one, of NewSession, has any number of clients, which come and go, and ends when it has been without clients and
// jobs for a while, or is told to.
//
// A client is known by its clientId, over any number of connections. One without gets an id from the session. It cannot say
// that it comes back, so all clients without an id, other than viewers, are one owner of jobs: the next one takes over the jobs
// of those that have left.
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
	creator string              // the clientId of that client; "": it has none of its own; guarded by door
	known   map[string]*visitor // the clients with an id that have been there; guarded by door
	emptied time.Time           // when the last client left; guarded by door

	unnamedLeft time.Time // when the last of those without an id left, other than viewers; guarded by door

	mu      sync.Mutex // no lock of a job or a connection is taken under it
	share   schema.SessionShare
	lease   lease
	clients []*Server // connected, in order of their arrival; changed under door as well
	last    int       // number of connections so far
	open    int       // connections, with those that have not initialized yet
	idle    *time.Timer
	ending  bool

	persons atomic.Int32 // clients that answer for a person when a program asks for a password
}

// A visitor is a client with an id that is or has been in the session.
type visitor struct {
	left time.Time // zero: it is there
}

// A lease is how long a session lives without clients.
type lease struct {
	detached time.Duration // its jobs that are kept; endless: without end
	idle     time.Duration // the session itself, without live jobs
}

// The defaults of a session.
const (
	defaultDetached = 24 * time.Hour
	defaultIdle     = time.Minute
	defaultGrace    = time.Minute

	endless = time.Duration(-1)
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
	first := ss.beginEndLocked()
	ss.mu.Unlock()
	ss.conclude(first)
}

// beginEndLocked lets no more clients in. It reports whether that is new.
func (ss *Session) beginEndLocked() (first bool) {
	first = !ss.ending
	ss.ending = true
	ss.stopIdleLocked()
	return first
}

func (ss *Session) conclude(first bool) {
	ss.mu.Lock()
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
		if is {
			ss.beginEndLocked()
		}
		ss.mu.Unlock()
		if is {
			ss.log.Info("the session has been idle", "for", ss.lease.idle)
			ss.conclude(true)
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
// reports whether the client has left properly, by shutdown, session/detach or session/end, and was sent all that it was
// to get. A client that comes when the session is ending is not served: nothing is read.
//
// It is the only reader of in and the only writer of out, and closes neither. If Serve ends for another reason, a
// goroutine that is blocked reading in stays blocked.
func (ss *Session) Serve(ctx context.Context, in io.Reader, out io.Writer) (clean bool, err error) {
	if !ss.opened() {
		return false, errEnding
	}
	defer ss.closed()
	s := ss.connect(in, out)
	ss.part(s, s.serve(ctx))
	s.detach()
	err = s.out.flush()
	s.out.abandon()
	return err == nil && s.life.isShutDown(), err
}

var errEnding = errors.New("rpc: the session is ending")

// opened counts a connection. It returns false if the session takes no more.
func (ss *Session) opened() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.ending {
		return false
	}
	ss.open++
	ss.stopIdleLocked()
	return true
}

func (ss *Session) closed() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.open--
	ss.restIfIdleLocked()
}

// detach ends a connection whose client has gone, and leaves the jobs alone. What the client has only looked for is
// withdrawn; what it has asked to be done is done.
func (s *Server) detach() {
	s.end()
	s.life.end()
	s.withdraw()
	s.cancelLooks()
	if s.out.brokenBy() == nil {
		s.awaitAnswers(0)
	}
}

// withdraw takes back the questions to the client: no person can answer any more.
func (s *Server) withdraw() {
	for _, a := range s.out.withdrawAll() {
		a.answered(s, nil, nil)
	}
}

// cancelLooks cancels the requests with which the client has only looked for something.
func (s *Server) cancelLooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.inFlight {
		if looks[r.method] {
			r.cancel()
		}
	}
}

// looks are the requests that change nothing, and may take long.
var looks = map[string]bool{"job/wait": true, "job/read": true, "job/search": true, "job/screen": true, "env/get": true, "env/list": true}

// asksSecrets returns a function that reports whether a client has a person for passwords: to look for the prompts costs
// two switches of a thread for each input. nil: the only client says so once.
func (ss *Session) asksSecrets() func() bool {
	if !ss.shared {
		return nil
	}
	return func() bool { return ss.persons.Load() > 0 }
}
