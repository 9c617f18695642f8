package shellmark

// A Phase is the state of a shell according to its marks.
type Phase int

const (
	PhaseBeginning Phase = iota // it starts, or prepares its prompt
	PhaseReady                  // it reads a line
	PhaseHanded                 // a command was handed to it
	PhaseHidden                 // hidden code was handed to it
	PhaseAsked                  // it was asked about an unconfirmed command
	PhaseRunning                // a command runs
	PhaseGone                   // the shell has ended, or another program has replaced it
)

// DoubtRunning stands for the number of the unconfirmed command if that is the running one.
const DoubtRunning int64 = -1

// A Session follows a shell by its marks. Its decisions depend only on their order, never on time:
//
//	beginning ─OnReady→ ready ─Hand→ handed ─OnBegan→ running ─OnEnded→ beginning
//	                      └─OnBegan (typed)─────────────↗
//
// The shell first reads the input that was typed while it was busy. A typed command may therefore begin while something
// is handed to the shell. The keys that make the shell read this come after the typed command, so it stays handed
// (owed) until the typed command has ended.
//
// Every text that is handed to the shell has a number, which the marks repeat. A mark refers only to the command with
// its number.
//
// The zero value is a starting shell.
type Session struct {
	phase  Phase
	owed   Phase // the phase to return to when the typed command has ended; PhaseBeginning: none
	runs   bool  // a command runs
	seq    int64 // number of the last text that was handed over
	loaded bool  // the shell has read that text
	taking bool  // the unread rest of that text is being taken back
	since  int   // see Since
	doubt  int64 // number of the unconfirmed command; 0: none
	typing bool  // a line end was typed since the shell was ready
	more   bool  // the shell reads the rest of an incomplete line
}

// Phase returns the current phase.
func (s *Session) Phase() Phase { return s.phase }

// Seq returns the number of the text that was handed over last.
func (s *Session) Seq() int64 { return s.seq }

// Typing reports whether a line end was typed while the shell was ready.
func (s *Session) Typing() bool { return s.typing }

// More reports whether the shell reads the rest of an incomplete line.
func (s *Session) More() bool { return s.more }

// InDoubt returns the number of the unconfirmed command, DoubtRunning, or 0 if there is none.
func (s *Session) InDoubt() int64 { return s.doubt }

// Taking reports whether the unread rest of the text is being taken back.
func (s *Session) Taking() bool { return s.taking }

// Since returns the number of the first probe of the shell's input that counts for the text that is handed over. It
// becomes 0 again whenever the shell may have to do something for the text first.
func (s *Session) Since() int { return s.since }

// CountFrom sets Since.
func (s *Session) CountFrom(probe int) { s.since = probe }

// Handing reports whether something is handed to the shell that has not begun.
func (s *Session) Handing() bool {
	return s.phase == PhaseHanded || s.phase == PhaseHidden || s.phase == PhaseAsked
}

// Has reports whether p is the phase, or the one to return to.
func (s *Session) Has(p Phase) bool { return s.phase == p || s.owed == p }

// Hand records that a text is handed to the shell, and returns its number. as is PhaseHanded, PhaseHidden or
// PhaseAsked.
func (s *Session) Hand(as Phase) int64 {
	s.seq++
	s.phase, s.loaded, s.taking, s.since = as, false, false, 0
	return s.seq
}

// OnReady handles that the shell reads a line, and reports whether that counts. It does not while something is handed
// over, because a redrawn prompt repeats this mark.
func (s *Session) OnReady() bool {
	if s.Handing() || s.phase == PhaseGone {
		return false
	}
	s.phase, s.typing, s.more = PhaseReady, false, false
	s.takeUp()
	return true
}

// OnLoaded handles that the shell has read the text with this number.
func (s *Session) OnLoaded(seq int64) {
	s.takeUp()
	if seq == s.seq {
		s.loaded, s.since = true, 0
	}
}

// OnBegan handles the start of a command. handed means that it is the one that was handed over. If another command was
// running, OnEnded must be called first.
func (s *Session) OnBegan(handed bool) {
	if s.Handing() && (!handed || s.phase != PhaseHanded) {
		s.owed = s.phase
	} else if handed && s.owed == PhaseHanded {
		s.owed = PhaseBeginning
	}
	s.phase, s.runs, s.more = PhaseRunning, true, false
}

