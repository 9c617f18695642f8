package jobs

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"shelld/jobs/internal/proc"
)

// hintBytes is the length of the end of the output that is searched for a hint: shells print their reason last.
const hintBytes = 4 << 10

// The messages of POSIX shells, and of zsh and fish, for a command that is not found (status 127) or cannot be run
// (126). The name is one of the groups.
var (
	notFound = regexp.MustCompile(`(?m)(?:^|: )([^\s:]+): (?:command )?not found\s*$|: (?:command not found|Unknown command): (\S+)\s*$`)
	notRun   = regexp.MustCompile(`(?m)(?:^|: )([^\n:]+): (?:cannot execute: )?(?:Permission denied|Is a directory)\s*$|: permission denied: (\S.*?)\s*$|: Unknown command\. '(.+)' exists but is not an executable file\.\s*$`)
)

// hintTime is the maximum delay of a job's end while the reason is determined why a shell could not run its command.
// This usually takes a few milliseconds; 250 ms were too short on a machine with ten times the load that it can handle.
// The full time is used only if a directory on PATH does not respond.
const hintTime = time.Second

// needsHint reports whether the leader was a shell that ended because it could not run a command.
func (p *endingPart) needsHint() bool {
	e := p.j.st.exit
	return p.j.spec.Command != nil && e.Code != nil && (*e.Code == 126 || *e.Code == 127)
}

// seekHint starts a goroutine that searches for the hint, since the search reads directories. The goroutine ends when
// they have been read, and sends its result to hints, which has room for it.
func (p *endingPart) seekHint() {
	p.hintUntil = time.Now().Add(hintTime)
	code, dir, mode := *p.j.st.exit.Code, p.j.info.Cwd, p.j.info.Mode
	go func() { p.hints <- p.findHint(code, dir, mode) }()
}

// findHint returns the reason why a shell could not run a command, in the terms of a failed start.
func (p *endingPart) findHint(code int, dir string, mode Mode) *Hint {
	return p.j.hintIn(p.lastWords(mode), code, dir, mode)
}

// lastWords returns the end of the output to the terminal, or to standard error. It is "" if that is not a stream.
func (p *endingPart) lastWords(mode Mode) string {
	st := p.j.output.stream(p.j.spec.errorStream(mode))
	if st == nil {
		return ""
	}
	end := st.spool.End()
	b, _ := st.spool.ReadRange(max(end-hintBytes, 0), end)
	return Plain(b)
}

// hintIn returns the same for the given output of a shell.
func (j *base) hintIn(words string, code int, dir string, mode Mode) *Hint {
	re, kind := notFound, CodeCommandNotFound
	if code == 126 {
		re, kind = notRun, CodePermissionDenied
	}
	m := re.FindStringSubmatch(words)
	if m == nil {
		return nil
	}
	h := &Hint{Kind: kind, Command: strings.Join(m[1:], "")} // one of them is not empty
	env := j.spec.environ(mode, dir)
	if kind == CodeCommandNotFound {
		h.Suggestions = proc.Suggest(h.Command, env, j.mgr.settings.commands.mayRun)
		return h
	}
	_, err := proc.LookPath(h.Command, dir, env)
	if le := (*proc.LookError)(nil); errors.As(err, &le) && !errors.Is(err, fs.ErrNotExist) {
		h.Path = le.Path
	}
	return h
}

func (p *endingPart) theHint() *Hint { return p.hint }
