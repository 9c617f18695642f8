package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// tree creates files. A name that ends with a slash is a directory, one with a star is executable, and one with a pipe
// sign is a FIFO.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, strings.TrimRight(name, "/*|"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch name[len(name)-1] {
		case '/':
			err = os.MkdirAll(path, 0o755)
		case '|':
			err = unix.Mkfifo(path, 0o755)
		case '*':
			err = os.WriteFile(path, nil, 0o755)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLookPath(t *testing.T) {
	dir := tree(t, "a/x*", "a/plain", "b/x*", "b/plain*", "b/only/", "a/dir/", "here*", "fifo|", "c/noexec")
	at := func(name string) string { return filepath.Join(dir, name) }
	path := "PATH=" + at("missing") + ":" + at("here") + ":" + at("fifo") + ":" + at("a") + ":" + at("b")
	for _, test := range []struct {
		name, path string
		want       string
		found      string
		err        error
	}{
		{name: "x", path: path, want: at("a/x")},
		{name: "plain", path: path, want: at("b/plain")}, // execvp continues after EACCES
		{name: "only", path: path, found: at("b/only"), err: syscall.EISDIR},
		{name: "nothing", path: path, err: fs.ErrNotExist},
		{name: "noexec", path: "PATH=" + at("c") + ":" + at("a"), found: at("c/noexec"), err: fs.ErrPermission},
		{name: "", path: path, err: fs.ErrNotExist},
		{name: "here", path: path, err: fs.ErrNotExist},
		{name: "here", path: "PATH=", want: at("here")},
		{name: "here", path: "PATH=/nowhere:", want: at("here")},
		{name: "x", path: "PATH=a", want: at("a/x")},
		{name: "./here", path: path, want: at("here")},
		{name: "a/x", path: path, want: at("a/x")},
		{name: at("b/x"), path: "PATH=", want: at("b/x")},
		{name: "a/plain", path: path, found: at("a/plain"), err: fs.ErrPermission},
		{name: "./a", path: path, found: at("a"), err: syscall.EISDIR},
		{name: "a/missing", path: path, found: at("a/missing"), err: fs.ErrNotExist},
		{name: "here/x", path: path, found: at("here/x"), err: syscall.ENOTDIR},
		{name: "sh", path: "NOPATH=", want: "/usr/bin/sh"},
	} {
		got, err := LookPath(test.name, dir, []string{"PATH=/first", test.path})
		if test.path == "NOPATH=" {
			got, err = LookPath(test.name, dir, nil)
		}
		if got != test.want || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
			t.Errorf("%q with %s: %q, %v, want %q, %v", test.name, test.path, got, err, test.want, test.err)
			continue
		}
		var look *LookError
		if err != nil && (!errors.As(err, &look) || look.Name != test.name || look.Path != test.found || !strings.Contains(err.Error(), fmt.Sprintf("%q", test.name))) {
			t.Errorf("%q: %+v, want path %q", test.name, look, test.found)
		}
	}
}

func TestSuggest(t *testing.T) {
	dir := tree(t, "a/grep*", "a/egrep*", "a/fgrep*", "a/pgrep*", "a/git*", "a/gi", "a/gitk/", "a/python3*", "a/ls*", "a/nl*", "a/sg*", "a/ex*", "a/touch*", "a/ipython*", "b/grep*", "fifo|", "file*")
	path := "PATH=" + strings.Join([]string{filepath.Join(dir, "fifo"), filepath.Join(dir, "file"), filepath.Join(dir, "a"), filepath.Join(dir, "b"), "/missing"}, ":")
	for name, want := range map[string][]string{
		"gerp":    {"grep"},
		"gre":     {"grep"},
		"grep":    {"egrep", "fgrep", "pgrep"}, // not the name itself, and each only once
		"gti":     {"git"},
		"pyhton":  {"python3"},
		"pythons": {"python3"},
		"sl":      {"ls"}, // but neither nl nor sg
		"gr":      nil,
		"nosuch":  nil, // touch is two edits away, and one of them changes the first letter
		"-x":      nil, // not ex
		"x":       nil,
		"":        nil,
		"./git":   nil,
		"unlike":  nil,
	} {
		if got := within(t, func() []string { return Suggest(name, []string{path}, nil) }); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := Suggest(strings.Repeat("g", 100_000), []string{path}, nil); got != nil {
		t.Errorf("a long name: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 1, 0}, {"a", "", 3, 1}, {"abc", "abc", 1, 0}, {"abc", "acb", 3, 1}, {"abc", "abd", 3, 1}, {"abc", "ab", 3, 1},
		{"abc", "xabc", 3, 1}, {"ca", "abc", 3, 3}, {"kitten", "sitting", 3, 3}, {"kitten", "sitting", 2, 3}, {"a", "abcdefgh", 2, 3}, {"é", "e", 3, 1},
	} {
		if got := distance(test.a, test.b, test.limit); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
		if there, back := distance(test.a, test.b, test.limit), distance(test.b, test.a, test.limit); there != back {
			t.Errorf("%q and %q: %d, %d", test.a, test.b, there, back)
		}
	}
}

func TestShells(t *testing.T) {
	dir := tree(t, "bin/sh*", "bin/bash*", "bin/zsh*", "bin/fish*", "bin/pwsh*", "bin/mine*", "only/sh*", "own/ksh*", "own/bash")
	at := func(name string) string { return filepath.Join(dir, name) }
	both := "PATH=" + at("bin")
	for _, test := range []struct {
		name string
		env  []string
		want string
	}{
		{"its own", []string{both, "SHELL=" + at("own/ksh")}, at("own/ksh")},
		{"not POSIX", []string{both, "SHELL=" + at("bin/fish")}, at("bin/bash")},
		{"not executable", []string{both, "SHELL=" + at("own/bash")}, at("bin/bash")},
		{"missing", []string{both, "SHELL=/nowhere/zsh"}, at("bin/bash")},
		{"relative", []string{both, "SHELL=zsh"}, at("bin/bash")},
		{"none", []string{both}, at("bin/bash")},
		{"no bash", []string{"PATH=" + at("only")}, at("only/sh")},
	} {
		sh, err := DefaultShell(test.env)
		if err != nil || sh.Path != test.want || sh.Name != filepath.Base(test.want) || !slices.Equal(sh.Args, []string{"-c"}) {
			t.Errorf("%s: %+v, %v, want %s", test.name, sh, err, test.want)
		}
	}
	if sh, err := DefaultShell([]string{"PATH=/nowhere"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without any: %+v, %v", sh, err)
	}
	for name, want := range map[string]string{
		"zsh": "-c", "bin/fish": "-c", "pwsh": "-NoLogo -NoProfile -NonInteractive -Command", "mine": "-c", at("own/ksh"): "-c",
	} {
		sh, err := ShellFor(name, dir, []string{both})
		if err != nil || sh.Name != filepath.Base(name) || strings.Join(sh.Args, " ") != want || !strings.HasSuffix(sh.Path, name) {
			t.Errorf("%s: %+v, %v", name, sh, err)
		}
	}
	var look *LookError
	if _, err := ShellFor("nosuch", dir, []string{both}); !errors.As(err, &look) || look.Name != "nosuch" {
		t.Errorf("a shell that there is not: %v", err)
	}
	if !IsPOSIXShell("/bin/dash") || IsPOSIXShell("/bin/fish") || IsPOSIXShell("") {
		t.Error("IsPOSIXShell")
	}
}
