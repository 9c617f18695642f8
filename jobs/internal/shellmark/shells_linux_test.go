package shellmark

import (
	"bytes"
	"strings"
	"testing"
)

// A step is a command and its exact result. HOME stands for the directory in which the shell starts. An empty cwd means
// that of the previous step.
type step struct {
	command string
	out     string
	exit    int
	cwd     string
}

// common are commands with the same meaning in all three shells.
var common = []step{
	{command: "echo hi", out: "hi\n"},
	{command: "printf x", out: "x"},
	{command: "printf 'a\\n\\nb'", out: "a\n\nb"},
	{command: "true"},
	{command: "false", exit: 1},
	{command: "sh -c 'exit 77'", exit: 77},
	{command: "sh -c 'kill -TERM $$'", out: "\x00", exit: 143},
	{command: "cd /tmp", cwd: "/tmp"},
	{command: "pwd", out: "/tmp\n"},
	{command: "mkdir -p 'HOME/a;b%41 ü'; cd 'HOME/a;b%41 ü'", cwd: "HOME/a;b%41 ü"},
	{command: "cd HOME", cwd: "HOME"},
	{command: "echo a\necho b\n\necho c", out: "a\nb\nc\n"},
	{command: "echo a # b\necho c", out: "a\nc\n"},
	{command: "# nothing\n"},
	{command: "  echo   spaces", out: "spaces\n"},
	{command: "\n\necho lines\n\n", out: "lines\n"},
	{command: "echo '!!' '^a^b' \"!x\"", out: "!! ^a^b !x\n"},
	{command: "echo äöü 日本語 🙂", out: "äöü 日本語 🙂\n"},
	{command: "echo 'eval \"$__shelld_c\"'", out: "eval \"$__shelld_c\"\n"},
	{command: "printf '\\033]633;A\\007\\033]133;D;0\\007'", out: "\x1b]633;A\a\x1b]133;D;0\a"},
	{command: "printf '\\033]633;shelld;00000000000000000000000000000000;E;5;/x\\007'", out: "\x1b]633;shelld;00000000000000000000000000000000;E;5;/x\a"},
	{command: "sh -c 'printf %s \"${__shelld_n-none}\"; env | grep -c shelld'", out: "none0\n", exit: 1},
	{command: "sh -c 'read a; echo got $a' </dev/null", out: "got\n"},
	{command: "printf '\\033[2J\\033[H'", out: "\x1b[2J\x1b[H"},
	{command: "printf '\\r\\n\\033cx'", out: "\r\n\x1bcx"},
	{command: "stty -echo; stty echo; stty size", out: "24 80\n"},
	{command: "echo one; echo two >&2; echo three", out: "one\ntwo\nthree\n"},
	{command: "seq 3 | tail -1", out: "3\n"},
	{command: "echo " + strings.Repeat("long ", 300) + "| wc -c", out: "1500\n"},
	{command: "echo " + strings.Repeat("0123456789abcdef", 10000) + " | wc -c", out: "160001\n"},
	{command: "HOME/missing/x; echo next", out: "\x00next\n"},
	{command: "echo 'a\tb'", out: "a\tb\n"},
	{command: "echo trailing\\\\", out: "trailing\\\n"},
}

