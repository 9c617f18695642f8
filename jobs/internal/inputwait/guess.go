package inputwait

import (
	"fmt"
	"time"
)

// How long the job must have been quiet for a guess. A program that asks for a password switches echo off, and programs
// do that only shortly before they read.
const (
	quietGuess    = 500 * time.Millisecond
	quietPassword = 200 * time.Millisecond
)

// guess returns the verdict that quiet and the terminal's modes alone allow.
func (t *Target) guess(quiet time.Duration, because string) Verdict {
	kind, known := t.kind()
	need := quietGuess
	if kind == Password {
		need = quietPassword
	}
	if quiet < need {
		return Verdict{Why: "it has not been quiet for long enough to guess", Again: need - quiet}
	}
	modes := ""
	if known && kind != Line {
		modes = ", and its terminal is set up to read " + map[Kind]string{Password: "a password", Raw: "keys"}[kind]
	}
	return Verdict{
		Waiting: true, State: Reading, Kind: kind, Confidence: Guess, PID: t.Leader,
		Why: fmt.Sprintf("a guess: nothing was printed or written for %v%s; %s", need, modes, because),
	}
}

// kind returns the kind of input according to the terminal's modes; a pipe is read by lines. known is false if the
// modes could not be read.
func (t *Target) kind() (k Kind, known bool) {
	if t.Terminal == nil {
		return Line, true
	}
	canonical, echo, err := t.Terminal.Modes()
	switch {
	case err != nil:
		return Line, false
	case !canonical:
		return Raw, true
	case !echo:
		return Password, true
	}
	return Line, true
}
