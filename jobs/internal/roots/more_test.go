package roots

import (
	"runtime"
	"strings"
	"testing"
)

// TestShells reads lines as shells other than bash do.
func TestShells(t *testing.T) {
	for _, test := range []struct{ shell, line, want string }{
		{"sh", `ls | rm x`, "ls rm"},
		{"sh", `[[ -f x ]] && ls`, "ls ?"},
		{"sh", `a &>b rm x`, "a ?"},
		{"sh", `diff <(rm x) y`, "diff rm ?"},
		{"sh", `$'rm' x`, "$rm rm ?"},
		{"sh", `export X=1; ls`, "export ls"},
		{"sh", `export PATH=1; ls`, "export ls ?"},
		{"sh", `export X=$Y`, "export ?"},
		{"sh", `export X="$Y"`, "export"},
		{"sh", `printf '%s\n' "$x"`, "printf"},
		{"sh", `printf '%d\n' "$x"`, "printf ?"},
		{"bash", `printf '%d\n' "$x"`, "printf"},
		{"zsh", `exit $x`, "exit ?"},
		{"zsh", `exit 1`, "exit"},
		{"zsh", `bye 'a[$(rm)]'`, "bye ?"},
		{"zsh", `getln 'a[$(rm)]'`, "getln ?"},
		{"zsh", `private 'a[$(rm)]'`, "private ?"},
		{"zsh", `{rm}`, "{rm} ?"},
		{"zsh", "cat <<$x[\n", "?"}, // the parser panics on this line
		{"bash", "zsh -c 'cat <<$x[\n'", "zsh ?"},
		{"bash", `{rm}`, "{rm}"},
		{"zsh", `builtin test 'a[$(rm)]' -eq 1`, "builtin test ?"},
		{"mksh", `command [ "$x" -eq 1 ]`, "command [ ?"},
		{"mksh", `ulimit -n 'a[$(rm)]'`, "ulimit ?"},
		{"ksh93", `ulimit -n'a[$(rm)]'`, "ulimit ?"},
		{"mksh", `ulimit -n 100`, "ulimit"},
		{"sh", `ulimit -c unlimited`, "ulimit"},
		{"bash", `ulimit -n "$x"`, "ulimit"},
		{"ksh93", `typeset -F x='a[$(rm)]'`, "typeset ?"},
		{"ksh93", `redirect rm`, "redirect ?"},
		{"zsh", `exit $?`, "exit"},
		{"zsh", `f() { :; }; unfunction f; f`, ": unfunction ?"},
		{"sh", `export $Y`, "export ?"},
		{"sh", `[ "$x" -eq 1 ]`, "[ ?"},
		{"sh", `[ "$#" -eq 1 ]`, "["},
		{"sh", `function f { rm; }`, "rm ?"},
		{"dash", `for i in 1 2; do rm $i; done`, "rm"},
		{"dash", `f() { rm x; }; f`, "rm"},
		{"dash", `local x=1`, "local"},
		{"zsh", `ls | rm x`, "ls rm"},
		{"zsh", `=rm x`, "=rm ?"},
		{"zsh", `echo =rm`, "echo"},
		{"zsh", `ls *(e:'rm x':)`, "ls ?"},
		{"zsh", `> x`, "?"},
		{"zsh", `repeat 3 rm x`, "repeat ?"},
		{"zsh", `noglob rm x`, "noglob rm ?"},
		{"zsh", `- rm x`, "- ?"},
		{"zsh", `() { rm x }`, "rm ?"},
		{"zsh", `echo ${(e)x}`, "echo ?"},
		{"zsh", `for x (a b) rm $x`, "?"},
		{"zsh", `source x`, "source ?"},
		{"zsh", `setopt aliases`, "setopt ?"},
		{"mksh", `ls | rm x`, "ls rm"},
		{"ksh", `x=${ rm x;}`, "rm ?"},
		{"ksh93", `[ "$x" -eq 1 ]`, "[ ?"},
		{"fish", `ls`, "?"},
		{"nu", `ls`, "?"},
		{"pwsh", `ls`, "?"},
		{`C:\Windows\System32\cmd.exe`, `dir`, "?"},
		{"", `ls`, "?"},
		{"my-shell", `ls`, "?"},
	} {
		if got := (Line{Text: test.line, Shell: test.shell}).Roots(); written(got) != test.want {
			t.Errorf("%s: %q: %q (%s), not %q", test.shell, test.line, written(got), got.Why, test.want)
		}
	}
}

