package main

import (
	"strings"
	"testing"
)

// TestBlankOutputText calls the tools after a program has written nothing but blank lines: they answer with the usual
// text, and not with the JSON that replaces a missing text.
func TestBlankOutputText(t *testing.T) {
	h := startHost(t, nil, "-tools", "all", "-confirm", "none")
	h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
	for _, test := range []struct {
		tool string
		args args
		want string
	}{
		{"read_shell", args{"pid": 1}, "(empty)"},
		{"send_input", args{"handle": 1, "input": "", "ai_callback_pattern": `\n`}, "(empty)"},
		{"read_shell", args{"pid": 1}, "(empty)"},
		{"write_to_shell", args{"pid": 1, "special_keys": []string{"Enter"}}, "Current screen:\n(empty)"},
		{"shell", args{"job": "1", "wait": "none", "screen": "text"}, "]\n(empty)"},
		{"shell_output", args{"job": "1", "from": 1 << 20}, "(empty)"},
		{"shell_output", args{"job": "1", "find": "x"}, "Nothing was found."},
	} {
		if got := h.call(test.tool, test.args, nil); !strings.HasSuffix(got, test.want) || strings.Contains(got, "{") {
			t.Errorf("%s %v: %q", test.tool, test.args, got)
		}
	}
}
