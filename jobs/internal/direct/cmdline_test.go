//go:build linux || windows

package direct

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"
)

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		path string
		argv []string
		want string
	}{
		{`C:\bin\git.exe`, []string{"git", "status"}, `git status`},
		{`C:\Program Files\x.exe`, []string{`C:\Program Files\x.exe`, ""}, `"C:\Program Files\x.exe" ""`},
		{`C:\x.exe`, []string{"x", `a b`, `a"b`, `a\b`, `a b\`, `a\\"b`, `\`}, `x "a b" "a\"b" a\b "a b\\" "a\\\\\"b" \`},
		{`C:\x.exe`, []string{"x", "tab\there", "line\nend"}, "x \"tab\there\" \"line\nend\""},
		{`C:\Windows\System32\cmd.exe`, []string{"cmd", "/d", "/s", "/c", `echo "a b" & dir`}, `cmd /d /s /c "echo "a b" & dir"`},
		{`C:\Windows\System32\CMD.EXE`, []string{"cmd", "/d", "/s", "/C", `echo`}, `cmd /d /s /C "echo"`},
		{`C:\Windows\System32\cmd.exe`, []string{"cmd"}, `cmd`},
		{`C:\ps.exe`, []string{"pwsh", "-Command", `Write-Output "a b"`}, `pwsh -Command "Write-Output \"a b\""`},
	} {
		got, err := commandLine(test.path, test.argv)
		if got != test.want || err != nil {
			t.Errorf("%q: %s, %v, want %s", test.argv, got, err, test.want)
		}
	}
	for _, path := range []string{`C:\x.bat`, `C:\npm.CMD`} {
		if _, err := commandLine(path, []string{"x", "&calc"}); err != errBatch {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := commandLine(`C:\x.exe`, []string{"x", strings.Repeat("y", maxCommandLine)}); err != syscall.E2BIG {
		t.Errorf("too long: %v", err)
	}
}

func TestEnvironmentBlock(t *testing.T) {
	for _, test := range []struct {
		env  []string
		want string
	}{
		{nil, "\x00\x00"},
		{[]string{"A=1", "", "B=\x00", "C=ü"}, "A=1\x00C=ü\x00\x00"},
	} {
		if got := environmentBlock(test.env); !slices.Equal(got, utf16.Encode([]rune(test.want))) {
			t.Errorf("%q: %q", test.env, string(utf16.Decode(got)))
		}
	}
}
