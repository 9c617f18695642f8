package shellmark

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// users are start-up files of users, each with a text that its prompt shows, as proof that it was read.
var users = []struct {
	name   string
	shell  Shell
	argv   []string
	files  map[string]string
	env    []string
	prompt string
}{
	{name: "PROMPT_COMMAND, a string that writes", shell: Bash, files: rc(Bash, `PROMPT_COMMAND='echo "status $?"'; PS1='mine> '`), prompt: "status 0\r\n"},
	{name: "PROMPT_COMMAND, an array", shell: Bash, files: rc(Bash, `PROMPT_COMMAND=('a=$?' 'echo "array $a"'); PS1='mine> '`), prompt: "array 0\r\n"},
	{name: "PS1 anew at each prompt", shell: Bash, files: rc(Bash, `PROMPT_COMMAND='PS1="new $? > "; PS0=""'`), prompt: "new 0 > "},
	{name: "two lines, with PS0", shell: Bash, files: rc(Bash, `PS1='\[\e[1m\]one\[\e[m\]\ntwo> '; PS0='ps0 \t\n'`), prompt: "two> "},
	{name: "marks of its own", shell: Bash, files: rc(Bash, `PS1='\[\e]133;A\a\]mine> \[\e]133;B\a\]'; PS0='\e]133;C\a'; PROMPT_COMMAND='printf "\e]133;D;$?\a"'`), prompt: "\x1b]133;A\amine> \x1b]133;B\a"},
	{name: "traps", shell: Bash, files: rc(Bash, `trap 'true debug' DEBUG; trap 'true err' ERR; trap 'echo bye' EXIT; trap true INT; PS1='mine> '`), prompt: "mine> "},
	{name: "options", shell: Bash, files: rc(Bash, `set -uf -o pipefail; set -a; shopt -s extdebug failglob nullglob; PS1='mine> '`), prompt: "mine> "},
	{name: "exported prompt", shell: Bash, files: rc(Bash, `export PS1='mine> ' PROMPT_COMMAND='true'`), prompt: "mine> "},
	{name: "aliases", shell: Bash, files: rc(Bash, `alias eval=false builtin=false set=false local=false return=false; PS1='mine> '`), prompt: "mine> "},
	{name: "vi", shell: Bash, files: rc(Bash, `set -o vi; PS1='mine> '`), prompt: "mine> "},
	{name: "-e", shell: Bash, files: rc(Bash, `set -e; PS1='mine> '`), prompt: "mine> "},
	{name: "inputrc", shell: Bash, files: map[string]string{".bashrc": "PS1='mine> '\n", ".inputrc": "set editing-mode vi\nset show-mode-in-prompt on\nset enable-bracketed-paste off\nset keyseq-timeout 1\n"}, prompt: "mine> "},
	{name: "login", shell: Bash, argv: []string{"-bash"}, files: map[string]string{".bash_profile": "PS1='profile> '\n", ".bashrc": "PS1='rc> '\n"}, prompt: "profile> "},
	{name: "login, another file", shell: Bash, argv: []string{"bash", "-il"}, files: map[string]string{".profile": "PS1=\"profile $(shopt -q login_shell && echo login)> \"\n"}, prompt: "profile login> "},
	{name: "no files", shell: Bash, argv: []string{"bash", "--norc", "-i"}, files: rc(Bash, "PS1='rc> '"), prompt: "bash-"},
	{name: "another file", shell: Bash, argv: []string{"bash", "--rcfile", ".other"}, files: map[string]string{".other": "PS1='other> '\n"}, prompt: "other> "},
	{name: "-x", shell: Bash, argv: []string{"bash", "-x"}, files: rc(Bash, "PS1='mine> '"), prompt: "mine> "},

	{name: "precmd and preexec that write", shell: Zsh, files: rc(Zsh, `precmd() { echo "status $?" }; preexec() { echo "runs $1" }; PS1='mine> '`), prompt: "status 0\r\n"},
	{name: "arrays of hooks", shell: Zsh, files: rc(Zsh, `a() { echo "status $?" }; b() { echo runs }; precmd_functions+=(a); preexec_functions=(b); PS1='mine> '`), prompt: "status 0\r\n"},
	{name: "two lines, and a right prompt", shell: Zsh, files: rc(Zsh, `PS1=$'one\ntwo> '; RPROMPT='%?right'; setopt transient_rprompt`), prompt: "two> "},
	{name: "marks of its own", shell: Zsh, files: rc(Zsh, `PS1=$'%{\e]133;A\a%}mine> %{\e]133;B\a%}'; precmd() { print -n "\e]133;D;$?\a" }; preexec() { print -n "\e]133;C\a" }`), prompt: "mine> "},
	{name: "options", shell: Zsh, files: rc(Zsh, `setopt ksh_arrays sh_word_split no_unset no_nomatch all_export err_return prompt_subst warn_create_global c_bases; PS1='mine> '`), prompt: "mine> "},
	{name: "no PROMPT_SP", shell: Zsh, files: rc(Zsh, `setopt no_prompt_sp no_prompt_cr; PS1='mine> '`), prompt: "mine> "},
	{name: "-e", shell: Zsh, files: rc(Zsh, `set -e; PS1='mine> '`), prompt: "mine> "},
	{name: "vi", shell: Zsh, files: rc(Zsh, `bindkey -v; KEYTIMEOUT=1; PS1='mine> '`), prompt: "mine> "},
	{name: "widgets", shell: Zsh, files: rc(Zsh, `PS1='mine> '
accept-line() { zle -M accepting; zle .accept-line }; zle -N accept-line
zle-line-init() { POSTDISPLAY=suggested; zle -R }; zle -N zle-line-init
zle-line-pre-redraw() { region_highlight=("0 4 fg=red,bold") }; zle -N zle-line-pre-redraw
zle-line-finish() { POSTDISPLAY=; zle -R }; zle -N zle-line-finish
zle-keymap-select() { zle reset-prompt }; zle -N zle-keymap-select`), prompt: "mine> "},
	{name: "add-zle-hook-widget", shell: Zsh, files: rc(Zsh, `autoload -U add-zle-hook-widget add-zsh-hook; x() { POSTDISPLAY=z }; add-zle-hook-widget line-init x; y() { echo "status $?" }; add-zsh-hook precmd y; PS1='mine> '`), prompt: "status 0\r\n"},
	{name: "a prompt that is redrawn", shell: Zsh, files: rc(Zsh, `setopt prompt_subst; n=0; PS1='mine $n> '
redraw() { zle -F $1; exec {fd}<&-; (( n += 1 )); zle reset-prompt }
precmd() { exec {fd}< <(echo now); zle -F $fd redraw }`), prompt: "mine 0> "},
	{name: "its own directory", shell: Zsh, env: []string{"ZDOTDIR=zdot"}, files: map[string]string{"zdot/.zshrc": "PS1=\"mine $ZDOTDIR> \"\n", ".zshrc": "PS1='no> '\n"}, prompt: "mine zdot> "},
	{name: "its own directory, set late", shell: Zsh, files: map[string]string{".zshenv": "ZDOTDIR=$HOME/zdot\n", "zdot/.zshrc": "PS1='mine> '\n", ".zshrc": "PS1='no> '\n"}, prompt: "mine> "},
	{name: "login", shell: Zsh, argv: []string{"-zsh"}, files: map[string]string{".zprofile": "p=1\n", ".zlogin": "PS1=\"$p login> \"\n"}, prompt: "1 login> "},
	{name: "no files", shell: Zsh, argv: []string{"zsh", "-f"}, files: rc(Zsh, "PS1='rc> '"), prompt: "# "},

	{name: "handlers that write", shell: Fish, files: rc(Fish, `function a --on-event fish_preexec; echo runs; end; function fish_prompt; echo "mine $status> "; end`), prompt: "mine 0> "},
	{name: "two lines, and a right prompt", shell: Fish, files: rc(Fish, `function fish_prompt; echo one; echo -n 'two> '; end; function fish_right_prompt; echo right; end`), prompt: "two> "},
	{name: "marks of its own", shell: Fish, files: rc(Fish, `function fish_prompt; printf '\e]133;A\amine> \e]133;B\a'; end; function a --on-event fish_preexec; printf '\e]133;C\a'; end`), prompt: "mine> "},
	{name: "vi", shell: Fish, files: rc(Fish, `fish_vi_key_bindings; function fish_mode_prompt; end; function fish_prompt; echo 'mine> '; end`), prompt: "mine> "},
	{name: "functions", shell: Fish, files: rc(Fish, `function string; echo no; end; function set_color; end; alias ls 'echo no'; function fish_prompt; builtin printf 'mine> '; end`), prompt: "mine> "},
	{name: "no files", shell: Fish, argv: []string{"fish", "--no-config"}, files: rc(Fish, "function fish_prompt; echo 'rc> '; end"), prompt: "~"},
}

