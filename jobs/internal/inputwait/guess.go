package inputwait

import (
	"fmt"
	"time"
)

// How long it must have been quiet for a guess. A password is asked for by switching
// echo off, which nobody does without reading soon.
const (
	quietGuess    = 500 * time.Millisecond
	quietPassword = 200 * time.Millisecond
)

// guess is what can be said from quiet and the terminal's modes alone.
func (t *Target) guess(quiet time.Duration, because string) Verdict {
	kind, known := t.kind()
	need := quietGuess
	if kind == Password {
		need = quietPassword
	}
	if quiet < need {
		return Verdict{Why: "it was not quiet for long enough to guess", Again: need - quiet}
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

// kind is what the terminal's modes say; a pipe is read by lines.
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
