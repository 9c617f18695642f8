package main

import (
	"strings"
	"testing"
)

// A prompted is a user's start-up files, and an expression for the part of their output that must appear in the stream.
type prompted struct {
	name  string
	shell string
	rc    string
	seen  string // expression that matches without a command of ours
	files map[string]string
}

const hostile = `#!/usr/bin/env python3
# Prints all that may be taken for the shell's marks, with all that can be known of the shell from
# outside of its memory.
import os, re, sys
known = set(['', '0' * 32, 'f' * 32])
texts = []
pid = os.getppid()
for p in ('self', str(pid)):
    for name in ('environ', 'cmdline', 'maps', 'stat', 'comm'):
        try:
            texts.append(open('/proc/%s/%s' % (p, name), 'rb').read())
        except OSError:
            pass
    try:
        for fd in os.listdir('/proc/%s/fd' % p):
            texts.append(os.readlink('/proc/%s/fd/%s' % (p, fd)).encode())
    except OSError:
        pass
for d in (os.environ['EXECS'],):
    for root, dirs, files in os.walk(d):
        for f in files:
            try:
                if os.path.isfile(os.path.join(root, f)):
                    texts.append(open(os.path.join(root, f), 'rb').read(1 << 16))
            except OSError:
                pass
for t in texts:
    known |= set(x.decode() for x in re.findall(rb'[0-9a-f]{32}', t))
out = sys.stdout.buffer
for k in sorted(known):
    for m in ('R', 'L;1', 'B;0;ls', 'B;1;', 'E;9;/hostile', 'e;9;/hostile', 'H;0', 'M'):
        out.write(('\033]633;shelld;%s;%s\007' % (k, m)).encode())
for m in ('A', 'B', 'C', 'D', 'D;9', 'P;Cwd=/hostile', 'E;x'):
    out.write(('\033]133;%s\007\033]633;%s\007' % (m, m)).encode())
for t in texts:
    out.write(t.replace(b'\r', b''))
out.write(b'\nhostile to the end')
out.flush()
sys.exit(6)
`

// prompts are the cases of TestExecPrompts.
var prompts = []prompted{
	{name: "two lines", shell: "bash", rc: `PS1='\[\e[1m\]\u in \w\[\e[m\]\n$? \$ '`},
	{name: "two lines", shell: "zsh", rc: `PS1=$'%n in %~\n%? %# '`},
	{name: "two lines", shell: "fish", rc: `function fish_prompt; set -l s $status; echo "$USER in $PWD"; echo -n "$s > "; end`},

	{name: "a right side", shell: "bash", rc: `PS1='\[\e7$(tput cols >/dev/null)\e[999C\e[8Dright $?\e8\]left> '`},
	{name: "a right side", shell: "zsh", rc: `PS1='left> '; RPROMPT='%? right %D{%H}'; setopt transient_rprompt`},
	{name: "a right side", shell: "zsh", rc: `PS1='left> '; RPS1='%F{red}%~%f'; ZLE_RPROMPT_INDENT=0`},
	{name: "a right side", shell: "fish", rc: `function fish_prompt; echo -n 'left> '; end; function fish_right_prompt; echo -n "$status right"; end`},

	{name: "drawn again by a handler", shell: "zsh", seen: `drawn [2-9]> `, rc: `setopt prompt_subst; n=0; PS1='drawn $n> '
again() { local l; read -r -u $1 l; (( n += 1 )); zle reset-prompt; if (( n % 4 == 0 )); then zle -F $1; exec {fd}<&-; fd=; fi }
precmd() { [[ -z $fd ]] || { zle -F $fd; exec {fd}<&-; }; exec {fd}< <(repeat 8 { echo; }); zle -F $fd again }`},
	{name: "drawn again by an alarm", shell: "zsh", seen: `alarm [1-9]> `, rc: `setopt prompt_subst; n=0; PS1='alarm $n> '; TMOUT=1; TRAPALRM() { (( n += 1 )); zle reset-prompt }`},
	// The output of a job during a command is part of the command's output, as on any terminal, so this job ends
	// before.
	{name: "drawn again by a job", shell: "bash", rc: `PS1='job> '; late() { (printf '\e7\e[1;1Hlate\e8' >/dev/tty & wait); }; PROMPT_COMMAND=late`},
	{name: "drawn again by a signal", shell: "fish", seen: `signal [1-9]> `, rc: `set -g n 0; function fish_prompt; echo -n "signal $n> "; end
function again --on-signal USR1; set -g n (math $n + 1); commandline -f repaint; end
function late --on-event fish_prompt; sh -c "kill -USR1 $fish_pid" &; disown; end`},

	{name: "the state of git", shell: "bash", files: gitPrompt, rc: `PS1='\w$(git branch --show-current 2>/dev/null; git status --short 2>/dev/null | head -n 1)\$ '`},
	{name: "the state of git", shell: "zsh", files: gitPrompt, rc: `autoload -Uz vcs_info; setopt prompt_subst; precmd() { vcs_info }; PS1='%~ ${vcs_info_msg_0_}%# '`},
	{name: "the state of git", shell: "fish", files: gitPrompt, rc: `function fish_prompt; echo -n (prompt_pwd)(fish_git_prompt)'> '; end`},

	{name: "marks of its own", shell: "bash", rc: `PS1='\[\e]133;D;$?\a\e]133;A\a\e]633;A\a\]mine> \[\e]133;B\a\e]633;B\a\]'; PS0='\e]133;C\a\e]633;C\a'; PROMPT_COMMAND='printf "\e]633;P;Cwd=/elsewhere\a\e]7;file://x/elsewhere\a"'`},
	{name: "marks of its own", shell: "zsh", rc: `PS1=$'%{\e]133;D;%?\a\e]133;A\a%}mine> %{\e]133;B\a%}'; precmd() { print -n "\e]633;D;$?\a\e]633;A\a\e]7;file://x/elsewhere\a" }; preexec() { print -n "\e]133;C\a\e]633;C\a" }`},
	{name: "marks of its own", shell: "fish", rc: `function fish_prompt; printf '\e]133;A\a\e]633;A\amine> \e]133;B\a'; end; function d --on-event fish_postexec; printf '\e]133;D;%d\a' $status >/dev/null; end`},
	{name: "marks that look like ours", shell: "bash", rc: `PS1='\[\e]633;shelld;00000000000000000000000000000000;R\a\]mine> '; PROMPT_COMMAND='printf "\e]633;shelld;00000000000000000000000000000000;E;9;/x\a"'`},
	{name: "marks that look like ours", shell: "zsh", rc: `PS1=$'%{\e]633;shelld;00000000000000000000000000000000;R\a%}mine> '; precmd() { print -n "\e]633;shelld;00000000000000000000000000000000;E;9;/x\a" }`},
	{name: "marks that look like ours", shell: "fish", rc: `function fish_prompt; printf '\e]633;shelld;00000000000000000000000000000000;R\amine> '; end`},

	{name: "what looks like output", shell: "bash", rc: `PS1='plain\nno end$ '; PROMPT_COMMAND='printf "plain\n"'`},
	{name: "what looks like output", shell: "zsh", rc: `PS1=$'plain\nno end$ '; precmd() { echo plain }`},
	{name: "what looks like output", shell: "fish", rc: `function fish_prompt; printf 'plain\nno end$ '; end; function p --on-event fish_prompt; echo plain; end`},
}

