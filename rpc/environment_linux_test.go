package rpc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestVariables: a variable that is set exists for later starts, in the order of the requests. A secret one is shown
// only to jobs.
func TestVariables(t *testing.T) {
	s := start(t)
	const secret = "hunter2 and more"
	set := do[schema.EnvSetResult](s, "env/set", obj{"name": "NODE_ENV", "value": "test"})
	if set.Status != "set" || set.Name != "NODE_ENV" || str(set.Value) != "test" || set.Scope != schema.EnvScopeGlobal || set.Secret != nil {
		t.Errorf("%s", show(set))
	}
	if set := do[schema.EnvSetResult](s, "env/set", obj{"name": "HIDDEN", "value": secret, "secret": true}); set.Value != nil || set.Secret == nil {
		t.Errorf("%s", show(set))
	}
	one := s.begin("env/set", obj{"name": "ORDER", "value": "1"})
	first := s.begin("env/get", obj{"name": "ORDER"})
	two := s.begin("env/set", obj{"name": "ORDER", "value": "2"})
	one.answer()
	two.answer()
	equal(t, "ORDER as it was", str(result[schema.EnvGetResult](first).Value), "1")

	out := s.run(`echo "$NODE_ENV $HIDDEN ${#HIDDEN} $ORDER"`)
	equal(t, "a job's output", str(out.Stdout), fmt.Sprintf("test *** %d 2\n", len(secret)))

	list := do[schema.EnvListResult](s, "env/list", nil)
	equal(t, "count", list.Count, int64(len(list.Variables)))
	equal(t, "the source", list.Variables["NODE_ENV"].Source, schema.EnvSourceClient)
	equal(t, "the source of what initialize has set", list.Variables[markName].Source, schema.EnvSourcePolicy)
	if v := list.Variables["HIDDEN"]; v.Value != nil || v.Secret == nil || list.Login != nil {
		t.Errorf("%s", show(list))
	}
	for _, where := range []obj{{}, {"handle": s.pipe("true")}} {
		got := do[schema.EnvGetResult](s, "env/get", merged(obj{"name": "HIDDEN"}, flat(where)))
		if got.Value != nil || got.Secret == nil || got.Source == nil || *got.Source != schema.EnvSourceClient {
			t.Errorf("%v: %s", where, show(got))
		}
	}
	// A variable that contains the secret value does not show it either.
	url := "https://me:" + secret + "@host"
	around := do[schema.EnvSetResult](s, "env/set", obj{"name": "AROUND", "value": url})
	equal(t, "the answer", str(around.Value), "https://me:***@host")
	equal(t, "listed", str(do[schema.EnvListResult](s, "env/list", nil).Variables["AROUND"].Value), "https://me:***@host")
	mine := do[schema.EnvGetResult](s, "env/get", obj{"name": "MINE", "handle": s.pipe("true", "env", obj{"MINE": url})})
	equal(t, "a job's own", str(mine.Value), "https://me:***@host")

	unset := do[schema.EnvUnsetResult](s, "env/unset", obj{"name": "NODE_ENV"})
	if unset.Status != "unset" || unset.Name != "NODE_ENV" || unset.Scope != schema.EnvScopeGlobal {
		t.Errorf("%s", show(unset))
	}
	if got := do[schema.EnvGetResult](s, "env/get", obj{"name": "NODE_ENV"}); got.Value != nil || got.Source != nil || got.Secret != nil {
		t.Errorf("%s", show(got))
	}
}

// TestNoRefusalHasTheValue: no error quotes the given value: it may have been meant as a secret.
func TestNoRefusalHasTheValue(t *testing.T) {
	s := start(t)
	for _, params := range []obj{
		{"name": "A", "value": 123456789, "secret": true},
		{"name": "A", "value": []string{"123456789"}},
		{"name": "A", "value": "123456789\x00", "secret": true},
		{"name": "A=", "value": "123456789", "secret": true},
		{"name": "PWD", "value": "123456789", "secret": true},
		{"name": "A", "value": "123456789", "secret": "123456"},
		{"name": "A", "value": strings.Repeat("123456789", 20_000), "secret": true},
	} {
		a := s.beginBad("env/set", params).answer()
		if a.Error == nil {
			t.Fatalf("%.100s is taken", encode(params))
		}
		if strings.Contains(encode(a.Error), "123456789") {
			t.Errorf("%.100s is answered with %s", encode(params), show(a.Error))
		}
	}
}

