package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// shownVariables returns the variables of a question as NAME=value, or NAME for one that is unset.
func shownVariables(q *Question) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(q.Variables)) {
		if value := q.Variables[name]; value != nil {
			name += "=" + *value
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// The question about a start shows the variables, from the start and from the client, that change which commands run.
// An answer for always is not kept if these commands are not known.
func TestQuestionShowsVariables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, _ := startAsked(t, askStarts)
		with := func(env map[string]*string) Spec {
			s := command("echo x")
			s.Env = env
			return s
		}
		set := func(name, value string, secret bool) {
			t.Helper()
			if err := m.SetVariable(name, value, secret); err != nil {
				t.Fatal(err)
			}
		}
		begin(t, m, with(map[string]*string{"DEBUG": new("1"), "GIT_TERMINAL_PROMPT": new("0")}))
		begin(t, m, with(map[string]*string{"PAGER": new("less")}))
		begin(t, m, with(map[string]*string{"BASH_ENV": new("x"), "PATH": nil}))
		set("DEBUG", "2", false)
		begin(t, m, with(nil))
		set("PATH", "/evil", false)
		begin(t, m, with(map[string]*string{"PATH": new("/own")}))
		begin(t, m, with(nil))
		set("LD_PRELOAD", "hunter2hunter2", true)
		begin(t, m, with(map[string]*string{"BASH_ENV": new("/hunter2hunter2/x"), "GIT_TOKEN": new("abc")}))
		if err := m.UnsetVariable("PATH"); err != nil {
			t.Fatal(err)
		}
		begin(t, m, with(nil))
		for i, want := range []struct {
			shown string
			kept  bool
		}{
			{"", true}, {"PAGER=less", true}, {"BASH_ENV=x PATH", false}, {"", true}, {"PATH=/own", false}, {"PATH=/evil", false},
			{"BASH_ENV=/***/x GIT_TOKEN=*** LD_PRELOAD=*** PATH=/evil", false}, {"LD_PRELOAD=*** PATH", false},
		} {
			q := who.asked[i]
			if shownVariables(q) != want.shown || q.AlwaysKept() != want.kept || q.Unknown == want.kept {
				t.Errorf("%d: shows %q, always is kept: %v, unknown: %v; want %+v", i, shownVariables(q), q.AlwaysKept(), q.Unknown, want)
			}
			q.Answer(AnswerDeny)
		}
		_, p := begin(t, m, with(map[string]*string{"BASH_ENV": new(strings.Repeat("x", mostAsked))}))
		if e := refused(t, p, CodePolicyDenied); !strings.Contains(e.Message, fmt.Sprint("at most ", mostAsked)) || e.Rule != "confirm" {
			t.Errorf("%+v", e)
		}
	})
}

// Different environments have different digests.
func TestEnvironmentDigest(t *testing.T) {
	seen := map[string]int{}
	for i, env := range [][]string{nil, {"A=1"}, {"A=1", "B="}, {"A=1B="}, {"A=2"}} {
		digest := environmentDigest(env)
		if other, is := seen[digest]; is || digest != environmentDigest(slices.Clone(env)) {
			t.Errorf("%d and %d: %s", i, other, digest)
		}
		seen[digest] = i
	}
}
