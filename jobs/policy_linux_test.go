package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The lists take variables from env/set into account like those of the start request: a PATH decides which program
// "true" is.
func TestListsLookAtWhatTheClientHasSet(t *testing.T) {
	m := startReal(t, Options{Commands: CommandPolicy{Allow: []string{"true"}}})
	start := func() Pending[StartResult] {
		t.Helper()
		_, p, err := m.Start(Spec{Argv: []string{"true"}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	must(t, start())
	if err := m.SetVariable("GREETING", "hello", false); err != nil {
		t.Fatal(err)
	}
	must(t, start())
	if err := m.SetVariable("PATH", "/tmp/mine:/bin:/usr/bin", false); err != nil {
		t.Fatal(err)
	}
	if e := refused(t, start(), CodePolicyDenied); e.Rule != "allowCommands" {
		t.Errorf("%+v", e)
	}
}

// A denied path is denied in every spelling that may lead to it from some directory.
func TestDeniedPathSpellings(t *testing.T) {
	m := startReal(t, Options{Commands: CommandPolicy{Deny: []string{"/bin/true"}}})
	bin := "/bin"
	for _, spec := range []Spec{
		command("/bin/true"), command("true"), command("./true"), command("cd /bin && ./true"), command("../bin/true"), command("cd /bin; ~+/true"),
		command("/proc/self/cwd/true"), command("/bin/../bin/true"), command("exec 3</bin/true; /proc/self/fd/3"), {Argv: []string{"./true"}}, {Argv: []string{"../bin/true"}},
		{Argv: []string{"/proc/self/cwd/true"}}, {Argv: []string{"env", "-C", "/bin", "./true"}}, {Argv: []string{"//bin/true"}},
	} {
		spec.Cwd = bin
		_, p, err := m.Start(spec)
		if err != nil {
			t.Fatal(err)
		}
		if e := refused(t, p, CodePolicyDenied); e.Rule != "denyCommands" {
			t.Errorf("%+v", e)
		}
	}
	_, p, err := m.Start(Spec{Argv: []string{"/bin/false"}})
	if err != nil {
		t.Fatal(err)
	}
	must(t, p)
}

// Neither list allows a line that a shell may read differently than the server.
func TestListsPassNothingUnknown(t *testing.T) {
	for _, policy := range []CommandPolicy{{Allow: []string{"echo", "sleep", "wait", "let", "local", "ls", "zsh", "xargs", "bash"}}, {Deny: []string{"canary"}}} {
		m := startReal(t, Options{Commands: policy})
		for _, line := range []string{
			"echo `echo '`; canary; echo '`", "[[ x == @($(canary)) ]]", "echo >&'$(canary)'", "x=(1)#; canary", "coproc canary >x", "sleep 0 & wait -np 'a[$(canary)]'",
			"canary=1; let 1&&canary", "f() { local PATH; ls; }; f", "zsh -b -c ls", "echo | xargs --process-slot-var=BASH_ENV bash -c ls",
		} {
			spec := command(line)
			spec.Shell = "bash"
			_, p, err := m.Start(spec)
			if err != nil {
				t.Fatal(err)
			}
			refused(t, p, CodePolicyDenied)
		}
	}
}

// The error for a command that may not be started does not show whether it exists, and suggests no other command that
// may not be started.
func TestListsHideWhatIsThere(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"frobnicate", "frobnicated", "frobnicates"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		policy CommandPolicy
		spec   Spec
		code   Code
		told   []string
	}{
		{"no list", CommandPolicy{}, Spec{Argv: []string{"frobnicat"}}, CodeCommandNotFound, []string{"frobnicate", "frobnicated", "frobnicates"}},
		{"not allowed", CommandPolicy{Allow: []string{"frobnicate"}}, Spec{Argv: []string{"frobnicat"}}, CodePolicyDenied, nil},
		{"allowed", CommandPolicy{Allow: []string{"frobnicat", "frobnicated"}}, Spec{Argv: []string{"frobnicat"}}, CodeCommandNotFound, []string{"frobnicated"}},
		{"denied", CommandPolicy{Deny: []string{"frobnicat"}}, Spec{Argv: []string{"frobnicat"}}, CodePolicyDenied, nil},
		{"another denied", CommandPolicy{Deny: []string{"frobnicate"}}, Spec{Argv: []string{"frobnicat"}}, CodeCommandNotFound, []string{"frobnicated", "frobnicates"}},
		{"a shell", CommandPolicy{Allow: []string{"true"}}, Spec{Shell: "frobnicat"}, CodePolicyDenied, nil},
		{"a shell for a line", CommandPolicy{Deny: []string{"rm"}}, command("rm x"), CodePolicyDenied, nil},
	} {
		if c.spec.Command != nil {
			c.spec.Shell = "/nowhere/bash"
		}
		m := startReal(t, Options{Commands: c.policy, Env: EnvPolicy{Set: map[string]string{"PATH": bin}}})
		_, p, err := m.Start(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if e := refused(t, p, c.code); !slices.Equal(e.Suggestions, c.told) {
			t.Errorf("%s: suggested %q; %s", c.name, e.Suggestions, e.Message)
		}
	}
}

// The hint for a command that a shell could not find does not suggest denied commands either.
func TestHintNamesNothingDenied(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "frobnicate"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, deny := range [][]string{nil, {"frobnicate"}} {
		m := startReal(t, Options{
			Commands: CommandPolicy{Deny: deny},
			Env:      EnvPolicy{Set: map[string]string{"PATH": bin + ":/usr/bin:/bin"}},
		})
		j, p, err := m.Start(command("frobnicat"))
		if err != nil {
			t.Fatal(err)
		}
		must(t, p)
		r := must(t, j.Run(RunOptions{Timeout: time.Minute}))
		if r.Hint == nil || (len(r.Hint.Suggestions) == 0) != (deny != nil) {
			t.Errorf("denied %q: hint %+v", deny, r.Hint)
		}
	}
}

// If a variable of the start makes programs run other programs, the lists check these, if its value names them. If it
// does not, the start is refused.
func TestListsReadVariables(t *testing.T) {
	m := startReal(t, Options{Commands: CommandPolicy{Allow: []string{"true", "cat"}}})
	for _, c := range []struct {
		name, value string
		allowed     bool
	}{
		{"PAGER", "cat", true}, {"PAGER", "rm", false}, {"PAGER", "cat; rm", false}, {"GIT_PAGER", "", true},
		{"LESS", "-R", true}, {"LESS", "+!rm", false}, {"GIT_TERMINAL_PROMPT", "0", true},
		{"PATH", "/bin", false}, {"LD_PRELOAD", "", false}, {"GIT_SSH_COMMAND", "cat", false}, {"XDG_CONFIG_HOME", "/x", false},
	} {
		_, p, err := m.Start(Spec{Argv: []string{"true"}, Env: map[string]*string{c.name: &c.value}})
		if err != nil {
			t.Fatal(err)
		}
		if c.allowed {
			must(t, p)
		} else if e := refused(t, p, CodePolicyDenied); e.Rule != "allowCommands" {
			t.Errorf("%s=%s: %+v", c.name, c.value, e)
		}
	}
	_, p, _ := m.Start(Spec{Argv: []string{"true"}, Env: map[string]*string{"PAGER": nil}})
	refused(t, p, CodePolicyDenied)
}