func rc(s Shell, text string) map[string]string {
	return map[string]string{map[Shell]string{Bash: ".bashrc", Zsh: ".zshrc", Fish: ".config/fish/config.fish"}[s]: text + "\n"}
}

// TestUsers checks that users' settings do not change what is reported about a command, and that their files are
// honoured.
func TestUsers(t *testing.T) {
	for _, user := range users {
		t.Run(string(user.shell)+", "+user.name, func(t *testing.T) {
			s := start(t, user.shell, setup{argv: user.argv, files: user.files, env: user.env})
			s.awaitText(0, user.prompt)
			traced, stops := strings.Contains(user.name, "-x"), strings.Contains(user.name, "-e")
			for range 2 {
				for _, step := range []step{
					{command: "echo plain", out: "plain\n"},
					{command: "printf 'no end'", out: "no end"},
					{command: "echo a\necho \"b\"", out: "a\nb\n"},
					{command: "cd /", cwd: "/"},
					{command: "cd " + s.home},
					{command: "sh -c 'exit 3'", exit: 3},
					{command: "echo x'\n'y", out: "x\ny\n"},
					{command: "env | grep -v ^PS1= | grep -e __shelld", exit: 1},
					{command: "env | grep " + s.nonce, exit: 1},
				} {
					if step.exit != 0 && stops {
						continue
					}
					cwd := s.home
					if step.cwd != "" {
						cwd = step.cwd
					}
					got := s.run(step.command)
					if got.exit != step.exit || got.cwd != cwd || got.out != step.out && !traced {
						t.Errorf("%q: %+v", step.command, got)
					}
				}
			}
			if user.shell == Fish && strings.Contains(string(s.out), "__shelld_prompt") {
				t.Errorf("the prompt failed: %q", tail(s.out))
			}
			from := len(s.out)
			s.run("true")
			s.begin("true")
			if last := user.prompt[strings.LastIndexByte(user.prompt, '\n')+1:]; !strings.Contains(string(s.out[from:]), last) && !strings.Contains(user.name, "redrawn") {
				t.Errorf("the prompt is no more: %q", s.out[from:])
			}
			s.await(Ended)
			s.await(Ready)
			s.leave("exit")
		})
	}
}

