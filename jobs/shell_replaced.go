package jobs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/shellmark"
)

// A shell that is replaced by another program (exec) says so to nobody: the command that has
// brought that about just does not end. What a process executes the system tells (proc.Image).
// There is no event for a change of that, so that it is looked at while a command runs: when
// output or input has come, and then ever more slowly, as by looks for input (waiting.go). A
// request that concerns the shell looks at once. Before the first prompt what it executed at first is not known by that:
// it may be a script that has the shell in its place. What it was given is (proc.StartedWith).

// imageAfter is when looks follow the beginning of a command, and its output and input. Most
// commands have ended before the first one, and a program that has taken the shell's place only
// to end again is told by its end.
var imageAfter = []time.Duration{15 * time.Millisecond, 45 * time.Millisecond, 105 * time.Millisecond, 225 * time.Millisecond}

const (
	// imageAgain is when it is looked again, at first, where the shell's last words were not read yet.
	imageAgain = time.Millisecond

	// mostUnread is far more than a terminal holds.
	mostUnread = 256 << 10
)

// imageUnknown stands for what a process executes where the system does not tell it. Nothing is
// said of that.
const imageUnknown = "?"

// An imageLook is what the job's turns know of these looks.
type imageLook struct {
	at    time.Time // the next one; zero: none is to come
	of    activity  // when at was set
	under bool      // the last one has not ended

	was   bool      // the shell was seen, so that it may be looked at
	other bool      // another program was seen
	since time.Time // when it was, first
	seen  int64     // where output ended then
}

// An imageMsg is whether the leader was seen to execute what it should.
type imageMsg struct {
	same bool
	err  error
}

func (m imageMsg) deliver(j *Job) { j.shell.onImage(m) }

func imageOf(pid int) string {
	if image, err := proc.Image(pid); err == nil {
		return image
	}
	return imageUnknown
}

// mayBeReplaced says whether a shell does something that may put another program in its place, or
// is known to have done so and not left.
func (s *shellWatch) mayBeReplaced() bool {
	if s.look.other || s.starts() && s.files.dir != "" {
		return s.session.Phase() != shellmark.PhaseGone
	}
	return s.image != "" && s.image != imageUnknown && (s.session.Phase() == shellmark.PhaseRunning || s.handing())
}

// reviewReplaced looks whether the shell is still there, where it is time for that.
func (p *shellPart) reviewReplaced(now time.Time) {
	s := p.watch
	if !s.mayBeReplaced() {
		s.look.at = time.Time{}
		return
	}
	// Output without end must not put the look off for ever.
	if a := p.j.waiting.activity(); s.look.at.IsZero() || a != s.look.of {
		s.look.of, s.look.at = a, earliest(s.look.at, now.Add(imageAfter[0]))
	}
	if s.look.under || now.Before(s.look.at) {
		return
	}
	s.look.under = true
	pid, image := p.j.info.PID, s.image
	place := filepath.Base(s.files.dir) // what is before it may stand there in quotes
	p.j.output.loops.Go(func() {        // /proc may keep it waiting
		if image == "" {
			same, err := proc.StartedWith(pid, place)
			p.j.post(imageMsg{same, err})
			return
		}
		now, err := proc.Image(pid)
		p.j.post(imageMsg{now == image, err})
	})
}

// imageDue is when the next look is to begin; zero: when something has happened.
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
	active := p.j.waiting.activeAt()
	if s.current != nil {
		active = latest(active, s.current.StartedAt)
	}
	if s.look.at = nextOf(imageAfter, active, now); s.look.at.IsZero() {
		s.look.at = now.Add(min(max(now.Sub(active)/4, slowLook), slowestLook))
	}
}

// isReplaced looks whether the shell's process executes another program by now. Before the first prompt
// that is not known so quickly: what waits for the shell is answered once it has been seen.
func (p *shellPart) isReplaced() bool {
	s := p.watch
	if s.session.Phase() == shellmark.PhaseGone || s.image == "" {
		return s.session.Phase() == shellmark.PhaseGone
	}
	image, err := proc.Image(p.j.info.PID)
	return p.takeImage(image == s.image, err)
}

// takeImage takes whether the shell's process executes what it did, and says whether that is another program. It
// is left as soon as all that the shell has said before is known. What nobody may look at any more
// is one that runs with other rights (sudo), or a shell that nobody may read: what zsh was given stands where only
// those look who may.
func (p *shellPart) takeImage(same bool, err error) bool {
	s := p.watch
	s.look.was = s.look.was || err == nil && same
	other := err == nil && !same || errors.Is(err, fs.ErrPermission) && (s.image != "" || s.look.was && s.kind != shellmark.Zsh)
	if s.image == imageUnknown || !other {
		return false
	}
	s.why = "another program has taken the place of its shell (exec), and has no integration"
	if s.starts() {
		s.why = "its start-up files have had another program take the place of its shell (exec), which has no integration"
		s.cure = "start that program itself where it is a shell (shell, or argv), or this one without these files,"
	}
	if p.heardOut() {
		p.leaveReplaced()
	} else {
		now := time.Now()
		s.look.at = now.Add(min(max(now.Sub(s.look.since)/4, imageAgain), slowestLook)) // nobody may read what it writes
	}
	return true
}

// leaveReplaced tells that the shell is not there any more.
func (p *shellPart) leaveReplaced() {
	s := p.watch
	s.replaced = true
	s.files.forget() // if that was not done at a first prompt
	s.cwd = ""       // What was told of it is as it was; the new program may tell more.
	p.j.info.Integration = ""
	p.j.changes.untold.Add(Changed{What: ChangeIntegration})
	p.j.actor.mail.Poke() // This turn may have told already what has changed.
	p.left(s.why, func() *Error { return p.noIntegration(s.why) })
}

// heardOut says whether all has been taken up that the shell has said before another program took
// its place: which command has begun, above all. Of a program that writes without end the shell's
// words come first.
func (p *shellPart) heardOut() bool {
	l, st := &p.watch.look, p.j.output.streams[0]
	if !l.other {
		l.other, l.since, l.seen = true, time.Now(), st.spool.End()
	}
	read := st.src.Idle() || st.spool.End() >= l.seen+mostUnread
	return read && !p.watch.hasMarks()
}
