package rpc

import (
	"cmp"
	"crypto/subtle"
	"regexp"
	"slices"
	"strconv"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// An attendee is what a session knows of a connected client.
type attendee struct {
	number int    // of the connection; 0: it has not joined
	name   string // its clientId, which the session has made if the client has none
	given  string // the same; "" if the client has none
	role   schema.SessionRole
	human  bool
	info   *schema.ClientInfo
	person bool // it answers questions for passwords
	speaks bool // it knows of sessions

	confirms bool // it answers questions about actions
	jobs     struct {
		keep  bool
		grace time.Duration
	}
}

// join makes a connection one of the session's clients, by its initialize. The first one configures the session.
func (ss *Session) join(s *Server, p *schema.InitializeParams) (first bool, attached schema.SessionAttached, err error) {
	ss.door.Lock()
	defer ss.door.Unlock()
	want := or(p.Session, schema.SessionParams{})
	if id := or(want.Attach, ss.id); id != ss.id {
		return false, "", &wireError{schema.KindSessionNotFound, "this is the session " + ss.id + ", and not " + clip(id, 100) + ", which has ended; its jobs are gone, and their output is listed by shelld jobs. Leave attach out to use this one",
			schema.SessionNotFoundData{Kind: string(schema.KindSessionNotFound), Session: clip(id, 100)}}
	}
	if madeID.MatchString(or(want.ClientID, "")) {
		return false, "", invalidParams(schema.FieldError{Pointer: "/session/clientId", Message: "ids such as client-1 are those that the server makes; choose another one"})
	}
	role, err := ss.roleFor(&want)
	if err != nil {
		return false, "", err
	}
	if old := ss.of(or(want.ClientID, "")); old != nil && ranks[role] < ranks[old.attendee.role] {
		return false, "", unfit("initialize", "role", "the client "+old.attendee.name+" is there as "+string(old.attendee.role)+", and this one would be "+string(role)+": give the token of the session to take its place, or choose another clientId")
	}
	first = !ss.begun
	if first {
		if err := ss.configure(s, p); err != nil {
			return false, "", err
		}
	}
	s.attendee.role, s.attendee.human, s.attendee.info = role, or(want.Human, false), p.ClientInfo
	can := or(p.Capabilities, schema.ClientCapabilities{})
	s.attendee.person, s.attendee.confirms, s.attendee.speaks = or(can.Secret, false), or(can.Confirm, false), p.Session != nil
	s.attendee.setJobs(want.Jobs)
	attached, err = ss.enter(s, or(want.ClientID, ""))
	if first && err == nil {
		attached = schema.SessionAttachedNew
	}
	return first, attached, err
}

// madeID matches the ids that a session makes.
var madeID = regexp.MustCompile(`^client-[0-9]+$`)

// configure sets the session up as its first client wants it.
func (ss *Session) configure(s *Server, p *schema.InitializeParams) error {
	if err := s.configureJobs(p); err != nil {
		return err
	}
	ss.begun = true
	ss.creator = or(or(p.Session, schema.SessionParams{}).ClientID, "")
	if p.Session != nil {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.share = or(p.Session.Share, schema.SessionShareDriver)
		ss.setLeaseLocked(p.Session.Lease)
	}
	return nil
}

// roleFor returns the role of a client that comes: what it wants, and no more than it may.
func (ss *Session) roleFor(want *schema.SessionParams) (schema.SessionRole, error) {
	may := schema.SessionRoleOwner
	token := or(want.Token, "")
	ss.mu.Lock()
	share := ss.share
	ss.mu.Unlock()
	creates := !ss.begun || ss.creator != "" && or(want.ClientID, "") == ss.creator // It may never have read the token.
	switch {
	case token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(ss.token)) == 0:
		return "", unfit("initialize", "token", "the token is not that of this session; leave it out to join as the session allows")
	case token == "" && !creates && share == schema.SessionShareNone:
		return "", unfit("initialize", "share", "this session is not shared: only a client with its token may join")
	case token == "" && !creates:
		may = schema.SessionRole(share)
	}
	return lesser(may, or(want.Role, may)), nil
}

// unfit returns the error for what a client of a session may not do.
func unfit(action, reason, message string) error {
	return &wireError{schema.KindPolicyDenied, message, schema.PolicyDeniedData{Kind: string(schema.KindPolicyDenied), Action: &action, Reason: &reason}}
}

// ranks order the roles by what they may do.
var ranks = map[schema.SessionRole]int{schema.SessionRoleViewer: 0, schema.SessionRoleDriver: 1, schema.SessionRoleOwner: 2}