// TestEnv reads lines that are started with additional variables.
func TestEnv(t *testing.T) {
	if got := (Line{Text: "i=1; echo $((i))", Shell: "bash", Env: []string{"i"}}).Roots(); !got.Unknown() {
		t.Error("a variable that the start gives may hold anything when it is first computed with")
	}
	for shell, want := range map[string]bool{"ksh": true, "/bin/ksh93": true, "bash": false, "sh": false} {
		if got := (Line{Text: "ls", Shell: shell, Env: []string{"A", "SHLVL"}}).Roots(); got.Unknown() != want {
			t.Errorf("%s: some compute with SHLVL when they start: %q (%s)", shell, written(got), got.Why)
		}
	}
	for name, want := range map[string]bool{
		"PATH": true, "LD_PRELOAD": true, "BASH_FUNC_ls%%": true, "GIT_PAGER": true, "LUA_INIT_5_4": true, "LESSKEY_CONTENT": true, "GNUMAKEFLAGS": true, "ENV": true, "PS4": true,
		"CI": false, "NODE_ENV": false, "PYTHONUNBUFFERED": false, "DEBUG": false, "LANG": false, "TERM": false, "COLUMNS": false,
	} {
		if Steers(name) != want {
			t.Errorf("%s steers what runs: %v", name, !want)
		}
	}
}

// TestLocale reads lines for shells in which a backslash may be a part of a character.
func TestLocale(t *testing.T) {
	const line = "echo \"\u4e01\\\"; rm #\""
	for _, test := range []struct{ locale, line, want string }{
		{"", line, "echo"},
		{"C", line, "echo"},
		{"de_DE.UTF-8", line, "echo"},
		{"en_US.iso88591", line, "echo"},
		{"de_DE.utf8@euro", line, "echo"},
		{"zh_CN.GBK", line, "echo ?"},
		{"zh_CN", line, "echo ?"},
		{"zh_CN.GBK", `echo "x"`, "echo"},
		{"", "LC_ALL=zh_CN.GBK\n" + line, "echo ?"},
		{"", "export LANG=$x\n" + line, "export echo ?"},
		{"", "read LC_CTYPE\n" + line, "read echo ?"},
		{"", "LC_ALL=C " + line, "echo"},
		{"", "export LC_ALL=en_US.UTF-8; " + line, "export echo"},
		{"", "env LC_ALL=C.UTF-8 " + line, "env echo"},
		{"", "env LC_ALL=ja_JP.SJIS " + line, "env echo ?"},
	} {
		if got := (Line{Text: test.line, Shell: "bash", Locale: test.locale}).Roots(); written(got) != test.want {
			t.Errorf("%s: %q: %q (%s), not %q", test.locale, test.line, written(got), got.Why, test.want)
		}
	}
	for argv, want := range map[string]string{"bash\x00-c\x00" + line: "bash echo ?", "grep\x00\u4e01": "grep"} {
		if got := Argv(strings.Split(argv, "\x00"), nil, "zh_CN.GBK"); written(got) != want {
			t.Errorf("%q: %q (%s), not %q", argv, written(got), got.Why, want)
		}
	}
	if got := LocaleOf([]string{"LANG=a", "LC_ALL=", "LC_CTYPE=b", "LC_CTYPE=c"}); got != "c" {
		t.Errorf("the locale is %q", got)
	}
}

func TestArgv(t *testing.T) {
	for _, test := range []struct {
		argv []string
		want string
	}{
		{nil, ""},
		{[]string{"ls", "$(rm)"}, "ls"},
		{[]string{"ls", ";", "rm"}, "ls"},
		{[]string{"ls", "|", "rm"}, "ls"},
		{[]string{"$X"}, "$X"},
		{[]string{"*"}, "*"},
		{[]string{"if"}, "if"},
		{[]string{""}, " ?"},
		{[]string{"~/x"}, "~/x"},
		{[]string{"env", "X=1", "rm", "*"}, "env rm"},
		{[]string{"sudo", "-u", "x", "sh", "-c", "rm x | ls"}, "sudo sh rm ls"},
		{[]string{"sh", "-c", "$0", "rm"}, "sh ?"},
		{[]string{"/bin/bash", "x.sh"}, "/bin/bash ?"},
		{[]string{"/bin/bash"}, "/bin/bash ?"},
		{[]string{"xargs", "-n1", "rm"}, "xargs rm"},
		{[]string{"find", ".", "-exec", "rm", "{}", ";"}, "find rm"},
		{[]string{"env", "PATH=/x", "rm"}, "env rm ?"},
		{[]string{"bash", "-c", "sh -c 'eval \"rm x\"'"}, "bash sh eval rm"},
		{[]string{"pwsh", "-c", "rm"}, "pwsh ?"},
	} {
		if got := Argv(test.argv, nil, ""); written(got) != test.want {
			t.Errorf("%q: %q (%s), not %q", test.argv, written(got), got.Why, test.want)
		}
	}
}

