package jobs

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"

	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/roots"
)

// Steers reports whether a variable of this name can change which commands run.
func Steers(name string) bool { return roots.Steers(name) || roots.Steers(proc.NameKey(name)) }

// addEnvironment adds the effects of the environment to the question about a start: the variables that change which
// commands run, and a digest of all variables.
func (q *Question) addEnvironment(j *Job, env []string) *Error {
	q.Variables, q.Environment = steeringVariables(&j.spec), environmentDigest(env)
	size := len(q.Command)
	for name, value := range q.Variables {
		size += len(name)
		if value == nil {
			continue
		}
		size += len(*value)
		shown := j.redaction.text(*value)
		if IsSecret(name, j.spec.from.client[proc.NameKey(name)].secret) {
			shown = "***"
		}
		if shown != *value {
			q.Variables[name] = &shown
			q.Unknown, q.key = true, "" // A person cannot allow what the question does not show.
		}
	}
	if size > mostAsked {
		return policyDenied(string(q.Action), "confirm", "the command and the variables that change which commands run have %d bytes, and at most %d can be confirmed; set shorter values", size, mostAsked)
	}
	return nil
}

// steeringVariables returns the variables that the client has set or unset for a start and that change which commands
// run. It leaves out a variable whose value is known to change nothing.
func steeringVariables(s *Spec) map[string]*string {
	var vars map[string]*string
	for _, name := range setNames(s) {
		value, own := s.Env[name]
		if !own {
			value = s.from.client[proc.NameKey(name)].value
		}
		if !Steers(name) || own && value != nil && isHarmless(name, *value) {
			continue
		}
		if vars == nil {
			vars = map[string]*string{}
		}
		vars[name] = value
	}
	return vars
}

func isHarmless(name, value string) bool {
	given := roots.Given(name, value)
	return !given.Unknown() && len(given.Roots) == 0
}

// environmentKey keeps a client from finding out a variable's value by digests of guesses.
var environmentKey = sync.OnceValue(func() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // It never returns an error.
	return key
})

// environmentDigest returns the same digest for equal environments of this process's jobs.
func environmentDigest(env []string) string {
	h := hmac.New(sha256.New, environmentKey())
	for _, entry := range env {
		_, _ = io.WriteString(h, entry+"\x00") // No entry contains a NUL.
	}
	return hex.EncodeToString(h.Sum(nil))
}

// allowStart returns nil once a start that passed all checks may be made, or the error why it may not.
func (p *askingPart) allowStart(pl plan) *Error {
	if p.j.mgr.settings.confirm.Start != VerdictAsk {
		return nil
	}
	q, err := p.question(ActionStart, p.j.spec.Asker, 0, p.shownCommand(pl.shell), pl.place(), rootsOf(&p.j.spec, pl))
	if err != nil {
		return err
	}
	if err := q.addEnvironment(p.j, pl.env); err != nil {
		return err
	}
	if err := p.awaitPerson(q); err != nil {
		return err
	}
	return p.checkAgain(pl)
}

// checkAgain checks a start once more after a person has allowed it: the path may lead to another directory by now, or
// to one that is not allowed any more.
func (p *askingPart) checkAgain(asked plan) *Error {
	now, err := p.j.mgr.system.plan(&p.j.spec)
	if err != nil {
		return err
	}
	defer now.at.Close()
	return sameDirectory(asked, now)
}

func (p *askingPart) awaitPerson(q *Question) *Error {
	defer p.j.mgr.askPerson(q)()
	a, err := awaitBefore(p.j, q.answers, heldByPerson)
	if err != nil {
		return err
	}
	return q.denied(a)
}
