package jobs

import "shelld/jobs/internal/shellmark"

// It is the line editor of a shell that takes what Exec and the environment have for it, by a key.
// Users can turn that off. The shell says so with each prompt, and nothing is handed to it then: it would
// take the keys for a command.

// editors are how a shell's line editor is turned off, and on again.
var editors = map[shellmark.Shell]struct{ off, on string }{
	shellmark.Bash: {"set +o emacs, or set +o vi", "set -o emacs"},
	shellmark.Zsh:  {"unsetopt zle", "setopt zle"},
}

// refuseDeaf answers all that waits for a shell that would not hear of it.
func (p *shellPart) refuseDeaf() {
	p.failExecs(p.isDeaf)
	p.failTasks(p.isDeaf)
}

// unlessDeaf is err, unless there is a better reason by now.
func (p *shellPart) unlessDeaf(err *Error) *Error {
	if p.watch.deaf {
		return p.isDeaf()
	}
	return err
}

func (p *shellPart) isDeaf() *Error {
	editor := editors[p.watch.kind]
	e := errorf(CodeShellIntegrationUnavailable, "the shell of job %d takes no commands: its line editor is off (%s), which takes them; turn it on with job/write, by the line %q, and send this again", p.j.id, editor.off, editor.on)
	e.Handle = p.j.id
	return e
}