// TestBounds checks that a line beyond a limit is unknown, and that reading it ends.
func TestBounds(t *testing.T) {
	for name, line := range map[string]string{
		"long":        "ls " + strings.Repeat("x", maxLine),
		"parentheses": strings.Repeat("(", 5000) + "ls" + strings.Repeat(")", 5000),
		"backquotes":  strings.Repeat("`", 60000),
		"quotes":      strings.Repeat(`"$(`, 20000),
		"eval":        strings.Repeat("eval ", 1000) + "ls",
		"wrappers":    strings.Repeat("env ", 1000) + "ls",
		"readings":    strings.Repeat("watch ", 1000) + "ls",
		"ifs":         strings.Repeat("if ", 20000),
		"nots":        "((" + strings.Repeat("!", 60000) + "1))",
		"expansions":  strings.Repeat("${x:-", 10000),
		"documents":   strings.Repeat("cat <<E;", 8000),
	} {
		if got := (Line{Text: line, Shell: "sh"}).Roots(); !got.Unknown() {
			t.Errorf("%s: all of the line is taken for known", name)
		}
	}
}

func TestMatching(t *testing.T) {
	for _, test := range []struct {
		entry, root    string
		allows, denies bool
	}{
		{"rm", "rm", true, true},
		{"rm", "/bin/rm", false, true},
		{"rm", "./rm", false, true},
		{"rm", "a/../rm", false, true},
		{"rm", "rmdir", false, false},
		{"rm", "farm", false, false},
		{"/bin/rm", "/bin/rm", true, true},
		{"/bin/rm", "/bin/../bin/rm", false, true},
		{"/bin//rm", "/bin/rm", false, true},
		{"/bin/rm", "rm", false, true},
		{"/bin/rm", "/usr/bin/rm", false, false},
		{"/bin/rm", "./rm", false, true}, // the directory may be /bin
		{"/bin/rm", "../bin/rm", false, true},
		{"/bin/rm", "~+/rm", false, true},
		{"/bin/rm", "/x/../bin/rm", false, true}, // x may be a link
		{"/bin/rm", "/bin/./rm", false, true},
		{"/bin/rm", "./rmdir", false, false},
		{"./x", "./x", true, true},
		{"./x", "x", false, true},
		{"./x", "/a/x", false, true},
		{"./x", "/a/y", false, false},
		{"", "", false, false},
		{"", "rm", false, false},
		{"r*", "rm", false, false},
		{"RM", "rm", false, runtime.GOOS != "linux"},
	} {
		if got := Allows(test.entry, test.root); got != test.allows {
			t.Errorf("%q allows %q: %v", test.entry, test.root, got)
		}
		if got := Denies(test.entry, test.root); got != test.denies {
			t.Errorf("%q denies %q: %v", test.entry, test.root, got)
		}
	}
	f := Found{Roots: []string{"git", "./git", "rm"}}
	if root, ok := f.NotAllowed([]string{"git", "rm"}); !ok || root != "./git" {
		t.Errorf("not allowed: %q, %v", root, ok)
	}
	if root, ok := f.NotAllowed([]string{"git", "./git", "rm"}); ok {
		t.Errorf("not allowed: %q", root)
	}
	if root, ok := f.Denied([]string{"ls", "rm"}); !ok || root != "rm" {
		t.Errorf("denied: %q, %v", root, ok)
	}
}

func TestTables(t *testing.T) {
	for name, w := range wrappers() {
		for i, letter := range w.flags + w.values + w.attached {
			if strings.ContainsRune((w.flags + w.values + w.attached)[i+1:], letter) {
				t.Errorf("%s: the option -%c is there twice", name, letter)
			}
		}
		if builtins()[name] != nil {
			t.Errorf("%s is a builtin and a wrapper", name)
		}
	}
	for _, name := range opaque() {
		if wrappers()[name] != nil {
			t.Errorf("%s is looked into, and is not", name)
		}
	}
}

// FuzzLine checks that no line makes the reader panic or run without end.
func FuzzLine(f *testing.F) {
	for _, r := range allRows {
		f.Add(r.line, byte(0))
	}
	shells := []string{"bash", "sh", "zsh", "ksh"}
	f.Fuzz(func(t *testing.T, line string, shell byte) {
		l := Line{Text: line, Shell: shells[int(shell)%len(shells)]}
		found := l.Roots()
		for _, root := range found.Roots {
			if root == "" && !found.Unknown() {
				t.Errorf("%q has a root without a name", line)
			}
		}
		Argv(strings.Fields(line), nil, "")
	})
}

// BenchmarkLine measures the cost of a command list at a start.
func BenchmarkLine(b *testing.B) {
	for name, line := range map[string]string{
		"short": "git status",
		"long":  `cd src && find . -name '*.go' -exec grep -l "$(cat pattern)" {} + | xargs -0 sh -c 'wc -l "$@"' x | sort -n > "$OUT"`,
	} {
		for _, shell := range []string{"bash", "sh"} {
			b.Run(name+"/"+shell, func(b *testing.B) {
				for b.Loop() {
					if (Line{Text: line, Shell: shell}).Roots().Unknown() {
						b.Fatal(line)
					}
				}
			})
		}
	}
}
