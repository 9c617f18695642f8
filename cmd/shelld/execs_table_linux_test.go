package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A nasty is a command with its exact result. HOME in it stands for the directory in which the shell starts. If no
// directory is given, it is that of the row before.
type nasty struct {
	name    string
	command string
	want
	cwd   string
	whole []string          // shells in which it cannot be typed line by line: they would ask for more input
	in    map[string]want   // different results, by shell
	not   map[string]string // shells in which it makes no sense, and why
}

// A want is the expected result of a command.
type want struct {
	as   string // replacement of the command
	out  string // output
	like string // instead of out: an expression for all output
	vary string // the reason for like: the variable part
	told string // output in the server's answer, if it differs from out
	exit int64
}

// Variable parts of output.
const (
	processes = "numbers of processes"
	awaited   = "numbers of processes, and whether they have ended before they are waited for: bash says nothing of them then"
	numbered  = "the number of the line"
	times     = "times"
	terminfo  = "what the machine knows of the terminal"
)

// of returns the command and the expected result in one shell.
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

// at returns the want for a shell that has started in home.
func (w want) at(home string) want {
	w.out, w.told = strings.ReplaceAll(w.out, "HOME", home), strings.ReplaceAll(w.told, "HOME", home)
	w.like = strings.ReplaceAll(w.like, "HOME", regexp.QuoteMeta(home))
	return w
}

// differs describes the difference of a result; "": none.
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
		return fmt.Sprintf("the reported output is not %.400q", told)
	}
	return ""
}

// wrong is differs without the output in the server's answer.
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

// TestExecTable runs all commands of the table in one shell of each kind, so that each command also proves that the one
// before it has left the shell intact.
func TestExecTable(t *testing.T) {
	t.Parallel()
	for _, shell := range execShells[:scaled(len(execShells), len(execShells), 1)] { // For the race detector, one shell covers all of them.
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

// nastyFiles are the files in the directory of the shell.
var nastyFiles = map[string]string{
	"bin/plain":              "not a program\n",
	"venv/bin/activate":      "_OLD_PATH=\"$PATH\"; VIRTUAL_ENV=\"$HOME/venv\"; export VIRTUAL_ENV; PATH=\"$VIRTUAL_ENV/bin:$PATH\"; export PATH\n_OLD_PS1=\"${PS1:-}\"; PS1=\"(venv) ${PS1:-}\"; export PS1\nhash -r 2>/dev/null\ndeactivate() { PATH=\"$_OLD_PATH\"; PS1=\"$_OLD_PS1\"; export PATH; unset VIRTUAL_ENV _OLD_PATH _OLD_PS1; unset -f deactivate; }\n",
	"venv/bin/activate.fish": "set -gx VIRTUAL_ENV $HOME/venv; set -gx _OLD_PATH $PATH; set -gx PATH $VIRTUAL_ENV/bin $PATH\nfunctions -c fish_prompt _old_fish_prompt\nfunction fish_prompt; set -l s $status; printf '(venv) '; echo 'exit '$s | source; _old_fish_prompt; end\nfunction deactivate; set -gx PATH $_OLD_PATH; set -e VIRTUAL_ENV; set -e _OLD_PATH; functions -e fish_prompt; functions -c _old_fish_prompt fish_prompt; functions -e _old_fish_prompt deactivate; end\n",
	"venv/bin/tool":          "#!/bin/sh\necho tool of the venv\n",
	"sourced":                "SOURCED=yes\necho sourced\nreturn 7\n",
	"sourced.fish":           "set -g SOURCED yes\necho sourced\nreturn 7\n",
	"crlf":                   "echo crlf\r\n",
}