// posix are commands with the same meaning in bash and zsh.
var posix = []step{
	{command: "(exit 3)", exit: 3},
	{command: "echo $?", out: "3\n"},
	{command: "echo $? $_", out: "0 3\n"},
	{command: "x=5"},
	{command: "echo $x; unset x", out: "5\n"},
	{command: "export A='1 2'; sh -c 'echo \"$A\"'", out: "1 2\n"},
	{command: "f() { echo in f $1; return 4; }"},
	{command: "f x", out: "in f x\n", exit: 4},
	{command: "cat <<EOF\na $((1 + 1))\n$A\nEOF", out: "a 2\n1 2\n"},
	{command: "cat <<'EOF' | tr a b\na\nEOF\necho end", out: "b\nend\n"},
	{command: "if true; then echo yes; fi", out: "yes\n"},
	{command: "for i in 1 2 3; do\n\techo $i\ndone", out: "1\n2\n3\n"},
	{command: "while true; do break; done; echo out", out: "out\n"},
	{command: "declare -a arr; arr=(a b c); echo ${#arr[@]}", out: "3\n"},
	{command: "echo ${arr[*]}", out: "a b c\n"},
	{command: "alias hello='echo hello'"},
	{command: "hello world", out: "hello world\n"},
	{command: "unalias -a; IFS=x; echo $IFS; a=1x2; unset IFS", out: "\x01"},
	{command: "set -u; echo ok; echo ${undefined_here-none}", out: "ok\nnone\n"},
	{command: "set +u"},
	{command: "set -C; echo ok >HOME/clobber; set +C; cat HOME/clobber", out: "ok\n"},
	{command: "set -a; B=2; set +a"},
	{command: "set -a"},
	{command: "C=3; sh -c 'echo $C'; env | grep shelld; set +a", out: "3\n"},
	{command: "env | grep -i -e '633;' -e shelld", exit: 1},
	{command: "exec 5>HOME/five; echo x >&5; exec 5>&-; cat HOME/five", out: "x\n"},
	{command: "exec 7>&1 >HOME/out"},
	{command: "echo to the file; pwd"},
	{command: "exec >&7 7>&-; cat HOME/out", out: "\x01to the file\nHOME\n\x01"},
	{command: "exec 7>&2 2>HOME/err"},
	{command: "echo seen; echo to the file >&2", out: "seen\n"},
	{command: "exec 2>&7 7>&-; grep -c 'to the file' HOME/err", out: "\x01"},
	{command: "umask 077; umask", out: "\x01"},
	{command: "LC_ALL=C; echo ä; unset LC_ALL", out: "ä\n"},
	{command: "printf() { echo no; }; read() { echo no; }; eval() { echo no; }; history() { echo no; }; print() { echo no; }; tty() { echo no; }"},
	{command: "echo still", out: "still\n"},
	{command: "(exit 6)\n", exit: 6},
	{command: "unset -f printf read eval history print tty"},
	{command: "sleep 0 & wait; echo done", out: "\x00done\n"},
	{command: "kill -INT $$; echo not reached", out: "\x00", exit: 130},
	{command: "echo after", out: "after\n"},
	{command: "trap 'echo trapped' INT; kill -INT $$; trap - INT", out: "trapped\n"},
	{command: "set -o pipefail; false | true", exit: 1},
	{command: "set +o pipefail; false | true"},
	{command: "set -x"},
	{command: "echo traced", out: "+\x01traced\n"},
	{command: "echo a\necho b", out: "+\x01b\n"},
	{command: "set +x", out: "+\x01"},
	{command: "sh -c 'cd /; echo $PWD'", out: "/\n"},
	{command: "cd /; cd HOME; cd - >/dev/null", cwd: "/"},
	{command: "cd HOME", cwd: "HOME"},
	{command: "$(printf 'echo from a substitution')", out: "\x02"},
	{command: "echo $(printf 'a\nb')", out: "\x02"},
	{command: "echo `echo back`", out: "back\n"},
	{command: "echo \"$(cat <<E\nin\nE\n)\"", out: "in\n"},
	{command: "echo 'quoted\nline'", out: "quoted\nline\n"},
	{command: "sh -c 'echo a; exec >&-; exit 9'", out: "a\n", exit: 9},
	{command: "[[ a == a ]] && echo same", out: "same\n"},
	{command: "((1 + 1 == 2)) && echo sum", out: "sum\n"},
	{command: "case x in x) echo case ;; esac", out: "case\n"},
	{command: "{ echo g; } 2>&1 | cat", out: "g\n"},
	{command: "unset PROMPT_COMMAND precmd_functions preexec_functions; PS0=''", out: "\x00"},
	{command: "echo hooks", out: "hooks\n"},
	{command: "PS1='x '; PS0=''", out: "\x00"},
	{command: "echo hooks", out: "hooks\n"},
	{command: "PROMPT_COMMAND='echo noise'; precmd() { echo noise; }", out: "\x00"},
	{command: "echo mine", out: "mine\n"},
	{command: "sh -c 'exit 8'", exit: 8},
	{command: "unset PROMPT_COMMAND; unset -f precmd 2>/dev/null; true", out: "\x00"},
}

// incomplete are commands that are an error in each shell, and leave it ready for the next command.
var incomplete = []string{"echo 'a", `echo "a`, "if true; then", "echo (", "{ echo", "echo $(", "for", "for i in 1 2; do\necho $i", "echo a &&", "echo a |", "fi", "echo a\nthen", ")"}