// OnEnded handles the end of the running command. If none runs, the shell has read an empty line, or comes to its first
// prompt.
func (s *Session) OnEnded() {
	switch {
	case s.runs:
		if s.runs = false; s.phase == PhaseRunning {
			s.phase = PhaseBeginning
		}
	case !s.Handing() && s.phase != PhaseGone:
		s.phase = PhaseBeginning
	}
}

// OnDropped handles that the command that was handed over will not run.
func (s *Session) OnDropped() {
	if s.phase == PhaseHanded {
		s.phase = PhaseBeginning
	}
	if s.owed == PhaseHanded {
		s.owed = PhaseBeginning
	}
	s.loaded = false
}

// OnMore handles that the shell waits for the rest of an incomplete line. It reports whether that line is the command
// that was handed over; if not, it was typed.
func (s *Session) OnMore() bool {
	s.more = true
	return s.phase == PhaseHanded && s.loaded
}

// DropIncomplete records that the incomplete command is dropped.
func (s *Session) DropIncomplete() { s.phase = PhaseBeginning }

// OnRan handles that the hidden code with this number has run. hidden means that it was that of PhaseHidden. If it was
// the question about an unconfirmed command, doubted is the number of this command, which the shell has not read to its
// end.
func (s *Session) OnRan(seq int64) (hidden bool, doubted int64) {
	s.takeUp()
	switch {
	case seq != s.seq: // the code was given up
	case s.phase == PhaseAsked:
		return false, s.EndDoubt()
	case s.owed == PhaseAsked: // the unconfirmed command runs
		s.owed, s.doubt = PhaseBeginning, 0
	case s.phase == PhaseHidden:
		s.phase = PhaseReady
		return true, 0
	}
	return false, 0
}

// OnTyped handles that a line end was typed.
func (s *Session) OnTyped() {
	if s.phase == PhaseReady {
		s.typing = true
	}
}

// TakeBack records that the unread rest of the text is being taken back.
func (s *Session) TakeBack() { s.taking = true }

// OnTaken handles that the shell reads a line, has not begun the text that was handed over, and that the unread rest of
// it has been taken back. It returns the previous phase.
func (s *Session) OnTaken() Phase {
	was := s.phase
	s.phase, s.taking = PhaseReady, false
	return was
}

// Doubt records that it is unknown whether the command with this number has run or, for DoubtRunning, has ended. The
// caller must ask the shell next.
func (s *Session) Doubt(seq int64) { s.doubt = seq }

// EndDoubt records that the command is no longer unconfirmed, and returns its number.
func (s *Session) EndDoubt() int64 {
	seq := s.doubt
	s.doubt, s.phase = 0, PhaseReady
	if s.runs {
		s.phase = PhaseRunning
	}
	return seq
}

// Leave records that the shell is gone.
func (s *Session) Leave() { s.phase = PhaseGone }

// takeUp returns to the text that was handed over before a typed command began, if that has ended.
func (s *Session) takeUp() {
	if s.owed != PhaseBeginning && !s.runs && s.phase != PhaseGone {
		s.phase, s.owed, s.since = s.owed, PhaseBeginning, 0
	}
}

const (
	// mostDoubts is how often the shell is asked about one command if interrupts discard the question: bash may handle
	// an interrupt that came while it drew its prompt only at the next key.
	mostDoubts = 3
	// mostTries is how often one command is handed over.
	mostTries = 5
)

// A Handover counts how often a command is handed to a shell, and holds its number there.
type Handover struct {
	seq           int64
	tries, doubts int
}

// Seq returns the number of the command, or 0 if it is not handed over.
func (h *Handover) Seq() int64 { return h.seq }

// Give records that the command is handed over.
func (h *Handover) Give(seq int64) { h.seq = seq }

// Withdraw records that the command is no longer handed over.
func (h *Handover) Withdraw() { h.seq = 0 }

// Fail records that the shell will not run the command, and reports whether it may be handed over again.
func (h *Handover) Fail() bool {
	h.tries++
	h.seq = 0
	return h.tries < mostTries
}

// AskAgain reports whether the shell may be asked about the command again.
func (h *Handover) AskAgain() bool {
	if h.doubts >= mostDoubts {
		return false
	}
	h.doubts++
	return true
}
