package jobs

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"shelld/jobs/internal/proc"
)

// hintBytes is how much of the end of the output a hint is looked for in: shells
// say what they could not run last.
const hintBytes = 4 << 10

// The sentences with which POSIX shells say that a command is not there (status
// 127) or cannot be run (126), and with which zsh and fish do. The name is one of the groups.
var (
	notFound = regexp.MustCompile(`(?m)(?:^|: )([^\s:]+): (?:command )?not found\s*$|: (?:command not found|Unknown command): (\S+)\s*$`)
	notRun   = regexp.MustCompile(`(?m)(?:^|: )([^\n:]+): (?:cannot execute: )?(?:Permission denied|Is a directory)\s*$|: permission denied: (\S.*?)\s*$|: Unknown command\. '(.+)' exists but is not an executable file\.\s*$`)
)

// hintTime is how long at most the end of a job is held up to find out why a shell
// could not run its command. It takes a millisecond or a few; 250 ms were too short
// for a machine with ten times more to do than it can. All of it is waited for only
// where a directory on PATH does not answer.
const hintTime = time.Second

// needsHint says whether the leader's end is a shell's that could not run a command.
func (p *endingPart) needsHint() bool {
	e := p.j.st.exit
	return p.j.spec.Command != nil && e.Code != nil && (*e.Code == 126 || *e.Code == 127)
}

// seekHint has a goroutine look for the hint, since it reads directories. It ends
// when they have been read, and answers on hints, which has room for it.
func (p *endingPart) seekHint() {
	p.hintUntil = time.Now().Add(hintTime)
	code, dir, mode := *p.j.st.exit.Code, p.j.info.Cwd, p.j.info.Mode
	go func() { p.hints <- p.findHint(code, dir, mode) }()
}

// findHint tells why a shell could not run a command, in the terms of a failed start.
func (p *endingPart) findHint(code int, dir string, mode Mode) *Hint {
	return p.hintIn(p.lastWords(mode), code, dir, mode)
}

// hintIn is the same for what a shell has said.
func (p *endingPart) hintIn(words string, code int, dir string, mode Mode) *Hint {
	re, kind := notFound, CodeCommandNotFound
	if code == 126 {
		re, kind = notRun, CodePermissionDenied
	}
	m := re.FindStringSubmatch(words)
	if m == nil {
		return nil
	}
	h := &Hint{Kind: kind, Command: strings.Join(m[1:], "")} // one of them is not empty
	env := p.j.spec.environ(mode, dir)
	if kind == CodeCommandNotFound {
		h.Suggestions = proc.Suggest(h.Command, env, p.j.mgr.settings.commands.mayRun)
		return h
	}
	_, err := proc.LookPath(h.Command, dir, env)
	if le := (*proc.LookError)(nil); errors.As(err, &le) && !errors.Is(err, fs.ErrNotExist) {
		h.Path = le.Path
	}
	return h
}

// lastWords is the end of what goes to the terminal, or to standard error; "" where
// that is no stream.
func (p *endingPart) lastWords(mode Mode) string {
	st := p.j.output.stream(p.j.spec.errorStream(mode))
	if st == nil {
		return ""
	}
	end := st.spool.End()
	b, _ := st.spool.ReadRange(max(end-hintBytes, 0), end)
	return Plain(b)
}