// TestPlatform: platform/get returns the same as initialize, and the shells, including the one that runs commands.
func TestPlatform(t *testing.T) {
	s := open(t)
	told := s.initialize().Platform
	got := do[schema.PlatformGetResult](s, "platform/get", nil)
	want := schema.Platform{
		OS: got.Platform, Arch: got.Arch, Version: got.Version, Shell: got.Shell, ShellPath: got.ShellPath,
		PathSeparator: &got.PathSeparator, CommandSeparator: got.CommandSeparator, EnvironmentPrefix: got.EnvironmentPrefix,
		Features: got.Features, CanonicalLineLimit: got.CanonicalLineLimit,
	}
	equal(t, "platform", encode(told), encode(want))
	defaults := 0
	for _, sh := range got.Shells {
		if !filepath.IsAbs(sh.Path) || sh.Name != filepath.Base(sh.Path) {
			t.Errorf("%s", show(sh))
		}
		if sh.Default != nil {
			defaults++
			equal(t, "the default", sh.Path, got.ShellPath)
		}
	}
	equal(t, "defaults", defaults, 1)
}

// gatedLogin makes servers ask a bash that prints its environment only once the gate is open.
func gatedLogin(t *testing.T) (gate fifo, bash string, options []any) {
	t.Helper()
	bash = "/bin/bash"
	if _, err := os.Stat(bash); err != nil {
		t.Skip(err)
	}
	home, gate := t.TempDir(), newFifo(t)
	if err := os.WriteFile(filepath.Join(home, ".bash_profile"), []byte("read -r line <"+gate.path+"; export FROM_LOGIN=$line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("SHELL", bash)
	return gate, bash, []any{"options", obj{"env": obj{"inherit": "all", "login": obj{"timeoutMs": 600_000}}}}
}

// TestCancelWhileTheLoginShellIsAsked: a request that waits for the login shell can be cancelled, and its job is not
// started.
func TestCancelWhileTheLoginShellIsAsked(t *testing.T) {
	gate, bash, options := gatedLogin(t)
	s := start(t, options...)
	for method, params := range map[string]obj{
		"env/get": {"name": "HOME"}, "env/list": {}, "platform/get": {},
		"job/start": {"command": "true", "name": "start"}, "job/run": {"command": "true", "timeoutMs": 1, "name": "run"},
	} {
		c := s.begin(method, params)
		c.withdraw()
		refused[schema.CanceledData](c, schema.KindCanceled)
	}
	get := s.begin("env/get", obj{"name": "FROM_LOGIN"})
	killed := s.begin("job/start", obj{"command": "true", "name": "killed"})
	refused[schema.JobNotFoundData](s.begin("job/kill", obj{"handle": "killed"}), schema.KindJobNotFound)
	refused[schema.CanceledData](killed, schema.KindCanceled)
	run := s.begin("job/run", obj{"command": "echo $FROM_LOGIN", "timeoutMs": 600_000})
	equal(t, "jobs", len(do[schema.JobListResult](s, "job/list", nil).Jobs), 0)
	gate.release()
	got := result[schema.EnvGetResult](get)
	if got.Source == nil || *got.Source != schema.EnvSourceLogin {
		t.Errorf("%s", show(got))
	}
	equal(t, "what a job has from there", str(result[schema.JobRunResult](run).Stdout), str(got.Value)+"\n")
	list := do[schema.EnvListResult](s, "env/list", nil)
	if l := list.Login; l == nil || !l.Taken || str(l.Shell) != bash || l.Reason != nil {
		t.Errorf("%s", show(l))
	}
}

// TestEndWhileTheLoginShellIsAsked: the end of the server or the connection does not wait for the login shell, and
// starts that wait for it are answered.
func TestEndWhileTheLoginShellIsAsked(t *testing.T) {
	for name, end := range map[string]func(*session){
		"exit":             func(s *session) { s.send(`{"jsonrpc":"2.0","method":"exit"}`) },
		"the end of stdin": (*session).hangUp,
		"shutdown": func(s *session) {
			do[schema.ShutdownResult](s, "shutdown", nil)
			s.send(`{"jsonrpc":"2.0","method":"exit"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, options := gatedLogin(t)
			s := start(t, options...)
			begun, run := s.begin("job/start", obj{"command": "true"}), s.begin("job/run", obj{"command": "true"})
			end(s)
			refused[schema.ShuttingDownData](begun, schema.KindShuttingDown)
			refused[schema.ShuttingDownData](run, schema.KindShuttingDown)
			clean, err := s.end()
			equal(t, "clean", clean, name == "shutdown")
			equal(t, "error", err, nil)
		})
	}
}