// TestTyped checks that typed commands are reported as well.
func TestTyped(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			for _, line := range []string{"echo first", "echo 'a; b' %41; false", "echo third"} {
				s.typed(line + "\r")
				s.await(Began)
				began := s.marks[s.next-1]
				s.await(Ended)
				ended := s.marks[s.next-1]
				s.await(Ready)
				if began.Seq+ended.Seq != 0 || began.Text+ended.Text != line || (ended.Exit == 0) != !strings.Contains(line, "false") {
					t.Errorf("%q: %+v, %+v", line, began, ended)
				}
				if got := string(s.out[began.At:ended.At]); !strings.HasPrefix(got[strings.LastIndexByte(got, '\a')+1:], "a") && !strings.Contains(got, "first") && !strings.Contains(got, "third") && !strings.Contains(got, "a; b") {
					t.Errorf("%q wrote %q", line, got)
				}
				if got := s.run("echo between"); got.out != "between\n" {
					t.Errorf("%+v", got)
				}
			}
			// An unfinished typed line is replaced.
			s.typed("echo half of a li")
			if got := s.run("echo whole"); got.out != "whole\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestHistory checks that the history contains no injected line.
func TestHistory(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{files: map[string]string{".zshrc": "HISTFILE=~/.zsh_history SAVEHIST=100 HISTSIZE=100\n"}})
			s.run("echo ours 1")
			s.typed("echo typed 1\r")
			s.end(s.await(Began))
			s.run("echo ours 2\necho \"ours 3\"")
			s.run("echo ours 4")
			s.typed("echo typed 2\r")
			s.end(s.await(Began))
			s.run("echo ours 5")
			s.leave("exit")
			path := map[Shell]string{Bash: ".bash_history", Zsh: ".zsh_history", Fish: ".local/share/fish/fish_history"}[shell]
			text, err := os.ReadFile(filepath.Join(s.home, path))
			s.must(err)
			if got := string(text); strings.Contains(got, "ours") || strings.Contains(got, "__shelld") || !strings.Contains(got, "typed 1") || !strings.Contains(got, "typed 2") {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestHistoryFile checks that bash writes no injected line to its history file, in whatever way and whenever it writes,
// and that the user's settings for history stay unchanged.
func TestHistoryFile(t *testing.T) {
	users := map[string]string{
		"":                "",
		"what is ignored": "HISTIGNORE='ls*:x y'\n",
		"exported":        "export HISTIGNORE='&' HISTCONTROL=ignoreboth:erasedups\n",
		"at each prompt":  "PROMPT_COMMAND='history -a'\n",
		"read anew":       "shopt -s histappend\nPROMPT_COMMAND='history -a; history -c; history -r'\n",
	}
	for name, rc := range users {
		for _, last := range []string{"exit", "exec true", "exec sh -c 'exit 0'", "(:); exit", "history -a; exec true", "history -w; kill -9 $$"} {
			t.Run(name+", "+last, func(t *testing.T) {
				s := start(t, Bash, setup{files: map[string]string{".bashrc": rc}})
				says := "declare -p HISTIGNORE 2>/dev/null; echo ${HISTIGNORE-none}; compgen -e HISTIGNORE; history -s kept"
				s.typed(says + "\r")
				before := s.end(s.await(Began))
				s.run("echo ours")
				got := s.run("(:); history; " + says)
				if typed := before.out[strings.LastIndexByte(before.out, '\r')+1:]; !strings.HasSuffix(got.out, typed) {
					t.Errorf("it is %q, and was %q", got.out, typed)
				} else if strings.Contains(got.out, "ours") || strings.Contains(got.out, "__shelld") {
					t.Errorf("history tells %q", got.out)
				}
				s.typed("echo typed \r")
				s.end(s.await(Began))
				s.leave(last)
				text, err := os.ReadFile(filepath.Join(s.home, ".bash_history"))
				s.must(err)
				if got := string(text); strings.Contains(got, "ours") || strings.Contains(got, "__shelld") || strings.Contains(got, last) || !strings.Contains(got, "kept\necho typed \n") {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

// TestBackground checks that job numbers are the same as for typed commands.
func TestBackground(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			for i, command := range []string{"sleep 1000 &", "sleep 1000 & sleep 1000&  "} {
				if got := s.run(command); !strings.HasPrefix(got.out, fmt.Sprintf("[%d] ", i+1)) || strings.Count(got.out, "\n") != i+1 {
					t.Errorf("%q: %+v", command, got)
				}
			}
			if got := s.run("kill %1 %2 %3; wait"); got.exit != 0 && shell == Zsh || strings.Contains(got.out, "no such job") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestEnvironment sets, removes and lists variables without a command.
func TestEnvironment(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{env: []string{"GONE=1", "KEPT=a b"}})
			s.run("sh -c 'exit 4'")
			value := "it's \\ \"x\" $HOME `id` !! \n%s; ü\t\x01'\\"
			if status := s.hidden(s.shell.SetVariable("NEW", value)); status != 0 {
				t.Errorf("status %d", status)
			}
			s.hidden(s.shell.UnsetVariable("GONE"))
			s.hidden(s.shell.SetVariable("PATH", "/one:"+os.Getenv("PATH")))
			got := s.environment()
			for _, want := range []string{"NEW=" + value, "KEPT=a b", "PATH=/one:" + os.Getenv("PATH"), "HOME=" + s.home} {
				if !slices.Contains(got, want) {
					t.Errorf("%q is not in %q", want, got)
				}
			}
			if i := slices.IndexFunc(got, func(v string) bool { return strings.HasPrefix(v, "GONE=") || strings.Contains(v, "shelld") }); i >= 0 {
				t.Errorf("%q", got[i])
			}
			status := map[Shell]string{Bash: "echo $?", Zsh: "echo $?", Fish: "echo $status"}[shell]
			if got := s.run(status); got.out != "4\n" {
				t.Errorf("$? is %+v", got)
			}
			real := s.run("env -0")
			theirs := strings.Split(strings.TrimSuffix(strings.ReplaceAll(real.out, "\r\n", "\n"), "\x00"), "\x00")
			theirs = slices.DeleteFunc(theirs, func(v string) bool { return strings.HasPrefix(v, "_=") })
			ours := slices.DeleteFunc(s.environment(), func(v string) bool { return strings.HasPrefix(v, "_=") })
			slices.Sort(theirs)
			if !slices.Equal(ours, theirs) {
				t.Errorf("told %q\nhas  %q", ours, theirs)
			}
		})
	}
}

// TestReadyIsRaw checks that keys may be typed after Ready: the line editor has set the terminal to raw mode.
func TestReadyIsRaw(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			for range 5 {
				s.run("true")
				s.must(withDescriptor(s.pty, func(fd int) error {
					mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
					if err == nil && mode.Lflag&(unix.ICANON|unix.ECHO) != 0 {
						t.Errorf("not raw: %#x", mode.Lflag)
					}
					return err
				}))
			}
		})
	}
}

// TestInterrupt ends the running command by a key; the shell goes on.
func TestInterrupt(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			for _, command := range []string{"echo started; cat", "echo started\ncat\necho after"} {
				began := s.begin(command)
				s.awaitText(began.At, "started")
				s.typed("in\r") // so that cat reads it
				s.awaitText(began.At, "in\r\nin\r\n")
				s.typed("\x03")
				if got := s.end(began); got.exit != 130 || !strings.HasPrefix(got.out, "started\nin\nin\n^C") || strings.Contains(got.out, "after") {
					t.Errorf("%q: %+v", command, got)
				}
			}
			if got := s.run("echo next"); got.out != "next\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestInterruptedPrompt interrupts fish while it draws its prompt. In one of two cases this ended the function that
// draws it, so that Ready was not reported. fish itself then draws no prompt once in a hundred, and in one of four on a
// busy machine: enough rounds distinguish these rates from one of two.
func TestInterruptedPrompt(t *testing.T) {
	s := start(t, Fish, setup{})
	const rounds = 90
	untold := 0
	s.end(s.begin("true"))
	for range rounds {
		s.begin("true")
		s.await(Ended)
		ended := s.next
		s.typed("\x03")
		began := s.begin("echo next")
		told := slices.ContainsFunc(s.marks[ended:s.next], func(m Mark) bool { return m.Kind == Ready })
		if !told {
			untold++
		}
		if got := s.end(began); got.out != "next\n" {
			t.Fatalf("%+v", got)
		}
	}
	if untold > rounds/3 {
		t.Errorf("%d of %d prompts were not told", untold, rounds)
	}
}

// TestTitle checks that a title contains the command, and never an injected line.
func TestTitle(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"fish's own": {"", "\x1b]0;echo one; echo two "},
		"a user's":   {"function fish_title; echo \"<$status $argv>\"; end\n", "\x1b]0;<3 echo one; echo two>\a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Fish, setup{files: rc(Fish, c.config)})
			s.run("sh -c 'exit 3'")
			from := len(s.out)
			s.run("echo one; echo two")
			if got := string(s.out[from:]); !strings.Contains(got, c.want) {
				t.Errorf("%q", got)
			}
			s.run("functions -e fish_title")
			s.run("function fish_title; echo \"mine $argv\"; end")
			from = len(s.out)
			s.run("true x")
			if got := string(s.out[from:]); !strings.Contains(got, "\x1b]0;mine true x\a") {
				t.Errorf("%q", got)
			}
			if strings.Contains(string(s.out), "\x1b]0; set") || strings.Contains(string(s.out), "]0;<0 set") {
				t.Errorf("a title has a line of ours: %q", s.out)
			}
		})
	}
}

// TestPipelineShown checks that the line by which fish runs a pipeline is never visible, however it wraps.
func TestPipelineShown(t *testing.T) {
	s := start(t, Fish, setup{})
	for _, command := range []string{"echo one | cat", "true | echo '" + strings.Repeat("long ", 100) + "'", "false | true"} {
		from := len(s.out)
		began := s.begin(command)
		shown := string(s.out[from:began.At])
		if !strings.Contains(shown, command+"\r\n") || strings.Contains(shown, "__shelld") || strings.Contains(shown, "case") || !strings.Contains(shown, "\x1b]0;"+command[:10]) {
			t.Errorf("%q is shown as %q", command, shown)
		}
		s.end(began)
	}
	s.run("echo $pipestatus")
	if got := s.run("false | true"); got.out != "" || got.exit != 0 {
		t.Errorf("%+v", got)
	}
	if got := s.run("echo $pipestatus"); got.out != "1 0\n" {
		t.Errorf("%+v", got)
	}
	began := s.begin("echo started | cat; cat")
	s.awaitText(began.At, "started")
	s.typed("in\r") // so that cat reads it
	s.awaitText(began.At, "in\r\nin\r\n")
	s.typed("\x03")
	if got := s.end(began); got.exit != 130 {
		t.Errorf("%+v", got)
	}
	if got := s.run("echo $pipestatus"); got.out != "130\n" {
		t.Errorf("%+v", got)
	}
}

// TestMore drops incomplete lines.
func TestMore(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			for range 2 {
				s.typed("echo 'half\r")
				s.await(More)
				s.typed(string(shell.Drop()))
				s.await(Ready)
				if got := s.run("echo whole"); got.out != "whole\n" {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// TestStopped stops a command by a key; for the shell, that ends it.
func TestStopped(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			began := s.begin("sh -c 'echo started; read a'")
			s.awaitText(began.At, "started")
			s.typed("\x1a")
			if got := s.end(began); !strings.Contains(got.out, "started") || got.exit != 148 && shell != Fish {
				t.Errorf("%+v", got)
			}
			began = s.begin("fg")
			s.typed("x\r")
			s.end(began)
			if got := s.run("echo next"); got.out != "next\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestViCommand runs a command from vi command mode.
func TestViCommand(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh} { // fish treats a key right after Escape as a key with Alt
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			s.run(map[Shell]string{Bash: "set -o vi", Zsh: "bindkey -v"}[shell])
			for _, keys := range []string{"echo a\x1bhh", "\x1bi", "", "\x1bA"} {
				s.typed(keys)
				if got := s.run("echo vi"); got.out != "vi\n" {
					t.Errorf("%q: %+v", keys, got)
				}
			}
		})
	}
}

// TestChangedHistory types lines that change the history, from which bash reports typed commands: it must report the
// line, or none, but no other.
func TestChangedHistory(t *testing.T) {
	const untold = ""
	type line struct{ typed, told string }
	same := func(lines ...string) (all []line) {
		for _, l := range lines {
			all = append(all, line{l, l})
		}
		return all
	}
	for name, c := range map[string]struct {
		rc    string
		lines []line
	}{
		"itself":             {lines: append(same("echo one", "echo two"), line{"history -d 3", untold}, line{"echo next", "echo next"})},
		"the first":          {lines: same("echo one", "echo two", "history -d 1", "echo next")},
		"the last":           {lines: append(same("echo one", "echo two"), line{"history -d -2", "history -d -2"}, line{"echo next", "echo next"})},
		"two":                {lines: append(same("echo one", "echo two", "echo three"), line{"history -d 4; history -d 3", untold}, line{"echo next", "echo next"})},
		"a range":            {lines: append(same("echo one", "echo two", "echo three"), line{"history -d 2-4", untold}, line{"echo next", "echo next"})},
		"all":                {lines: append(same("echo one", "echo two"), line{"history -c", untold}, line{"echo next", "echo next"})},
		"out of sight":       {rc: "HISTCONTROL=ignorespace", lines: append(same("echo one", "echo two"), line{" history -d 1", untold}, line{" echo three", untold}, line{"echo next", "echo next"})},
		"more than one":      {lines: append(same("echo one", "echo two"), line{"history -w f; history -r f", untold}, line{"echo next", "echo next"})},
		"duplicates":         {rc: "HISTCONTROL=erasedups", lines: same("echo one", "echo two", "echo one", "echo three", "echo two")},
		"duplicates, none":   {rc: "HISTCONTROL=ignoredups", lines: []line{{"echo one", "echo one"}, {"echo one", untold}, {"echo two", "echo two"}}},
		"read anew":          {rc: "shopt -s histappend; PROMPT_COMMAND='history -a; history -c; history -r'", lines: same("echo one", "echo two", "history -d 1", "echo next")},
		"hardly any":         {rc: "HISTSIZE=1", lines: same("echo one", "echo two", "echo one")},
		"several lines, all": {lines: []line{{"for i in 1; do\r:\rdone", "for i in 1; do :; done"}, {"echo next", "echo next"}}},
	} {
		for version, edit := range map[string]func([]byte) []byte{"": nil, ", as one that is old": old} {
			t.Run(name+version, func(t *testing.T) {
				s := start(t, Bash, setup{files: rc(Bash, c.rc), edit: edit})
				for _, line := range c.lines {
					s.typed(line.typed + "\r")
					began := s.await(Began)
					ended := s.await(Ended)
					s.await(Ready)
					if got := began.Text + ended.Text; got != line.told {
						t.Errorf("%q is told as %q, want %q", line.typed, got, line.told)
					}
					if got := s.run("echo \"between\""); got.out != "between\n" {
						t.Errorf("%+v", got)
					}
				}
			})
		}
	}
}

// TestAliases uses the user's aliases anywhere in a command: they have the same meaning as in typed commands, and an
// alias that begins something incomplete is an error, and does not make the shell ask for the rest.
func TestAliases(t *testing.T) {
	aliases := rc(Bash, `alias ll='ls -d --' again=ll quote='echo "' loop='while true; do' more='echo more ' word=loop paren='echo (' hash='echo a #' ls='ls -1d' two='echo 1; echo 2'`)
	aliases[".zshrc"] = aliases[".bashrc"]
	for _, shell := range []Shell{Bash, Zsh} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{files: aliases})
			for _, step := range []step{
				{command: "true; ll /", out: "/\n"},
				{command: "true && again / /", out: "/\n/\n"},
				{command: "echo x | more word2", out: "more word2\n"},
				{command: "true; two | cat", out: "1\n2\n"},
				{command: "false || hash b", out: map[Shell]string{Bash: "a\n", Zsh: "a # b\n"}[shell]},
				{command: "echo ll quote loop", out: "ll quote loop\n"},
				{command: "'ll'", out: "\x00", exit: 127},
			} {
				if got := s.run(step.command); !matches(got.out, step.out) || got.exit != step.exit {
					t.Errorf("%q: %+v", step.command, got)
				}
			}
			for _, command := range []string{"quote", "echo a; quote", "true && loop", "false || paren", "echo a | quote", "true; more quote", "true; more loop", "true;loop", "true &quote"} {
				if got := s.run(command); command != "true; more loop" && (got.exit == 0 && shell == Bash || !strings.Contains(got.out, string(shell)+":")) {
					t.Errorf("%q: %+v", command, got)
				}
				if got := s.run("echo next"); got.out != "next\n" {
					t.Fatalf("after %q: %+v", command, got)
				}
			}
		})
	}
}

// TestPlainAliases checks that an alias of plain words does not turn a line into an eval.
func TestPlainAliases(t *testing.T) {
	s := start(t, Bash, setup{files: rc(Bash, `alias ls='ls --color=auto' ll='ls -l' loop='for'`)})
	for command, want := range map[string]string{
		"ls /none | cat":     "2 0\n",
		"false | ll / | cat": "1 0 0\n",
		"loop | cat":         "2\n", // an eval
	} {
		s.run(command)
		if got := s.run("echo ${PIPESTATUS[*]}"); got.out != want {
			t.Errorf("%q has %q", command, got.out)
		}
	}
}
