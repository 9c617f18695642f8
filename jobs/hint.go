package jobs

import (
	"errors"
	"io/fs"
	"regexp"

	"shelld/jobs/internal/proc"
)

// hintBytes is how much of the end of the output a hint is looked for in: shells
// say what they could not run last.
const hintBytes = 4 << 10

// The sentences with which POSIX shells say that a command is not there (status
// 127) or cannot be run (126). The name is the first group.
var (
	notFound = regexp.MustCompile(`(?m)(?:^|: )([^\s:]+): (?:command )?not found\s*$`)
	notRun   = regexp.MustCompile(`(?m)(?:^|: )([^\s:]+): (?:cannot execute: )?(?:Permission denied|Is a directory)\s*$`)
)

// hint tells why a shell could not run a command, in the terms of a failed start.
func (j *Job) hint() *Hint {
	e := j.st.exit
	if j.spec.Command == nil || e.Code == nil || *e.Code != 126 && *e.Code != 127 {
		return nil
	}
	re, kind := notFound, CodeCommandNotFound
	if *e.Code == 126 {
		re, kind = notRun, CodePermissionDenied
	}
	m := re.FindStringSubmatch(j.lastWords())
	if m == nil {
		return nil
	}
	h := &Hint{Kind: kind, Command: m[1]}
	env := j.mgr.environ(&j.spec, plan{mode: j.info.Mode, dir: j.info.Cwd})
	if kind == CodeCommandNotFound {
		h.Suggestions = proc.Suggest(h.Command, env)
		return h
	}
	_, err := proc.LookPath(h.Command, j.info.Cwd, env)
	if le := (*proc.LookError)(nil); errors.As(err, &le) && !errors.Is(err, fs.ErrNotExist) {
		h.Path = le.Path
	}
	return h
}

// lastWords is the end of what goes to the terminal, or to standard error.
func (j *Job) lastWords() string {
	st := j.streams[len(j.streams)-1]
	end := st.spool.End()
	b, _ := st.spool.ReadRange(max(end-hintBytes, 0), end)
	return Plain(b)
}