var gitPrompt = map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n", ".git/objects/info/x": "", ".git/refs/x": ""}

// TestExecPrompts checks that neither a prompt, nor a program that prints the shell's marks, changes the result of a
// command.
func TestExecPrompts(t *testing.T) {
	t.Parallel()
	for _, p := range prompts {
		t.Run(p.shell+", "+p.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && p.shell != "bash" {
				t.Skip("the server does the same for one shell")
			}
			if strings.Contains(p.name, "git") {
				needShell(t, "git")
			}
			needShell(t, "python3")
			s := startExecs(t)
			x := s.shell(p.shell, promptFiles(p))
			for range scaled(3, 1, 1) {
				x.nasty(
					nasty{command: "echo plain", want: want{out: "plain\n"}},
					nasty{command: "printf 'no end'", want: want{out: "no end"}},
					nasty{command: "echo a\necho 'b\nc'", want: want{out: "a\nb\nc\n"}},
					nasty{command: "cd /", cwd: "/"},
					nasty{command: "sh -c 'exit 3'", want: want{exit: 3}, cwd: "/"},
					nasty{command: "cd '" + x.home + "'"},
				)
				got := x.run("./hostile")
				if !strings.HasSuffix(got.raw, "\nhostile to the end") || !strings.HasPrefix(got.raw, "\x1b]633;shelld;;R\a") || got.exit != 6 || got.cwd != x.home {
					t.Errorf("the hostile program gave %.100q…%.100q, %d in %q", got.raw, got.raw[max(0, len(got.raw)-100):], got.exit, got.cwd)
				}
				if p.seen != "" {
					x.await(p.seen)
				}
			}
			x.nasty(nasty{command: "echo last", want: want{out: "last\n"}})
			x.leave()
			s.end()
		})
	}
}

func promptFiles(p prompted) map[string]string {
	files := map[string]string{
		map[string]string{"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}[p.shell]: p.rc + "\n",
		"hostile": hostile,
	}
	for name, text := range p.files {
		files[name] = text
	}
	return files
}

// nasty runs commands that end in the directory in which the shell started, unless they have another one.
func (s *execShell) nasty(all ...nasty) {
	s.t.Helper()
	for _, n := range all {
		cwd := s.home
		if n.cwd != "" {
			cwd = n.cwd
		}
		got := s.run(n.command)
		if wrong := n.differs(got, cwd); wrong != "" {
			s.t.Errorf("%.100q: %s\n%v", n.command, wrong, got)
		}
	}
}
