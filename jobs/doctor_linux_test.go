package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestExamine(t *testing.T) {
	var names []string
	for _, f := range Examine() {
		names = append(names, f.Name)
		if f.Found == "" || (f.Grade != GradeOK) != (f.Reason != "" && f.Advice != "") {
			t.Errorf("%+v", f)
		}
	}
	for _, must := range []string{"terminals", "subreaper", "stateDirectory", "defaultShell"} {
		if !slices.Contains(names, must) {
			t.Errorf("nobody looks at %s", must)
		}
	}
}

// program creates an executable file.
func program(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultShellIsExplained(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("SHELL", "")
	if f := lookDefaultShell(); f.Grade != GradeMissing {
		t.Errorf("without shells: %+v", f)
	}
	sh, zsh, fish := program(t, dir, "sh"), program(t, dir, "zsh"), program(t, dir, "fish")
	for own, want := range map[string][2]string{
		"":          {sh, "$SHELL is not set"},
		zsh:         {zsh, "it is $SHELL"},
		fish:        {sh, "not the path of a POSIX shell"},
		"bash":      {sh, "not the path of a POSIX shell"},
		dir + "/sh": {sh, "it is $SHELL"},
		"/no/zsh":   {sh, "which cannot be run"},
	} {
		t.Setenv("SHELL", own)
		f := lookDefaultShell()
		if why, _ := f.Facts["why"].(string); f.Facts["path"] != want[0] || !strings.Contains(why, want[1]) {
			t.Errorf("SHELL=%s: %s", own, f.Found)
		}
	}
}

func TestFindShells(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	bash := program(t, dir, "bash")
	if err := os.Symlink("bash", filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}
	program(t, dir, "dash")
	found, missing := FindShells()
	want := []FoundShell{
		{Name: "bash", Path: bash, Versioned: true},
		{Name: "dash", Path: filepath.Join(dir, "dash")},
		{Name: "sh", Path: filepath.Join(dir, "sh"), Target: bash, Versioned: true},
	}
	if !slices.Equal(found, want) || !slices.Equal(missing, []string{"zsh", "fish", "pwsh"}) {
		t.Errorf("found %+v, missing %v", found, missing)
	}
}

// The result for a process has its tier. For a process that does not exist it has advice.
func TestExamineProcess(t *testing.T) {
	if f := ExamineProcess(os.Getpid()); f.Name != "inputDetection" || f.Facts["tier"] == "none" || (f.Grade == GradeOK) != (f.Advice == "") {
		t.Errorf("of this process: %+v", f)
	}
	if f := ExamineProcess(1 << 30); f.Grade != GradeMissing || f.Reason == "" || f.Advice == "" {
		t.Errorf("of a process that is not there: %+v", f)
	}
}
