package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestWrongFlags checks that an error in the flags is one line of our own text, with a suggestion.
func TestWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-tols compact":  "there is no flag -tols; did you mean -tools?",
		"-tools compac":  `-tools is compact, seeds or all, not "compac"; did you mean compact?`,
		"-log foo":       `-log is debug, info, warn or error, not "foo"`,
		"-max-jobs many": `-max-jobs "many": must be a whole number`,
		"-max-jobs 0":    "-max-jobs must be 1 or more",
		"-max-jobs -3":   "-max-jobs must be 1 or more",
		"-shell nosuch":  `-shell "nosuch": there is no such shell; name one that is installed, or leave it out`,
		"-allow-dir ,":   `-allow-dir ",": it has an empty word`,
		"-shell":         "-shell needs a value: -shell SHELL",
		"here":           `unexpected argument "here"`,
	} {
		if _, err := parseFlags(strings.Fields(args), io.Discard); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", args, err, want)
		}
	}
	c, err := parseFlags([]string{"-env", "all", "-log", "debug"}, io.Discard)
	if err != nil || c.env != schema.EnvInheritAll || c.level.String() != "DEBUG" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := parseFlags(nil, io.Discard); err != nil || c.level.String() != "WARN" {
		t.Errorf("by default it is %+v, %v", c, err)
	}
	var help strings.Builder
	if _, err := parseFlags([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "default warn") {
		t.Errorf("%v, %s", err, &help)
	}
}

// TestRefusedFlags checks that errors of the server about values of flags have the same form, and name no option of the
// protocol.
func TestRefusedFlags(t *testing.T) {
	needJobs(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(filepath.Dir(file), "none")
	for _, test := range []struct{ name, value, want string }{
		{"-root", none, "root directory " + none + " does not exist or is not a directory"},
		{"-allow-dir", none, "the allowed directory " + none + " cannot be used (no such file or directory); create it first, or leave it out"},
		{"-state-dir", file, "output cannot be kept in " + file + " (not a directory); give another -state-dir, or -memory"},
	} {
		out, _ := exec.CommandContext(t.Context(), "shelld-mcp", test.name, test.value).CombinedOutput() // The text is the error.
		if want := "shelld-mcp: " + test.want + " (shelld-mcp -h)\n"; string(out) != want {
			t.Errorf("%s %s: %q, want %q", test.name, test.value, out, want)
		}
		cmd := exec.CommandContext(t.Context(), "shelld-mcp", test.name, test.value)
		if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 2 { // The status is the error.
			t.Errorf("%s %s: %v", test.name, test.value, cmd.ProcessState)
		}
	}
}

// TestHelpOnStdout checks that a request for help is not an error.
func TestHelpOnStdout(t *testing.T) {
	var log strings.Builder
	cmd := exec.CommandContext(t.Context(), "shelld-mcp", "-h")
	cmd.Stderr = &log
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "\nExit status: ") || log.Len() > 0 {
		t.Errorf("%v, %s, %s", err, out, &log)
	}
	cmd = exec.CommandContext(t.Context(), "shelld-mcp", "-tols", "all")
	out, _ := cmd.CombinedOutput() // The status is checked below.
	if want := "shelld-mcp: there is no flag -tols; did you mean -tools? (shelld-mcp -h)\n"; string(out) != want || cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("%s, %v", out, cmd.ProcessState)
	}
}
