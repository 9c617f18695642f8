package rpc

import "time"

// A SessionStatus is what a host tells other programs about its session.
type SessionStatus struct {
	Clients        int       // connected, and initialized
	LiveJobs       int       // jobs of which a process is alive
	EndsAt         time.Time // when the last of them ends if no client comes; zero: a client is there, or they have no end
	StateDirectory string    // where output is stored; "": nowhere, or not known yet
}

// Status returns the status of the session.
func (ss *Session) Status() (s SessionStatus) {
	ss.door.Lock()
	defer ss.door.Unlock()
	if ss.begun {
		s.StateDirectory = ss.mgr.StateDirectory()
	}
	s.Clients = len(ss.clients)
	forever := s.Clients > 0
	for _, j := range ss.mgr.All() {
		if !isLive(j) {
			continue
		}
		s.LiveJobs++
		at := ss.endsAt(j)
		forever = forever || at.IsZero()
		if at.After(s.EndsAt) {
			s.EndsAt = at
		}
	}
	if forever {
		s.EndsAt = time.Time{}
	}
	return s
}