var bashOnly = []step{
	{command: "set -f; echo *; set +f", out: "*\n"},
	{command: "shopt -s extdebug failglob nullglob"},
	{command: "echo options", out: "options\n"},
	{command: "sh -c 'exit 5'", exit: 5},
	{command: "shopt -u extdebug failglob nullglob"},
	{command: "local x", out: "\x00", exit: 1},
	{command: "set -E; trap 'echo err' ERR; set -T"},
	{command: "false", out: "err\n", exit: 1},
	{command: "echo $?", out: "1\n"},
	{command: "trap - ERR; set +ET"},
	{command: "trap 'echo dbg' DEBUG", out: "\x00"}, // output for our hook
	{command: "echo x", out: "dbg\nx\n\x00"},
	{command: "trap - DEBUG", out: "\x00"},
	{command: "set -o vi"},
	{command: "echo vi", out: "vi\n"},
	{command: "set -o emacs; bind '\"\\C-x\": abort'"},
	{command: "readonly PS1 PS0; echo ro", out: "ro\n"},
	{command: "echo ro again", out: "ro again\n"},
	{command: "shopt -u promptvars; echo pv", out: "pv\n"},
	{command: "echo pv again", out: "pv again\n"},
	{command: "shopt -s promptvars"},
	{command: "set -v; echo v", out: "v\n\x00"}, // the call of our hook
	{command: "set +v"},
	{command: "set -e; echo e", out: "e\n"},
	{command: "echo e again; false || true", out: "e again\n"},
	{command: "set +e"},
	{command: "HISTCONTROL=ignoreboth; histchars='@%#'; echo '@@'", out: "@@\n"},
	{command: "unset histchars; echo \"${PIPESTATUS[*]}\"", out: "0\n"},
	{command: "set -o posix; echo posix", out: "posix\n"},
	{command: "echo posix again; (exit 2)", out: "posix again\n", exit: 2},
	{command: "set +o posix"},
}

var zshOnly = []step{
	{command: "setopt sh_word_split ksh_arrays no_nomatch prompt_subst prompt_bang no_prompt_cr no_prompt_sp"},
	{command: "echo options", out: "options\n"},
	{command: "sh -c 'exit 5'", exit: 5},
	{command: "unsetopt sh_word_split ksh_arrays prompt_bang; setopt prompt_cr prompt_sp"},
	{command: "emulate sh; echo sh", out: "sh\n"},
	{command: "echo sh again; (exit 2)", out: "sh again\n", exit: 2},
	{command: "emulate zsh; setopt extended_glob"},
	{command: "echo 'x^y'; echo '^'", out: "x^y\n^\n"},
	{command: "TRAPZERR() { echo zerr; }"},
	{command: "false", out: "zerr\n", exit: 1},
	{command: "unfunction TRAPZERR; TRAPDEBUG() { echo dbg; }"},
	{command: "echo x", out: "dbg\nx\n"},
	{command: "unfunction TRAPDEBUG", out: "dbg\n"},
	{command: "bindkey -v; echo vi", out: "vi\n"},
	{command: "echo vi again", out: "vi again\n"},
	{command: "bindkey -e; setopt correct correct_all"},
	{command: "ehco x", out: "\x00", exit: 127},
	{command: "unsetopt correct correct_all; PROMPT_EOL_MARK=''; printf x", out: "x\x00"},
	{command: "printf y", out: "y"},
	{command: "setopt err_return; echo e", out: "e\n"},
	{command: "unsetopt err_return; setopt rc_quotes"},
	{command: "echo 'it''s'", out: "it's\n"},
	{command: "setopt auto_cd interactive_comments; echo a # b", out: "a\n"},
	{command: "unsetopt prompt_percent; echo np; setopt prompt_percent", out: "np\n"},
	{command: "readonly PROMPT_EOL_MARK; echo ro", out: "ro\n"},
	{command: "echo ro again", out: "ro again\n"},
	{command: "set -e; echo e", out: "e\n"},
	{command: "echo e again", out: "e again\n"},
	{command: "set +e; zmodload zsh/zle; zle -N zle-line-init true"},
	{command: "echo widget", out: "widget\n"},
}

