package jobs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/proc"
)

// printed returns the output of a new job.
func printed(t *testing.T, m *Manager, s Spec) string {
	t.Helper()
	s.Mode = ModePipe
	j := mustStart(t, m, s)
	o := awaitClosed(t, j)
	text, _ := j.Range(Stdout, o.Output[Stdout])
	return string(text)
}

// sources returns the values and sources of a list of variables, by name.
func sources(vars []Variable) map[string]string {
	all := map[string]string{}
	for _, v := range vars {
		all[v.Name] = fmt.Sprintf("%s:%s", v.Source, v.Value)
		if v.Secret {
			all[v.Name] += ":secret"
		}
	}
	return all
}

func environmentOf(t *testing.T, m *Manager) map[string]string {
	t.Helper()
	vars, _, err := m.Environment().Variables(nil)
	if err != nil {
		t.Fatal(err)
	}
	return sources(vars)
}

func set(t *testing.T, m *Manager, name, value string, secret bool) {
	t.Helper()
	if err := m.SetVariable(name, value, secret); err != nil {
		t.Fatal(err)
	}
}

// Variables that a client sets and unsets count for later jobs. Each layer overrides those before it, and each variable
// has its source.
func TestVariables(t *testing.T) {
	t.Setenv("FROM_SERVER", "s")
	t.Setenv("GONE", "s")
	m := startReal(t, Options{Root: t.TempDir(), Env: EnvPolicy{
		Inherit: "none", Include: []string{"PATH", "FROM_SERVER", "GONE"}, Set: map[string]string{"SET": "p", "CHANGED": "p"},
	}})
	before := mustStart(t, m, sh("true"))
	set(t, m, "CHANGED", "c", false)
	set(t, m, "HIDDEN", "not to be seen", true)
	if err := m.UnsetVariable("GONE"); err != nil {
		t.Fatal(err)
	}
	got := environmentOf(t, m)
	for name, want := range map[string]string{
		"FROM_SERVER": "server:s", "SET": "policy:p", "CHANGED": "client:c", "HIDDEN": "client::secret", "GONE": "", "PWD": "", "TERM": "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	s := sh(`echo "$FROM_SERVER $SET $CHANGED $HIDDEN ${GONE-gone} $OWN"`)
	s.Env = map[string]*string{"OWN": new("o"), "SET": new("start")}
	if out := printed(t, m, s); out != "s start c *** gone o\n" {
		t.Errorf("printed %q", out)
	}
	j := mustStart(t, m, s)
	got = sources(must(t, j.Variables()))
	for name, want := range map[string]string{
		"FROM_SERVER": "server:s", "SET": "start:start", "OWN": "start:o", "HIDDEN": "client::secret",
		"PWD": "builtin:" + m.Root(), "TERM": "builtin:xterm-256color",
	} {
		if got[name] != want {
			t.Errorf("the job's %s is %q, want %q", name, got[name], want)
		}
	}
	// A job that has started keeps its variables.
	if got := sources(must(t, before.Variables())); got["CHANGED"] != "policy:p" || got["GONE"] != "server:s" || got["HIDDEN"] != "" {
		t.Errorf("the job before has %v", got)
	}
}

// A start gets the variables in effect when its request was read, even if it runs later.
func TestVariablesOfAStartThatWasRead(t *testing.T) {
	m := startReal(t, Options{})
	set(t, m, "WHEN", "before", false)
	s := sh(`echo "$WHEN"`)
	s.Mode = ModePipe
	for range 20 {
		set(t, m, "WHEN", "before", false)
		j, p, err := m.Start(s)
		if err != nil {
			t.Fatal(err)
		}
		set(t, m, "WHEN", "after", false)
		must(t, p)
		o := awaitClosed(t, j)
		if text, _ := j.Range(Stdout, o.Output[Stdout]); string(text) != "before\n" {
			t.Fatalf("printed %q", text)
		}
	}
}

// TERM is a default. A client may set or unset it.
func TestTermStandsBack(t *testing.T) {
	m := startReal(t, Options{})
	term := func() string {
		return sources(must(t, mustStart(t, m, sh("true")).Variables()))["TERM"]
	}
	if got := term(); got != "builtin:xterm-256color" {
		t.Errorf("TERM is %q", got)
	}
	set(t, m, "TERM", "vt100", false)
	if got := term(); got != "client:vt100" {
		t.Errorf("set, TERM is %q", got)
	}
	if err := m.UnsetVariable("TERM"); err != nil {
		t.Fatal(err)
	}
	if got := term(); got != "" {
		t.Errorf("unset, TERM is %q", got)
	}
}

// PWD is always the job's own directory. It is not inherited, and is not in the environment for all jobs.
func TestPWDIsTheJobs(t *testing.T) {
	t.Setenv("PWD", "/server")
	m := startReal(t, Options{Root: "/usr", Env: EnvPolicy{Inherit: "all", Set: map[string]string{"PWD": "/policy"}}})
	if got, ok := environmentOf(t, m)["PWD"]; ok {
		t.Errorf("for all jobs it is %q", got)
	}
	s := sh("true")
	if got := sources(must(t, mustStart(t, m, s).Variables()))["PWD"]; got != "builtin:/usr" {
		t.Errorf("it is %q", got)
	}
	s.Env = map[string]*string{"PWD": new("/start")}
	if got := sources(must(t, mustStart(t, m, s).Variables()))["PWD"]; got != "start:/start" {
		t.Errorf("as the start says it is %q", got)
	}
}

// A profile overrides inherited variables, and is overridden by variables that were set explicitly.
func TestProfiles(t *testing.T) {
	t.Setenv("PAGER", "less")
	m := startReal(t, Options{Env: EnvPolicy{Set: map[string]string{"CLICOLOR": "1"}}})
	set(t, m, "NO_COLOR", "", false)
	of := func(s Spec) map[string]string { return sources(must(t, mustStart(t, m, s).Variables())) }
	if got := of(Spec{Argv: []string{"true"}}); got["PAGER"] != "server:less" || got["GIT_PAGER"] != "" {
		t.Errorf("without: %v", got)
	}
	got := of(Spec{Argv: []string{"true"}, Profile: ProfileAgent, Env: map[string]*string{"EDITOR": new("ed"), "GIT_EDITOR": nil}})
	for name, want := range map[string]string{
		"PAGER": "profile:cat", "CLICOLOR": "policy:1", "NO_COLOR": "client:", "EDITOR": "start:ed", "GIT_EDITOR": "", "VISUAL": "profile:" + noEditor,
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if len(Profiles()[ProfileAgent]) == 0 || len(Profiles()[ProfileInteractive]) != 0 {
		t.Errorf("profiles: %v", Profiles())
	}
}

// The editor of the profile fails with advice, however it is started.
func TestNoEditor(t *testing.T) {
	m := startReal(t, Options{})
	s := sh(`eval "$EDITOR \"\$@\"" 2>&1; echo $?`)
	s.Profile = ProfileAgent
	if out := printed(t, m, s); !strings.Contains(out, "no editor is available") || !strings.HasSuffix(out, "\n1\n") {
		t.Errorf("printed %q", out)
	}
}

// Variables that cannot be passed to a job are refused. No error contains a value.
func TestVariablesThatCannotBe(t *testing.T) {
	m := startReal(t, Options{})
	const value = "not to be told"
	long := strings.Repeat("x", proc.MaxVariable)
	for _, test := range []struct {
		name, value string
		secret      bool
		code        Code
		about       string
	}{
		{"", value, false, CodeInvalidParams, "/name"},
		{"A=B", value, false, CodeInvalidParams, "/name"},
		{"A\x00B", value, false, CodeInvalidParams, "/name"},
		{"PWD", value, false, CodeInvalidParams, "/name"},
		{"A", value + "\x00", false, CodeInvalidParams, "/value"},
		{"A", "ab12c", true, CodeInvalidParams, "/value"},
		{"A", long, false, CodeLimitExceeded, "variableBytes"},
	} {
		err := m.SetVariable(test.name, test.value, test.secret)
		if err == nil || err.Code != test.code || err.Pointer+err.Limit != test.about || strings.Contains(err.Message, test.value) && test.value != "" {
			t.Errorf("%.20q %.20q: %+v", test.name, test.value, err)
		}
	}
	if got := environmentOf(t, m); got["A"] != "" {
		t.Errorf("A is %q", got["A"])
	}
	fits := long[:proc.MaxVariable-len("A=\x00")]
	set(t, m, "A", fits, false)
	if out := printed(t, m, sh(`echo ${#A}`)); out != fmt.Sprintln(len(fits)) {
		t.Errorf("the longest variable has %q", out)
	}
}

// The variables are bounded, so that a client can neither fill the server's memory nor make every start fail.
func TestVariablesAreBounded(t *testing.T) {
	m := startReal(t, Options{})
	var refused *Error
	for i := 0; refused == nil; i++ {
		refused = m.SetVariable(fmt.Sprint("V", i), "", false)
		if i > maxVariables {
			t.Fatal("there is no bound")
		}
	}
	if refused.Code != CodeLimitExceeded || refused.Limit != "variables" || refused.Max != maxVariables {
		t.Errorf("%+v", refused)
	}
	m = startReal(t, Options{})
	big := strings.Repeat("x", 100<<10)
	for i := range 20 {
		if refused = m.SetVariable(fmt.Sprint("V", i), big, false); refused != nil {
			break
		}
	}
	if refused == nil || refused.Limit != "variablesBytes" {
		t.Fatalf("%+v", refused)
	}
	if out := printed(t, m, sh("echo ok")); out != "ok\n" {
		t.Errorf("with all of it a job prints %q", out)
	}
}

// After shutdown no variable can be set. The variables of a job can never be set.
func TestVariablesAreRefused(t *testing.T) {
	m := startReal(t, Options{})
	j := mustStart(t, m, Spec{Argv: []string{"sh"}})
	if err := j.VariablesAreFixed(); err.Code != CodeUnsupported || err.Pointer != "/handle" || !strings.Contains(err.Message, "export NAME=value") {
		t.Errorf("%+v", err)
	}
	must(t, j.Kill(KillOptions{}))
	if err := j.VariablesAreFixed(); err.Code != CodeUnsupported || strings.Contains(err.Message, "export") {
		t.Errorf("of one that has ended: %+v", err)
	}
	m.Shutdown()
	if err := m.SetVariable("A", "b", false); !errors.Is(err, errClosedServer()) {
		t.Errorf("%v", err)
	}
}

// BenchmarkEnvironmentOfAStart measures the composition of a job's environment.
func BenchmarkEnvironmentOfAStart(b *testing.B) {
	base := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/ada", "LANG=C.UTF-8", "USER=ada", "LOGNAME=ada", "SHELL=/bin/bash"}
	for i := range 24 {
		base = append(base, fmt.Sprintf("XDG_%d=value", i))
	}
	m := &Manager{services: services{own: ownFacts{environment: base}}}
	e := m.newEnvironment(Options{})
	s := Spec{from: e, Env: map[string]*string{"A": new("b")}}
	b.ReportAllocs()
	for b.Loop() {
		s.environ(ModePTY, "/tmp")
	}
}
