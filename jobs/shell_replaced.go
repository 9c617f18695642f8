package jobs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/shellmark"
)

// If another program replaces a shell (exec), no mark reports it: the command that caused it just does not end. The
// system tells which program a process executes (proc.Image). There is no event for a change of that, so the server
// probes it while a command runs: after output or input, and then at growing intervals, like the input probes
// (waiting.go). A request that concerns the shell probes at once.
//
// Before the first prompt, the program that the process executed at first is not known from proc.Image: it may be a
// script that replaces itself with the shell. The arguments and the environment of the shell are known
// (proc.StartedWith).

// imageAfter has the delays of the probes after a command begins, and after output and input. Most commands have ended
// before the first probe. A program that replaces the shell and ends soon is detected by its end.
var imageAfter = []time.Duration{15 * time.Millisecond, 45 * time.Millisecond, 105 * time.Millisecond, 225 * time.Millisecond}

const (
	// imageAgain is the delay before the next probe, at first, if the shell's last marks were not read yet.
	imageAgain = time.Millisecond

	// mostUnread is far more than the buffer of a terminal holds.
	mostUnread = 256 << 10
)

// imageUnknown stands for the executed program if the system does not tell it. Then a replacement is not reported.
const imageUnknown = "?"

// An imageLook is the state of these probes. It is used in the job's turns.
type imageLook struct {
	at    time.Time // when the next probe is due; zero: none is planned
	of    activity  // the activity when at was set
	under bool      // a probe is in progress

	was   bool      // a probe has seen the shell, so probes of it are permitted
	other bool      // a probe has seen another program
	since time.Time // when the other program was first seen
	seen  int64     // the end of output at that time
}

// An imageMsg is the result of a probe: whether the leader executes the expected program.
type imageMsg struct {
	same bool
	err  error
}

func (imageMsg) message() {}

func imageOf(pid int) string {
	if image, err := proc.Image(pid); err == nil {
		return image
	}
	return imageUnknown
}

// mayBeReplaced reports whether the shell does something that may replace it with another program, or has been
// replaced and this is not handled yet.
func (s *shellWatch) mayBeReplaced() bool {
	if s.look.other || s.starts() && s.files.Dir != "" {
		return s.session.Phase() != shellmark.PhaseGone
	}
	return s.image != "" && s.image != imageUnknown && (s.session.Phase() == shellmark.PhaseRunning || s.handing())
}

// reviewReplaced begins a probe whether the shell is still there, if one is due.
func (p *shellPart) reviewReplaced(now time.Time) {
	s := p.watch
	if !s.mayBeReplaced() {
		s.look.at = time.Time{}
		return
	}
	// Continuous output must not delay the probe forever.
	if a := p.waiting.activity(); s.look.at.IsZero() || a != s.look.of {
		s.look.of, s.look.at = a, earliest(s.look.at, now.Add(imageAfter[0]))
	}
	if s.look.under || now.Before(s.look.at) {
		return
	}
	s.look.under = true
	pid, image := p.j.info.PID, s.image
	place := filepath.Base(s.files.Dir) // the base name alone, since the path before it may be quoted there
	p.j.background(func() {             // in a goroutine, since /proc may block
		if image == "" {
			same, err := proc.StartedWith(pid, place)
			p.j.post(imageMsg{same, err})
			return
		}
		now, err := proc.Image(pid)
		p.j.post(imageMsg{now == image, err})
	})
}

// imageDue returns when the next probe is due. Zero: only after some activity.
func (p *shellPart) imageDue() (t time.Time) {
	if p.watch != nil && !p.watch.look.under {
		t = p.watch.look.at
	}
	return t
}

func (p *shellPart) onImage(m imageMsg) {
	s, now := p.watch, time.Now()
	s.look.under = false
	if s.session.Phase() == shellmark.PhaseGone || p.j.st.exit != nil || p.takeImage(m.same, m.err) {
		return
	}
	active := p.waiting.activeAt()
	if s.current != nil {
		active = latest(active, s.current.StartedAt)
	}
	if s.look.at = nextOf(imageAfter, active, now); s.look.at.IsZero() {
		s.look.at = now.Add(min(max(now.Sub(active)/4, slowLook), slowestLook))
	}
}

// isReplaced probes at once whether another program has replaced the shell, and reports it. Before the first prompt
// this cannot be determined so quickly: it returns false, and the requests that wait for the shell are answered when a
// later probe has seen the other program.
func (p *shellPart) isReplaced() bool {
	s := p.watch
	if s.session.Phase() == shellmark.PhaseGone || s.image == "" {
		return s.session.Phase() == shellmark.PhaseGone
	}
	image, err := proc.Image(p.j.info.PID)
	return p.takeImage(image == s.image, err)
}

// takeImage handles the result of a probe, and reports whether another program has replaced the shell. The integration
// ends as soon as all marks that the shell has written before are handled. A permission error means that the process
// has changed its credentials (sudo), and so executes another program. But before the first prompt it may also mean
// that the shell itself is not readable. So it counts then only if an earlier probe has succeeded, and never for zsh:
// the probe of zsh reads its environment, which needs more permissions.
func (p *shellPart) takeImage(same bool, err error) bool {
	s := p.watch
	s.look.was = s.look.was || err == nil && same
	other := err == nil && !same || errors.Is(err, fs.ErrPermission) && (s.image != "" || s.look.was && s.kind != shellmark.Zsh)
	if s.image == imageUnknown || !other {
		return false
	}
	s.why = "another program replaced its shell (exec) and has no integration"
	if s.starts() {
		s.why = "its start-up files replaced its shell by another program (exec), which has no integration"
		s.cure = "start that program itself if it is a shell (shell, or argv), or this shell without these files,"
	}
	if p.heardOut() {
		p.leaveReplaced()
	} else {
		now := time.Now()
		s.look.at = now.Add(min(max(now.Sub(s.look.since)/4, imageAgain), slowestLook)) // it may stay unread for long
	}
	return true
}

// leaveReplaced reports that the shell has been replaced, and ends the integration.
func (p *shellPart) leaveReplaced() {
	s := p.watch
	s.replaced = true
	s.files.Forget()                  // if there was no first prompt
	s.cwd, p.j.shellTells = "", false // The reported directory stays; the new program may report another one.
	p.j.info.Integration = ""
	p.j.untold.Add(Changed{What: ChangeIntegration})
	p.j.mail.Poke() // This turn may already have reported its changes.
	p.left(s.why, func() *Error { return p.noIntegration(s.why) })
}

// heardOut reports whether all marks that the shell has written before the replacement are handled. The most important
// one is which command has begun. If the new program writes without end, the shell's marks are in front of its output.
func (p *shellPart) heardOut() bool {
	l, st := &p.watch.look, p.j.output.streams[0]
	if !l.other {
		l.other, l.since, l.seen = true, time.Now(), st.spool.End()
	}
	read := st.src.Idle() || st.spool.End() >= l.seen+mostUnread
	return read && !p.watch.hasMarks()
}