var fishOnly = []step{
	{command: "sh -c 'exit 3'", exit: 3},
	{command: "echo $status", out: "3\n"},
	{command: "set -g x 5; echo $x; set -e x", out: "5\n"},
	{command: "set -gx A '1 2'; sh -c 'echo \"$A\"'", out: "1 2\n"},
	{command: "function f; echo in f $argv; return 4; end"},
	{command: "f x", out: "in f x\n", exit: 4},
	{command: "for i in 1 2 3\n    echo $i\nend", out: "1\n2\n3\n"},
	{command: "if true; echo yes; end", out: "yes\n"},
	{command: "begin; echo b; end | cat", out: "b\n"},
	{command: "echo (echo sub)", out: "sub\n"},
	{command: "echo 'a\nb'", out: "a\nb\n"},
	{command: "env | grep -i -e ]633 -e __shelld", exit: 1},
	{command: "fish_vi_key_bindings; echo vi", out: "vi\n"},
	{command: "echo vi again", out: "vi again\n"},
	{command: "fish_default_key_bindings; echo emacs", out: "emacs\n"},
	{command: "function fish_prompt; echo -n 'new> '; end"},
	{command: "echo prompt", out: "prompt\n"},
	{command: "function fish_prompt; echo one; echo -n 'two> '; end; function fish_right_prompt; echo right; end"},
	{command: "echo prompts", out: "prompts\n"},
	{command: "abbr -a ls 'echo no'; ls HOME/a*", out: ""},
	{command: "set -e __none; not true", exit: 1},
	{command: "sleep 0 &; wait; echo done", out: "\x00done\n"},
	{command: "history | grep -c zzz", out: "0\n", exit: 1},
}

// differs are outputs that differ between bash and zsh by their own rules.
var differs = map[Shell]map[string]string{
	Bash: {
		"umask 077; umask":                     "0077\n",
		"$(printf 'echo from a substitution')": "from a substitution\n", "echo $(printf 'a\nb')": "a b\n",
	},
	Zsh: {
		"umask 077; umask":                     "077\n",
		"$(printf 'echo from a substitution')": "from a substitution\n", "echo $(printf 'a\nb')": "a b\n",
	},
}

// matches reports whether the output matches want: \x00 in want stands for any text.
func matches(got, want string) bool {
	parts := strings.FieldsFunc(want, func(r rune) bool { return r < 3 })
	if len(parts) == 0 || !strings.ContainsAny(want, "\x00\x01\x02") {
		return strings.ContainsAny(want, "\x00\x01\x02") || got == want
	}
	for i, part := range parts {
		at := strings.Index(got, part)
		if i == len(parts)-1 && want[len(want)-1] > 2 {
			at = strings.LastIndex(got, part)
		}
		if at < 0 || i == 0 && at > 0 && want[0] > 2 {
			return false
		}
		got = got[at+len(part):]
	}
	return got == "" || want[len(want)-1] < 3
}

func TestCommands(t *testing.T) {
	for _, shell := range []struct {
		name  Shell
		as    string
		setup setup
		steps [][]step
	}{
		{name: Bash, steps: [][]step{common, posix, bashOnly}},
		{name: Bash, as: ", as one that is old", setup: setup{edit: old}, steps: [][]step{common, posix, bashOnly}},
		{name: Zsh, steps: [][]step{common, posix, zshOnly}},
		{name: Fish, steps: [][]step{common, fishOnly}},
	} {
		t.Run(string(shell.name)+shell.as, func(t *testing.T) {
			s := start(t, shell.name, shell.setup)
			cwd, count := s.home, 0
			for _, steps := range shell.steps {
				for _, step := range steps {
					if step.cwd != "" {
						cwd = strings.ReplaceAll(step.cwd, "HOME", s.home)
					}
					want := step.out
					if out, ok := differs[shell.name][step.command]; ok {
						want = out
					}
					want = strings.ReplaceAll(want, "HOME", s.home)
					got := s.run(strings.ReplaceAll(step.command, "HOME", s.home))
					if !matches(got.out, want) || got.exit != step.exit || got.cwd != cwd {
						t.Errorf("%.80q gave %.200q, %d in %q\nwant %.200q, %d in %q", step.command, got.out, got.exit, got.cwd, want, step.exit, cwd)
					}
					count++
				}
			}
			if shell.name == Fish && bytes.Contains(s.out, []byte("__shelld_prompt")) {
				t.Errorf("the prompt failed: %q", tail(s.out))
			}
			t.Logf("%d commands", count)
			s.leave("exit 3")
		})
	}
}

func TestIncomplete(t *testing.T) {
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			for _, command := range incomplete {
				if shell == Fish && (command == "for" || command == "{ echo" || command == "fi" || command == "echo a\nthen") {
					continue // ordinary words in fish
				}
				if got := s.run(command); (got.exit == 0 || got.out == "") && (shell != Zsh || command != "echo a &&") {
					t.Errorf("%q gave %+v", command, got)
				}
				if got := s.run("echo next"); got.out != "next\n" || got.exit != 0 {
					t.Errorf("after %q: %+v", command, got)
				}
			}
		})
	}
}
