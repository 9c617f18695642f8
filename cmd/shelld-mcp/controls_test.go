package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/screen"
)

// controls contains control characters of every kind. Shown as it is, it changes a terminal.
const controls = "\x1b[2J\a\x7f\u009b2J\u0090q\u009c\u009d0;t\u009c\u202edlrow\u202c\u2066x\u2069"

// TestControlsAreVisible checks the results of tools and the contents of resources: they contain no control characters
// except line ends and tabs, whether these come from output, a command, a title or the host.
func TestControlsAreVisible(t *testing.T) {
	for _, set := range []string{"compact", "seeds"} {
		t.Run(set, func(t *testing.T) {
			h := startHost(t, nil, "-tools", set, "-confirm", "none")
			all := ""
			say := func(tool string, a args) string {
				t.Helper()
				res := h.try(tool, a)
				said := text(res) + string(encode(res.StructuredContent))
				all += said
				return said
			}
			line := "echo '" + controls + "'; printf '\\033]0;" + controls + "\\007'; read x"
			shown := "echo '␛[2J␇␡<U+009B>2J<U+0090>q<U+009C><U+009D>0;t<U+009C><U+202E>dlrow<U+202C><U+2066>x<U+2069>'"
			if set == "compact" {
				say("shell", args{"command": line, "description": controls, "screen": "text"})
				say("shell", args{"command": "echo '" + controls + "'"})
				say("shell_output", args{"job": "1"})
				say("shell_output", args{"job": "1", "find": "dlrow", "context": 2})
				say("shell_output", args{"job": controls})
				contains(t, say("shell_jobs", args{"ended": true}), shown)
			} else {
				say("run_shell_command", args{"command": line, "description": controls, "is_background": true})
				h.until(1, schema.Condition{Input: json.RawMessage("true")})
				say("execute_bash_command", args{"command": "echo '" + controls + "'"})
				say("read_shell", args{"pid": 1})
				contains(t, say("jobs", args{}), shown)
			}
			list, err := h.session.ListResources(h.ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list.Resources {
				all += r.Name + r.Title + r.Description
				for _, part := range []string{"stdout", "screen", "info"} {
					res, err := h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: strings.TrimSuffix(r.URI, "stdout") + part})
					if err != nil {
						continue // A job without a terminal has no screen.
					}
					all += res.Contents[0].Text
				}
			}
			if strings.Count(all, "dlrow") < 10 {
				t.Errorf("too little was said: %q", all)
			}
			for i, r := range all {
				if screen.IsControl(r) && r != '\n' && r != '\t' {
					t.Fatalf("%U in %q", r, all[max(0, i-80):min(len(all), i+40)])
				}
			}
		})
	}
}

// TestControlsInJSON checks that control characters in JSON are escaped, and that the value stays the same.
func TestControlsInJSON(t *testing.T) {
	got := string(encode(map[string]string{"a": controls + "<ä\u200d>"}))
	if want := `{"a":"\u001b[2J\u0007\u007f\u009b2J\u0090q\u009c\u009d0;t\u009c\u202edlrow\u202c\u2066x\u2069<ä` + "\u200d" + `>"}`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(got), &back); err != nil || back["a"] != controls+"<ä\u200d>" {
		t.Errorf("%q, %v", back["a"], err)
	}
}
