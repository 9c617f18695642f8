package rpc

import (
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// This file has the requests that change which client holds the input of a job. Package jobs decides; it knows clients
// by their names alone, and asks here which of them are attached.

func (s *Server) jobTakeInput(r *request) error {
	var p schema.JobTakeInputParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	pending := j.TakeInput(jobs.TakeOptions{
		Owner: s.attendee.name,
		Force: or(p.Force, false) && (s.attendee.role == schema.SessionRoleOwner || s.attendee.human),
		Away:  func(holder string) bool { return s.in.present(holder) == nil },
		Cols:  int(or(p.Cols, 0)), Rows: int(or(p.Rows, 0)),
	})
	respond(r, pending, func(info jobs.Info) schema.JobTakeInputResult {
		return schema.JobTakeInputResult{Job: jobInfo(info)}
	})
	return nil
}

func (s *Server) jobGiveInput(r *request) error {
	var p schema.JobGiveInputParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	to := or(p.To, "")
	if h := s.in.present(to); to != "" && (h == nil || h.attendee.role == schema.SessionRoleViewer) {
		return invalidParams(schema.FieldError{Pointer: "/to", Message: "no client with this id is attached that may type; session/get lists the clients"})
	}
	respond(r, j.GiveInput(s.attendee.name, to), func(info jobs.Info) schema.JobGiveInputResult {
		return schema.JobGiveInputResult{Job: jobInfo(info)}
	})
	return nil
}

// present returns the connection of an attached client; nil: it is away. It may be called in turns.
func (ss *Session) present(name string) *Server {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.of(name)
}

// heldBy adds what is known of the holder to the data of an error.
func (ss *Session) heldBy(d schema.InputHeldData) schema.InputHeldData {
	h := ss.present(d.Holder)
	if h == nil {
		d.Away = optional(true)
		return d
	}
	d.ClientInfo, d.Human = h.attendee.info, optional(h.attendee.human)
	return d
}

// typists returns the clients that are asked when a program wants a password: the holder of the job's input, or, if that
// is away or has no person, all that have one.
func (f *feed) typists() []*Server {
	all := f.session.withPerson()
	holder := f.job.Lease().Holder
	for _, s := range all {
		if holder != "" && s.attendee.name == holder {
			return []*Server{s}
		}
	}
	return all
}

// leaveInput is called for a client that has left: one that has no id of its own cannot come back to the input.
func (m *attendee) leaveInput(j *jobs.Job) {
	if m.given == "" {
		j.LeaveInput(m.name)
	}
}

// defaultEvents returns the events that a client gets by default.
func (m *attendee) defaultEvents() []schema.EventName {
	if m.speaks {
		return sharedEvents
	}
	return defaultEvents
}
