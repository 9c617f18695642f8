package shellmark

import (
	"slices"
	"strings"
	"testing"
)

func TestFor(t *testing.T) {
	for _, test := range []struct {
		path string
		argv string
		want Shell
	}{
		{"/bin/bash", "bash", Bash}, {"/bin/bash", "-bash", Bash}, {"/bin/bash", "/bin/bash -i -l", Bash},
		{"/bin/bash", "bash -il --norc", Bash}, {"/bin/bash", "bash --rcfile x", Bash}, {"/bin/bash", "bash -o vi +O extglob -eu", Bash},
		{"/bin/bash", "bash -c x", ""}, {"/bin/bash", "bash script", ""}, {"/bin/bash", "bash -s", ""}, {"/bin/bash", "bash --posix", ""},
		{"/bin/bash", "bash -o posix", ""}, {"/bin/bash", "bash -o", ""}, {"/bin/bash", "bash --rcfile", ""}, {"/bin/bash", "bash -r", ""},
		{"/bin/bash", "bash -p", ""}, {"/bin/bash", "bash --noediting", ""}, {"/bin/bash", "bash -", ""}, {"/bin/bash", "sh", ""}, {"/bin/sh", "sh", ""},
		{"/bin/bash", "bash -n", ""}, {"/bin/dash", "bash", ""}, {"", "bash", Bash}, {"/bin/bash", "", ""},
		{"/bin/zsh", "zsh", Zsh}, {"/bin/zsh", "-zsh", Zsh}, {"/bin/zsh", "zsh -if", Zsh}, {"/bin/zsh", "zsh -o extendedglob", Zsh},
		{"/bin/zsh", "zsh -o no_rcs", ""}, {"/bin/zsh", "zsh -c x", ""}, {"/bin/zsh", "zsh x", ""}, {"/bin/zsh", "zsh +Z", ""},
		{"/usr/bin/fish", "fish", Fish}, {"/usr/bin/fish", "fish -il --no-config", Fish}, {"/usr/bin/fish", "fish -C true", Fish},
		{"/usr/bin/fish", "fish -c true", ""}, {"/usr/bin/fish", "fish x", ""}, {"/usr/bin/fish", "fish +i", ""}, {"/usr/bin/fish", "fish -C", ""},
		{"/usr/bin/python3", "python3", ""},
	} {
		got, ok := For(test.path, strings.Fields(test.argv))
		if ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%s as %q: %q, %v", test.path, test.argv, got, ok)
		}
	}
}

func TestLaunch(t *testing.T) {
	for _, test := range []struct {
		shell Shell
		argv  string
		want  string
	}{
		{Bash, "bash", "bash --rcfile /d/bashrc"}, {Bash, "bash -i --verbose -x", "bash --rcfile /d/bashrc --verbose -i -x"},
		{Bash, "-bash", "-bash --posix --login"}, {Bash, "bash -ilx", "bash --posix --login -ix"}, {Bash, "bash --norc", "bash --posix"},
		{Zsh, "zsh -il", "zsh -il"}, {Zsh, "zsh -fi", "zsh -i"}, {Zsh, "zsh -f", "zsh"},
		{Fish, "fish -l", "fish -l --init-command source%'/d/init.fish'"},
	} {
		launch := NewLaunch(test.shell, strings.Fields(test.argv), []string{"ENV=it's"}, Place{"/d", "/d/commands", "/d/scratch", nonce})
		want := strings.Fields(test.want)
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "%", " ")
		}
		if !slices.Equal(launch.Argv, want) {
			t.Errorf("%q became %q", test.argv, launch.Argv)
		}
		for name, text := range launch.Files {
			if !strings.Contains(string(text), nonce) || strings.Contains(string(text), "@") && strings.Contains(string(text), "@NONCE@") {
				t.Errorf("%s: the nonce is not there once", name)
			}
		}
		for name, value := range launch.Env {
			if strings.Contains(value, nonce) {
				t.Errorf("%s has the nonce", name)
			}
		}
		if strings.Contains(strings.Join(launch.Argv, " "), nonce) {
			t.Errorf("%q has the nonce", launch.Argv)
		}
	}
}

func TestNatural(t *testing.T) {
	for _, line := range []string{"ls", "ls -la /tmp | head -3", "cd /x && make -j4 >log 2>&1", "a=1", `echo "a b" 'c $d' $e`, "sleep 1 &", "a; b;", "git commit -m 'x (y) {z}'", "./run?x*"} {
		if !Bash.natural(line) {
			t.Errorf("%q is not natural", line)
		}
	}
	for _, line := range []string{"a\nb", "if true", "echo 'a", `echo "a`, `echo "$a"`, "a |", "a &&", "| a", "a | | b", "a ; ; b", "a;;b", "echo !x", "echo '!x'", "echo a\\", "cat <<E", "(a)", "a $(b)", "echo `b`", "{ a; }", "[[ a", "a # b", "^a^b", "a \x01", "\xff", "for i", "a; done", "fc -l", "a &> b", "a & & b", "echo $", "echo ${a"} {
		if Bash.natural(line) {
			t.Errorf("%q is natural", line)
		}
	}
	for line, want := range map[string]bool{`echo "$a" {a,b}`: true, "echo $(a)": false, "echo a &&": false, "echo a \\": false, "repeat 3": false, "a # b": false, "echo '!'": false, "if x": false, "a & ": true, "a & b&": true, "a && ": false, "a & &": false, "&": false, "a |&": false, "a ;": true} {
		if got := Zsh.natural(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestPayload(t *testing.T) {
	for command, want := range map[string]error{"a\x00": ErrNUL, "": ErrEmpty, " \n\t": ErrEmpty, "a": nil} {
		if _, err := Bash.Payload(1, command); err != want {
			t.Errorf("%q: %v", command, err)
		}
	}
	if _, err := Bash.HiddenPayload(1, "\x00"); err != ErrNUL {
		t.Error(err)
	}
	for _, name := range []string{"", "1a", "a-b", "a b", "a=b", "ü"} {
		if code := Zsh.SetVariable(name, "x") + Fish.UnsetVariable(name); code != "" {
			t.Errorf("%q: %q", name, code)
		}
	}
}
