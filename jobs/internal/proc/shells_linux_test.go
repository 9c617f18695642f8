package proc

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func makeProgram(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// FindShells finds shells on PATH by their names and in the system's list by their paths. It reports each file once for
// each name.
func TestFindShells(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	bash := makeProgram(t, filepath.Join(dir, "bash"), 0o700)
	makeProgram(t, filepath.Join(dir, "zsh"), 0o600) // not executable
	busybox := makeProgram(t, filepath.Join(dir, "busybox"), 0o700)
	own := makeProgram(t, filepath.Join(other, "mysh"), 0o700)
	again := makeProgram(t, filepath.Join(other, "fish"), 0o700)
	makeProgram(t, filepath.Join(other, "tmux"), 0o700)
	for _, link := range [][2]string{{"busybox", filepath.Join(dir, "sh")}, {bash, filepath.Join(other, "bash")}, {bash, filepath.Join(other, "rbash")}} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Fatal(err)
		}
	}
	list := filepath.Join(dir, "shells")
	text := "# shells\n\n" + other + "/bash # the same\n" + other + "/rbash\n" + own + "\nrelative/sh\n" + other + "/nothing\n" + other + "/tmux\n  " + again + "  \n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []Installed
	got = append(got, FindShells([]string{"PATH=" + dir}, "", list)...)
	want := []Installed{
		{Name: "bash", Path: bash, Family: FamilyPOSIX, Ask: askVersion},
		{Name: "sh", Path: filepath.Join(dir, "sh"), Target: busybox, Family: FamilyPOSIX, Ask: []string{"--help"}},
		{Name: "rbash", Path: filepath.Join(other, "rbash"), Target: bash, Family: FamilyPOSIX, Ask: askVersion},
		{Name: "mysh", Path: own, Family: FamilyOther},
		{Name: "fish", Path: again, Family: FamilyFish, Ask: askVersion},
	}
	if !slices.EqualFunc(got, want, sameInstalled) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	link := filepath.Join(other, "bash")
	if first := FindShells([]string{"PATH=" + dir}, link, list)[0]; first.Path != link || first.Target != bash {
		t.Errorf("by default: %+v", first)
	}
	if all := FindShells([]string{"PATH="}, "", filepath.Join(dir, "no list")); len(all) != 0 {
		t.Errorf("found %+v where there is nothing", all)
	}
}

func sameInstalled(a, b Installed) bool {
	return a.Name == b.Name && a.Path == b.Path && a.Target == b.Target && a.Family == b.Family && slices.Equal(a.Ask, b.Ask)
}

// The number of shells taken from a list is bounded, since the list may be any file.
func TestListOfShellsIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shells")
	var text []byte
	for range 100_000 {
		text = append(text, "/bin/sh\n"...)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := listedShells(file); len(got) != mostListed {
		t.Errorf("%d", len(got))
	}
}

// Each known family has a row in the table of syntaxes, and each known shell has a family.
func TestSyntaxes(t *testing.T) {
	for _, k := range knownShells {
		if _, ok := SyntaxOf(k.family); !ok {
			t.Errorf("%s: nobody knows how %s writes command lines", k.name, k.family)
		}
	}
	if _, ok := SyntaxOf(FamilyOf("/opt/some-shell")); ok {
		t.Error("what nobody knows is known")
	}
	for name, want := range map[string]Syntax{
		"/bin/bash": {"&&", "$", true, true, true, true}, "sh": {"&&", "$", true, true, true, true},
		"pwsh": {";", "$env:", true, true, true, false}, "cmd": {"&&", "%", true, true, true, false},
	} {
		if got, ok := SyntaxOf(FamilyOf(name)); !ok || got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestLoginShell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwd")
	text := "root:x:0:0:root:/root:/bin/bash\nbad line\nada:x:1000:1000::/home/ada:/usr/bin/zsh\nnone:x:1001:1001::/:\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]string{0: "/bin/bash", 1000: "/usr/bin/zsh", 1001: "", 7: ""} {
		if got := userShell(file, uid); got != want {
			t.Errorf("%d: %q, want %q", uid, got, want)
		}
	}
	if got := LoginShell([]string{"SHELL=/bin/zsh"}); got != "/bin/zsh" {
		t.Errorf("$SHELL is %q", got)
	}
	if got := userShell(file+"x", 0); got != "" {
		t.Errorf("%q", got)
	}
	if _, ok := LoginArgs("/bin/tcsh", "x"); ok {
		t.Error("csh takes -l alone")
	}
}
