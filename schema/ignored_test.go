package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestIgnored: members that initialize does not know are reported, with the one that was probably meant.
func TestIgnored(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`{}`, ``},
		{`{"_meta":{"a":1},"options":{"_meta":1,"env":{"_meta":[]}}}`, ``},
		{`{"clientInfos":{},"colour":1,"options":{"limits":{"maxJob":1},"event":[]}}`,
			`/clientInfos:clientInfo /colour: /options/event:events /options/limits/maxJob:maxJobs`},
		{`{"options":{"confirmTimeoutMs":5,"env":{"envy/x~":{}},"persist":{"mod":"memory"}}}`,
			`/options/confirmTimeoutMs:confirm /options/env/envy~1x~0: /options/persist/mod:mode`},
		{`{"capabilities":{"confrim":true}}`, `/capabilities/confrim:confirm`},
		{`{"session":{"clientID":"a","lease":{"idle":1},"jobs":{"grace":1},"resume":[{"handle":1},{"handle":2,"form":0}]}}`,
			`/session/clientID:clientId /session/jobs/grace:graceMs /session/lease/idle:idleMs /session/resume/1/form:from`},
	} {
		ignored, err := DecodeInitialize([]byte(c.params), true, &InitializeParams{})
		var told []string
		for _, f := range ignored {
			told = append(told, f.Pointer+":"+f.DidYouMean)
			if !strings.Contains(f.Message, "ignored") {
				t.Errorf("%s: message %q", c.params, f.Message)
			}
		}
		if got := strings.Join(told, " "); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v\nwant %q", c.params, got, err, c.want)
		}
	}
	var many strings.Builder
	for i := range 500 {
		fmt.Fprintf(&many, `"x%03d":1,`, i)
	}
	ignored, err := DecodeInitialize([]byte(`{`+many.String()+`"processId":7}`), true, &InitializeParams{})
	if err != nil || len(ignored) != maxFields || ignored[maxFields-1].Pointer != "/x019" {
		t.Errorf("of 500: %d, %v", len(ignored), err)
	}
}

// TestIgnoredWithoutSessions: a server without sessions ignores what is about them, whatever it is, and does not suggest
// it.
func TestIgnoredWithoutSessions(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`{"session":"work"}`, `/session:`},
		{`{"session":{"share":5,"shared":"none"}}`, `/session:`},
		{`{"session":{"clientId":"a"},"sesion":1}`, `/sesion: /session:`},
		{`{"capabilities":{"ping":"yes","pings":1,"ack":true}}`, `/capabilities/ping: /capabilities/pings:`},
		{`{"options":{"limits":{"pingMs":5,"lostMs":{},"lostM":1,"maxJobs":1}}}`,
			`/options/limits/lostM: /options/limits/lostMs: /options/limits/pingMs:`},
		{`{"capabilities":null}`, `error`},
		{`{"options":{"limits":[]}}`, `error`},
	} {
		var into InitializeParams
		ignored, err := DecodeInitialize([]byte(c.params), false, &into)
		var told []string
		for _, f := range ignored {
			told = append(told, f.Pointer+":"+f.DidYouMean)
		}
		if err != nil {
			told = []string{"error"}
		}
		if got := strings.Join(told, " "); got != c.want || into.Session != nil {
			t.Errorf("%s: got %q, %v\nwant %q", c.params, got, err, c.want)
		}
	}
}

// TestProtecting: a name that is nearly that of a protecting member is refused, and the error says where that belongs.
func TestProtecting(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`{"options":{"allowComands":["ls"]}}`, `/options/allowComands /options/allowCommands`},
		{`{"options":{"AllowCommands":["ls"],"x":1}}`, `/options/AllowCommands /options/allowCommands`},
		{`{"options":{"allow":["ls"]}}`, `/options/allow /options/allowCommands`},
		{`{"options":{"deniedCommands":["ls"]}}`, `/options/deniedCommands /options/denyCommands`},
		{`{"options":{"comfirm":{"start":"ask"}}}`, `/options/comfirm /options/confirm`},
		{`{"options":{"secretinput":"clientOnly"}}`, `/options/secretinput /options/secretInput`},
		{`{"options":{"confirm":{"strat":"ask"}}}`, `/options/confirm/strat /options/confirm/start`},
		{`{"options":{"env":{"exlude":["A"]}}}`, `/options/env/exlude /options/env/exclude`},
		{`{"options":{"allowedDirectories":["/"]}}`, `/options/allowedDirectories /allowedDirectories`},
		{`{"allowedDirectory":["/"]}`, `/allowedDirectory /allowedDirectories`},
		{`{"allowCommands":[]}`, `/allowCommands /options/allowCommands`},
		{`{"confirm":{"start":"ask"}}`, `/confirm /options/confirm`},
		{`{"option":{"allowCommands":[]}}`, `/option /options`},
		{`{"session":{"shared":"none"}}`, `/session/shared /session/share`},
		{`{"session":{"roles":"viewer"}}`, `/session/roles /session/role`},
		{`{"session":{"atach":"20261124T080000Z"}}`, `/session/atach /session/attach`},
	} {
		var bad *InvalidError
		_, err := DecodeInitialize([]byte(c.params), true, &InitializeParams{})
		if !errors.As(err, &bad) || len(bad.Fields) != 1 {
			t.Errorf("%s: got %v", c.params, err)
			continue
		}
		at, meant, _ := strings.Cut(c.want, " ")
		if f := bad.Fields[0]; f.Pointer != at || !strings.Contains(f.Message, "did you mean "+meant+"?") || !strings.HasSuffix(meant, f.DidYouMean) {
			t.Errorf("%s: %+v", c.params, f)
		}
	}
}

// TestProtectingExists: the protecting members are in the schema.
func TestProtectingExists(t *testing.T) {
	objects := map[string]string{"": "params", "/options": "options", "/options/confirm": "confirmOptions", "/options/env": "envOptions", "/session": "sessionParams"}
	doc := documents()[base+"initialize"+suffix]
	for at, members := range protecting {
		properties := lookUp(doc, []string{"$defs", objects[at], "properties"}).(document)
		for _, m := range members {
			if properties[m] == nil {
				t.Errorf("%s/%s is no member", at, m)
			}
		}
	}
}
