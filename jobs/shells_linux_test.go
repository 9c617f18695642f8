package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// makeShell creates a program with the name of a shell in a directory.
func makeShell(t *testing.T, dir, name, script string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// shellsIn returns the shells found in a directory, by name.
func shellsIn(t *testing.T, m *Manager, dir string) map[string]ShellInfo {
	t.Helper()
	all, err := m.Shells(nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]ShellInfo{}
	for _, s := range all {
		if filepath.Dir(s.Path) == dir {
			found[s.Name] = s
		}
	}
	return found
}

// Shells are asked for their versions once, until their file changes. Shells that flood, fail or leave processes behind
// do no harm.
func TestShells(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	bash := makeShell(t, dir, "bash", `echo x >>`+count+`; echo "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)"`)
	makeShell(t, dir, "zsh", `echo "zsh 5.9 (x86_64)"; (trap "" HUP TERM; sleep 1000) & exit 3`)
	makeShell(t, dir, "fish", `exec /usr/bin/yes`)
	makeShell(t, dir, "mksh", `echo "@(#)MIRBSD KSH R59 2020/10/31"`)
	makeShell(t, dir, "nu", `printf '\377 1.2.3'`)
	makeShell(t, dir, "ksh", `echo "1.$HIDDEN$MY_TOKEN"`)
	makeShell(t, dir, "dash", `echo 9.9.9 >&2; touch `+filepath.Join(dir, "ran"))
	t.Setenv("PATH", dir)
	t.Setenv("SHELL", bash)
	t.Setenv("MY_TOKEN", "5")
	m := startReal(t, Options{Env: EnvPolicy{Include: []string{"MY_TOKEN"}}})
	set(t, m, "HIDDEN", "777777", true)
	want := map[string]string{"ksh": "1.", "bash": "5.2.15(1)-release", "zsh": "5.9", "fish": "", "mksh": "R59", "nu": "", "dash": ""}
	for range 2 {
		got := shellsIn(t, m, dir)
		for name, version := range want {
			if s := got[name]; s.Version != version || s.Default != (name == "bash") {
				t.Errorf("%s: %+v, want %q", name, s, version)
			}
		}
	}
	if text, _ := os.ReadFile(count); string(text) != "x\n" {
		t.Errorf("bash was asked %d times", strings.Count(string(text), "x"))
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a shell that has no version was run")
	}
	makeShell(t, dir, "bash", `echo "GNU bash, version 6.0"`)
	if got := shellsIn(t, m, dir)["bash"].Version; got != "6.0" {
		t.Errorf("the changed file tells %q", got)
	}
}

// A request that waits for a shell that does not answer can be cancelled, and no process of the shell is left after the
// server has ended.
func TestShellThatHangs(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	makeShell(t, dir, "fish", `trap "" TERM HUP; : >`+started+`; while :; do /bin/sleep 1000; done`)
	t.Setenv("PATH", dir)
	m := startReal(t, Options{})
	cancel := make(chan struct{})
	over := make(chan *Error)
	go func() {
		_, err := m.Shells(cancel)
		over <- err
	}()
	f, err := os.Open(started) // returns when it runs
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	close(cancel)
	if err := <-over; err == nil || err.Code != CodeCanceled {
		t.Errorf("%v", err)
	}
}

func TestVersionIn(t *testing.T) {
	for output, want := range map[string]string{
		"GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\nCopyright (C) 2022": "5.2.15(1)-release",
		"zsh 5.9 (x86_64-debian-linux-gnu)\n":                                           "5.9",
		"fish, version 3.6.0\n":                                                         "3.6.0",
		"BusyBox v1.35.0 (Debian 1:1.35.0-4+b3) multi-call binary.\n":                   "1.35.0",
		"@(#)MIRBSD KSH R59 2020/10/31 +Debian\n":                                       "R59",
		"Version AJM 93u+m/1.0.4 2022-10-22\n":                                          "93u+m",
		"PowerShell 7.4.1\n":                                                            "7.4.1",
		"\nMicrosoft Windows [Version 10.0.19045.3803]\n":                               "10.0.19045.3803",
		"xonsh/0.16.0\n":                                                                "0.16.0",
		"no version here\n":                                                             "",
		"":                                                                              "",
		"\xff 1.0":                                                                      "",
		"1." + strings.Repeat("0", 100):                                                 "",
	} {
		if got := versionIn([]byte(output)); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

// BenchmarkPlatform measures the information for initialize, which runs no program.
func BenchmarkPlatform(b *testing.B) {
	m, err := NewManager(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	defer m.Shutdown()
	for b.Loop() {
		if m.DefaultShell() == "" {
			b.Fatal("no shell")
		}
		OSVersion()
	}
}

// BenchmarkShells measures platform/get when the versions of the shells are known.
func BenchmarkShells(b *testing.B) {
	m, err := NewManager(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	defer m.Shutdown()
	for b.Loop() {
		if _, err := m.Shells(nil); err != nil {
			b.Fatal(err)
		}
	}
}
