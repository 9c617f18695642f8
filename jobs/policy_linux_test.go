package jobs

import "testing"

// What env/set has said before a start is the client's as much as the start's own env: a PATH
// of its decides what "true" is.
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