func lesser(a, b schema.SessionRole) schema.SessionRole {
	if ranks[b] < ranks[a] {
		return b
	}
	return a
}

// enter adds a client, and withdraws the end of the jobs that have waited for it.
func (ss *Session) enter(s *Server, id string) (attached schema.SessionAttached, err error) {
	attached = schema.SessionAttachedJoined
	switch old := ss.of(id); {
	case old != nil:
		attached = schema.SessionAttachedReplaced
		ss.leaves(old, schema.SessionLeaveReasonReplaced)
		old.replace()
	case ss.known[id] != nil:
		attached = schema.SessionAttachedReturned
	}
	ss.mu.Lock()
	if ss.ending {
		ss.mu.Unlock()
		return "", wireErrorf(schema.KindShuttingDown, "the session is ending; start another one")
	}
	ss.last++
	s.attendee.number, s.attendee.given, s.attendee.name = ss.last, id, cmp.Or(id, "client-"+strconv.Itoa(ss.last))
	ss.clients = append(slices.Clone(ss.clients), s)
	if s.attendee.person {
		ss.persons.Add(1)
	}
	ss.mu.Unlock()
	if id != "" {
		ss.known[id] = &visitor{}
	}
	for _, j := range ss.mgr.All() {
		if !isLive(j) {
			continue
		}
		f := j.Sink().(*feed)
		if f.unnamed && s.attendee.shares() && ss.of(f.owner) == nil {
			f.owner = s.attendee.name
			j.SetOwner(f.owner)
		}
		if j.Lease().Keep || f.owner == s.attendee.name {
			j.EndAt(time.Time{})
		}
		if s.attendee.person {
			f.askAgain()
			j.Info() // a turn, in which the job begins to look for a prompt
		}
	}
	ss.tell(s, "session/clientJoined", schema.SessionClientJoinedParams{Client: s.client(nil)})
	return attached, nil
}

// shares reports whether the jobs of all clients without an id belong to this one, too.
func (m *attendee) shares() bool { return m.given == "" && m.role != schema.SessionRoleViewer }

// owns reports whether a job belongs to this client. The caller must hold the door.
func (m *attendee) owns(f *feed) bool { return f.owner == m.name || f.unnamed && m.shares() }

// of returns the connection of a client; nil: it is not connected. The caller must hold the door or mu.
func (ss *Session) of(name string) *Server {
	for _, s := range ss.clients {
		if s.attendee.name == name {
			return s
		}
	}
	return nil
}

// part removes a client that is gone, if nothing has removed it yet.
func (ss *Session) part(s *Server, reason schema.SessionLeaveReason) {
	ss.door.Lock()
	defer ss.door.Unlock()
	if slices.Contains(ss.clients, s) {
		ss.leaves(s, reason)
	}
}

