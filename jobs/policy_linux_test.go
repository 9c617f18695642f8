package jobs

import (
	"errors"
	"strings"
	"testing"
)

func TestCommandPolicy(t *testing.T) {
	line := func(s string) Spec { return Spec{Command: &s} }
	allow := CommandPolicy{Allow: []string{"git", "ls"}}
	deny := CommandPolicy{Deny: []string{"rm"}}
	in := func(name string, s Spec) Spec { s.Env = map[string]*string{name: new(string)}; return s }
	by := func(shell string, s Spec) Spec { s.Shell = shell; return s }
	for _, test := range []struct {
		name   string
		policy CommandPolicy
		spec   Spec
		rule   string // "" = permitted
		says   string
	}{
		{"no policy", CommandPolicy{}, line("$x"), "", ""},
		{"allowed", allow, line("git log | ls"), "", ""},
		{"not allowed", allow, line("git log | less"), "allowCommands", "less"},
		{"unknown", allow, line("git $(cat) | $x"), "allowCommands", "cat"},
		{"unknown alone", allow, line("git log; $x"), "allowCommands", "cannot be known"},
		{"nothing is allowed", CommandPolicy{Allow: []string{}}, line("ls"), "allowCommands", "ls"},
		{"nothing runs", CommandPolicy{Allow: []string{}}, line("# ls"), "", ""},
		{"denied", deny, line("ls; /bin/rm x"), "denyCommands", "/bin/rm"},
		{"not denied", deny, line("ls rm"), "", ""},
		{"unknown beside a denial", deny, line("ls; $x"), "denyCommands", "cannot be known"},
		{"denied though allowed", CommandPolicy{Allow: []string{"rm"}, Deny: []string{"rm"}}, line("rm"), "denyCommands", "rm"},
		{"argv", allow, Spec{Argv: []string{"git", "$(rm)"}}, "", ""},
		{"argv that runs another", allow, Spec{Argv: []string{"env", "git"}}, "allowCommands", "env"},
		{"an interactive shell", allow, Spec{}, "allowCommands", "/bin/bash"},
		{"an interactive shell that is allowed", CommandPolicy{Allow: []string{"/bin/bash"}}, Spec{}, "allowCommands", "cannot be known"},
		{"an interactive shell and a denial", deny, Spec{}, "denyCommands", "input"},
		{"another PATH", allow, in("PATH", line("ls")), "allowCommands", "PATH"},
		{"another variable", allow, in("CI", line("ls")), "", ""},
		{"a shell by its name", allow, by("bash", line("ls")), "", ""},
		{"a shell by its path", allow, by("/tmp/bash", line("ls")), "allowCommands", "/tmp/bash"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &Manager{commands: test.policy}
			err := m.permit(&test.spec, plan{shell: "/bin/bash"})
			switch {
			case test.rule == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.rule == "":
			case err == nil:
				t.Error("permitted")
			case err.Code != CodePolicyDenied || err.Name != "start" || err.Rule != test.rule || !strings.Contains(err.Message, test.says):
				t.Errorf("%v %q by %q: %q", err.Code, err.Name, err.Rule, err.Message)
			}
		})
	}
}

func TestAliases(t *testing.T) {
	c := CommandPolicy{Aliases: map[string]string{"ll": "ls -l", "ls": "ls -a", "x;y": "never"}}
	for command, want := range map[string]string{
		"":            "",
		"ll":          "ls -l",
		"ll /tmp":     "ls -l /tmp",
		" \n ll":      "ls -l",
		"ll;ll":       "ls -l;ll",
		"ll|wc":       "ls -l|wc",
		"ll\nls":      "ls -l\nls",
		"ls":          "ls -a",
		"lls":         "lls",
		"'ll'":        "'ll'",
		"(ll)":        "(ll)",
		"x=1 ll":      "x=1 ll",
		"x;y":         "x;y",
		"ll\u00a0x":   "ll\u00a0x",
		"command ll ": "command ll ",
	} {
		if got := c.expand(&command); *got != want {
			t.Errorf("%q: %q, not %q", command, *got, want)
		}
	}
	if c.expand(nil) != nil {
		t.Error("a start without a command has got one")
	}
}

// TestPolicyStartsNothing shows that what is refused leaves neither a job nor a name.
func TestPolicyStartsNothing(t *testing.T) {
	m := startReal(t, Options{Root: t.TempDir(), Commands: CommandPolicy{Deny: []string{"touch"}}})
	spec := sh("touch here")
	spec.Name = "n"
	_, p, err := m.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	if r := <-p.C; !errors.Is(r.Err, &Error{Code: CodePolicyDenied}) {
		t.Fatalf("%+v", r)
	}
	spec.Command = sh("test ! -e here").Command
	j := mustStart(t, m, spec)
	awaitClosed(t, j)
	if exit := j.Published().Exit; exit == nil || exit.Code == nil || *exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	if all := m.All(); len(all) != 1 {
		t.Errorf("there are %d jobs", len(all))
	}
}
