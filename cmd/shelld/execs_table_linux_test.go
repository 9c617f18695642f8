package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A nasty is a command, and exactly what it must do. HOME in it is the directory in which the shell
// starts. A directory that is not given is that of the one before.
type nasty struct {
	name    string
	command string
	want
	cwd   string
	whole []string          // in these shells it is no text to be typed line by line: who types it would be asked for more
	in    map[string]want   // in these shells it is something else
	not   map[string]string // in these it has no sense: why
}

// A want is what a command must come to.
type want struct {
	as   string // another command in its place
	out  string // what it writes
	like string // in its place: an expression for all of it
	vary string // why that: what is not the same each time
	told string // what the server tells of it, where that is not out
	exit int64
}

// What is not the same each time.
const (
	processes = "numbers of processes"
	awaited   = "numbers of processes, and whether they have ended before they are waited for: bash says nothing of them then"
	numbered  = "the number of the line"
	times     = "times"
	terminfo  = "what the machine knows of the terminal"
)

// of is what is wanted in one shell.
func (n nasty) of(shell string) (command string, w want) {
	command, w = n.command, n.want
	if own, ok := n.in[shell]; ok {
		w = own
	}
	if w.as != "" {
		command = w.as
	}
	return command, w
}

// at is a want for a shell that has started in home.
func (w want) at(home string) want {
	w.out, w.told = strings.ReplaceAll(w.out, "HOME", home), strings.ReplaceAll(w.told, "HOME", home)
	w.like = strings.ReplaceAll(w.like, "HOME", regexp.QuoteMeta(home))
	return w
}

// differs says what is wrong with what came; "": nothing.
func (w want) differs(got executed, cwd string) string {
	if wrong := w.wrong(got, cwd); wrong != "" {
		return wrong
	}
	told := w.told
	if told == "" {
		if controlled(got.raw) {
			return ""
		}
		told = got.raw
	}
	if got.output != told {
		return fmt.Sprintf("what is told is not %.400q", told)
	}
	return ""
}

// wrong is differs for what came, whatever was told of it.
func (w want) wrong(got executed, cwd string) string {
	switch {
	case got.exit != w.exit:
		return fmt.Sprintf("the status is %d, not %d", got.exit, w.exit)
	case got.cwd != cwd:
		return fmt.Sprintf("the directory is %q, not %q", got.cwd, cwd)
	case w.like != "" && !regexp.MustCompile(`(?s)^(?:`+w.like+`)$`).MatchString(got.raw):
		return fmt.Sprintf("the output is not as %q", w.like)
	case w.like == "" && got.raw != w.out:
		return fmt.Sprintf("the output is not %.400q", w.out)
	}
	return ""
}

// TestExecTable runs all commands of the table in one shell of each kind, so that each also proves
// that the one before has left it well.
func TestExecTable(t *testing.T) {
	t.Parallel()
	for _, shell := range execShells[:scaled(len(execShells), len(execShells), 1)] { // One tells the race detector of them all.
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			s := startExecs(t)
			x := s.shell(shell, nastyFiles)
			cwd, count := x.home, 0
			for _, n := range nasties() {
				if n.not[shell] != "" {
					t.Logf("without %s: %s", n.name, n.not[shell])
					continue
				}
				command, w := n.of(shell)
				command = strings.ReplaceAll(command, "HOME", x.home)
				if n.cwd != "" {
					cwd = strings.ReplaceAll(n.cwd, "HOME", x.home)
				}
				got := x.run(command)
				if wrong := w.at(x.home).differs(got, cwd); wrong != "" {
					t.Errorf("%s: %.300q: %s\n%v", n.name, command, wrong, got)
					cwd = got.cwd
				}
				count++
			}
			t.Logf("%d commands", count)
			x.leave()
			s.end()
		})
	}
}

// nastyFiles are in the directory of the shell.
var nastyFiles = map[string]string{
	"bin/plain":              "not a program\n",
	"venv/bin/activate":      "_OLD_PATH=\"$PATH\"; VIRTUAL_ENV=\"$HOME/venv\"; export VIRTUAL_ENV; PATH=\"$VIRTUAL_ENV/bin:$PATH\"; export PATH\n_OLD_PS1=\"${PS1:-}\"; PS1=\"(venv) ${PS1:-}\"; export PS1\nhash -r 2>/dev/null\ndeactivate() { PATH=\"$_OLD_PATH\"; PS1=\"$_OLD_PS1\"; export PATH; unset VIRTUAL_ENV _OLD_PATH _OLD_PS1; unset -f deactivate; }\n",
	"venv/bin/activate.fish": "set -gx VIRTUAL_ENV $HOME/venv; set -gx _OLD_PATH $PATH; set -gx PATH $VIRTUAL_ENV/bin $PATH\nfunctions -c fish_prompt _old_fish_prompt\nfunction fish_prompt; set -l s $status; printf '(venv) '; echo 'exit '$s | source; _old_fish_prompt; end\nfunction deactivate; set -gx PATH $_OLD_PATH; set -e VIRTUAL_ENV; set -e _OLD_PATH; functions -e fish_prompt; functions -c _old_fish_prompt fish_prompt; functions -e _old_fish_prompt deactivate; end\n",
	"venv/bin/tool":          "#!/bin/sh\necho tool of the venv\n",
	"sourced":                "SOURCED=yes\necho sourced\nreturn 7\n",
	"sourced.fish":           "set -g SOURCED yes\necho sourced\nreturn 7\n",
	"crlf":                   "echo crlf\r\n",
}