// leaves removes a client. The caller must hold the door.
func (ss *Session) leaves(s *Server, reason schema.SessionLeaveReason) {
	s.life.end()
	s.out.leave()
	ss.mu.Lock()
	ss.clients = slices.DeleteFunc(slices.Clone(ss.clients), func(c *Server) bool { return c == s })
	if s.attendee.person {
		ss.persons.Add(-1)
	}
	ending := ss.ending
	ss.mu.Unlock()
	if ending {
		return // All jobs end, and their last events are sent to all clients.
	}
	ss.emptied = time.Now()
	if by := ss.known[s.attendee.given]; by != nil {
		by.left = ss.emptied
	} else if s.attendee.shares() {
		ss.unnamedLeft = ss.emptied
	}
	left := schema.SessionClientLeftParams{ClientID: s.attendee.name, Reason: reason}
	var first time.Time
	live := false // a job of this client is
	for _, j := range ss.mgr.All() {
		f := j.Sink().(*feed)
		f.leave(j, s.out)
		if reason != schema.SessionLeaveReasonReplaced {
			s.attendee.leaveInput(j)
		}
		f.askAgain()
		owns := s.attendee.owns(f)
		live = live || isLive(j) && owns
		if !isLive(j) || reason == schema.SessionLeaveReasonReplaced || !owns && !j.Lease().Keep {
			continue
		}
		if at := ss.endsAt(j); !at.IsZero() {
			j.EndAt(at)
			left.Jobs = append(left.Jobs, int64(j.ID()))
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
	}
	if !live && len(ss.known) > mostKnown {
		delete(ss.known, s.attendee.given)
	}
	if !first.IsZero() {
		left.EndsAt = optional(timestamp(first))
	}
	ss.tell(s, "session/clientLeft", left)
}

// mostKnown is how many clients are remembered that have left no live job. They are told that they have returned.
const mostKnown = 1000

// unnamedThere reports whether a client is there to which the jobs of those without an id belong. The caller must hold
// the door.
func (ss *Session) unnamedThere() bool {
	return slices.ContainsFunc(ss.clients, func(s *Server) bool { return s.attendee.shares() })
}

// endsAt returns when a job is to end if nobody comes for it; zero: its client is there, or it needs none. The caller
// must hold the door.
func (ss *Session) endsAt(j *jobs.Job) (at time.Time) {
	l, f := j.Lease(), j.Sink().(*feed)
	if l.Keep {
		if detached := ss.detached(); len(ss.clients) == 0 && detached != endless {
			at = ss.emptied.Add(detached)
		}
	} else if f.unnamed {
		if !ss.unnamedThere() {
			at = ss.unnamedLeft.Add(l.Grace)
		}
	} else if by := ss.known[f.owner]; by == nil {
		at = time.Now().Add(l.Grace) // It had left before the job was registered.
	} else if !by.left.IsZero() {
		at = by.left.Add(l.Grace)
	}
	return at
}

func (ss *Session) detached() time.Duration {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.lease.detached
}

// adopt is called for a job that a client has just begun to start: the client may have gone meanwhile.
func (ss *Session) adopt(s *Server, j *jobs.Job) {
	if !ss.shared {
		return
	}
	ss.door.Lock()
	defer ss.door.Unlock()
	if !slices.Contains(ss.clients, s) {
		j.Sink().(*feed).leave(j, s.out)
		s.attendee.leaveInput(j)
	}
	j.EndAt(ss.endsAt(j))
}

// renew is called when the lease of a job has changed: its client may be away already.
func (ss *Session) renew(j *jobs.Job) {
	ss.door.Lock()
	defer ss.door.Unlock()
	j.EndAt(ss.endsAt(j))
}

// replace ends a connection since its client has another one.
func (s *Server) replace() {
	s.life.end()
	s.out.sendLast(notification("session/replaced", schema.SessionReplacedParams{}))
	s.end()
}

// tell sends a notification to all clients that know of sessions, except one.
func (ss *Session) tell(except *Server, method string, params any) {
	ss.mu.Lock()
	clients := slices.Clone(ss.clients)
	ss.mu.Unlock()
	for _, s := range clients {
		if s != except && s.attendee.speaks {
			s.out.sendOwn(s.out.bounded(method, params))
		}
	}
}

// withPerson returns the clients that answer for a person when a program asks for a password.
func (ss *Session) withPerson() (all []*Server) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, s := range ss.clients {
		if s.attendee.person {
			all = append(all, s)
		}
	}
	return all
}

// jobOver ends the session soon if this was its last job and nobody is there. It is called in turns, too.
func (ss *Session) jobOver() {
	if ss.shared {
		ss.mu.Lock()
		ss.restIfIdleLocked()
		ss.mu.Unlock()
	}
}

// client describes a client to the others.
func (s *Server) client(jobs []int64) schema.SessionClient {
	m := &s.attendee
	return schema.SessionClient{
		Jobs:     jobs,
		ClientID: m.name, Role: m.role, Human: optional(m.human), ClientInfo: m.info, AttachedAt: timestamp(s.arrived),
	}
}

// setJobs sets the defaults for the jobs that a client starts.
func (m *attendee) setJobs(o *schema.SessionJobOptions) {
	if o == nil {
		return
	}
	if o.OnDetach != nil {
		m.jobs.keep = *o.OnDetach == schema.OnDetachKeep
	}
	m.jobs.grace = milliseconds(o.GraceMs, m.jobs.grace)
}

// leaseOf returns the lease of a job that this client starts.
func (s *Server) leaseOf(onDetach *schema.OnDetach, graceMs *int64) (jobs.Lease, error) {
	for what, given := range map[string]bool{"onDetach": onDetach != nil, "detachGraceMs": graceMs != nil} {
		if !given {
			continue
		}
		if err := s.notShared(what); err != nil {
			return jobs.Lease{}, err
		}
	}
	if !s.in.shared {
		return jobs.Lease{}, nil
	}
	keep := s.attendee.jobs.keep
	if onDetach != nil {
		keep = *onDetach == schema.OnDetachKeep
	}
	return jobs.Lease{Owner: s.attendee.name, Holder: s.attendee.name, Keep: keep, Grace: milliseconds(graceMs, s.attendee.jobs.grace)}, nil
}
