package main

import (
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestLinePattern checks how the patterns of models are rewritten.
func TestLinePattern(t *testing.T) {
	const nl, last, start = anyLineEnd, lastLineEnd, lineStart
	for _, test := range []struct {
		pattern, want string
		breaks        bool
	}{
		{``, ``, false},
		{`ED> $`, `ED> $`, false},
		{`aa\nbb`, `aa` + nl + `bb`, true},
		{"aa\nbb", `aa` + nl + `bb`, true},
		{`a\n+b\n{2}c\n?`, `a` + nl + `+b` + nl + `{2}c` + nl + `?`, true},
		{`(?:\n|x)(?<n>\n)\k<n>(?<=\n)(?<!\n)(?!\n)`, `(?:` + nl + `|x)(?<n>` + nl + `)\k<n>(?<=` + nl + `)(?<!` + nl + `)(?!` + nl + `)`, true},
		{`^a|(^b)`, start + `a|(` + start + `b)`, false},
		{`[^\n]*[\n^$]\n`, `[^\n]*[\n^$]` + last, true},
		{`[]\n[^]\n[\]^\n]^`, `[]` + nl + `[^]` + nl + `[\]^\n]` + start, true},
		{`\\n\^\$\[\n`, `\\n\^\$\[` + last, true},
		{`\\\n`, `\\` + last, true},
		{`aa\r\nbb`, `aa\r\nbb`, true},
		{`^(?:\r\n|\n)^`, start + `(?:\r\n|\n)` + start, true},
		{`[^\r\n]*\n`, `[^\r\n]*` + last, true},
		{`\\r\n`, `\\r` + last, true},
		{`ü\ü\n§`, `ü\ü` + nl + `§`, true},
		{`(`, `(`, false},
		{`^*`, start + `*`, false},
		{`\n**`, nl + `**`, true},
		{`[\n^`, `[\n^`, false},
		{`\n\`, nl + `\`, true},
		{"\xff\\\xff^", "\xff\\\xff" + start, false},
	} {
		if got := linePatternOf(test.pattern); got.text != test.want || got.breaks != test.breaks {
			t.Errorf("%q: %+v, not %q", test.pattern, got, test.want)
		}
	}
}

// TestLinePatternMatches matches the patterns of models against the output of a terminal.
func TestLinePatternMatches(t *testing.T) {
	h := startHost(t, nil, "-tools", "all")
	const inWait = "in a wait"
	many := strings.Repeat("ab\\n", 30) + ">>> x\\n"
	for _, test := range []struct {
		prints  string
		pattern string
		matches bool
		why     string
	}{
		{`aa\nbb\n`, `aa\nbb`, true, ""},
		{`aa\nbb\n`, "aa\nbb", true, ""},
		{`aa\nbb\n`, `aa\r\nbb`, true, ""},
		{`aa\nbb\n`, `aa\r?\nbb`, true, ""},
		{`aa\nbb\n`, `a.*\n(.*\n)*`, true, ""},
		{`aa\nbb\n`, `^bb$`, true, ""},
		{`aa\nbb\n`, `^aa$\n^bb$`, true, ""},
		{`aa\nbb\n`, `[^\n]+\nbb`, true, ""},
		{`aa\nbb\n`, `(?<=\n)bb`, true, ""},
		{`aa\nbb\n`, `(?<!\n)bb`, false, ""},
		{`aa\nbb\n`, `aa(?!\n)`, false, ""},
		{`aa\nbb\n`, `aa\n\nbb`, false, ""},
		{`aa\nbb\n`, `aa\n{2}`, false, ""},
		{`aa\nbb\n`, `^\s+\S`, false, ""}, // No line begins between CR and LF.
		{`aa\nbb\n`, `^\n`, false, ""},
		{`aa\n\nbb\n`, `^\n`, true, ""},
		{`aa\n\nbb\n`, `aa\n{2}bb`, true, ""},
		{`aa\n\nbb\n`, `(?<x>a)\k<x>\n(?<y>\n)b\k<x>?`, true, ""},
		{`aa\n\nbb\n`, `(a)\1\n(\n)b\2?`, true, ""}, // The group numbers stay the same.
		{`cc\r\ndd\n`, `cc\ndd`, true, ""},          // This gives CR CR LF, because the program has written CR LF.
		{`aa\n\rbb\n`, `aa\nbb`, true, ""},          // CR after a line end moves nothing, as after a readline prompt.
		{`aa\n\rbb\n`, `^bb$`, true, ""},
		{`aa\n\rbb\n`, `aa\n^bb`, true, ""},
		{`aa\n\rbb\n`, `^\s+\S`, false, inWait},
		{`aa\n\n\rbb\n`, `aa\n\nbb`, true, ""},
		{`aa\n\nbb\n`, `aa\n^\n^bb`, true, ""},
		{`aa\n\nbb\n`, `aa\n^bb`, false, ""},
		{`aa\n\nbb\n`, `aa\n{3}`, false, ""},
		{`1%%\r2%%\rdone\n`, `^done$`, true, ""},
		{`a\\nb\n`, `a\\nb`, true, ""},
		{strings.ReplaceAll(many, "ab", `\rab`), `^([^\n]*\n)+>>> $`, false, "so where lines begin with CR"},
		{many, `^([^\n]*\n)+>>> $`, false, "one way to read each line"},
		{many, `^(.*\n)+>>> $`, false, "the same with a dot"},
	} {
		var r shellResult
		h.call("shell", args{"command": "printf '" + test.prints + "'", "wait": "exit"}, &r)
		var w schema.JobWaitResult
		err := h.front.ask(h.ctx, "job/wait", schema.JobWaitParams{
			Handle: handleID(r.Job), From: fromStart, Until: []schema.Condition{linePatternOf(test.pattern).condition()}, TimeoutMs: schema.NullOf[int64](),
		}, &w)
		if err != nil {
			t.Fatalf("%s: %v", test.pattern, err)
		}
		want := schema.OutcomeReasonPattern
		if !test.matches {
			want = schema.OutcomeReasonExit
		}
		if got := w.Outcome.Reason; got != want {
			t.Errorf("%.40q, %q %s: %s, not %s", test.prints, test.pattern, test.why, got, want)
		}
		if test.why == inWait {
			continue // A line search sees the CR at the start of a line.
		}
		// A pattern that is found while the output arrives is found in it later.
		var found shellOutputResult
		if h.call("shell_output", args{"job": fmt.Sprint(r.Job), "find": test.pattern}, &found); len(found.Matches) > 0 != test.matches {
			t.Errorf("%.40q, %q %s: shell_output finds %+v", test.prints, test.pattern, test.why, found.Matches)
		}
	}
}

// TestPatternsOfTools checks the tools that take a pattern.
func TestPatternsOfTools(t *testing.T) {
	h := startHost(t, nil, "-tools", "all")
	const prints = `while printf 'aa\nbb\n'; read -r x; do :; done; exec cat`
	var r runShellResult
	if h.call("run_shell_command", args{"command": prints, "ai_callback_pattern": `aa\n^bb$`, "pattern_timeout": 3600}, &r); !r.PatternMatched {
		t.Errorf("%+v", r)
	}
	var s sendInputResult
	if h.call("send_input", args{"handle": r.Handle, "input": "on", "ai_callback_pattern": `aa\n^bb$`}, &s); !s.PatternMatched {
		t.Errorf("%+v", s)
	}
	var e shellResult
	if h.call("shell", args{"command": prints, "wait": "none", "pattern": `aa\n^bb$`, "timeout_seconds": 3600}, &e); e.EndedBy != "pattern" {
		t.Errorf("%+v", e)
	}
	var o shellOutputResult
	for _, find := range []string{`aa\n^bb$`, `^bb$`, `aa[^]+bb`} {
		if h.call("shell_output", args{"job": "1", "find": find}, &o); len(o.Matches) == 0 {
			t.Errorf("%s: %+v", find, o)
		}
	}

	// An invalid pattern is rejected as it was written, and starts nothing.
	for _, pattern := range []string{`(`, `^*`, `\n**`, `[z-a]`, `\n\`, "a(^|$"} {
		for tool, a := range map[string]args{
			"run_shell_command": {"command": "touch there", "ai_callback_pattern": pattern},
			"send_input":        {"handle": 1, "input": "there", "ai_callback_pattern": pattern},
			"shell":             {"command": "touch there", "pattern": pattern},
			"shell_output":      {"job": "1", "find": pattern},
		} {
			got := h.fail(tool, a)
			contains(t, got, "is not an ECMAScript regular expression")
			for _, ours := range []string{`\r`, "(?"} {
				if strings.Contains(got, ours) {
					t.Errorf("%s %q: the answer shows the internal part of the pattern: %s", tool, pattern, got)
				}
			}
		}
	}
	long := strings.Repeat(`\n`, maxPattern/2)
	contains(t, h.fail("run_shell_command", args{"command": "touch there", "ai_callback_pattern": long}), "ai_callback_pattern has 67575 characters when its line ends", "may have at most 4096")
	contains(t, h.fail("send_input", args{"handle": 1, "input": "there", "ai_callback_pattern": long}), "ai_callback_pattern has 67575 characters when its line ends")
	contains(t, h.fail("shell", args{"command": "touch there", "pattern": long}), "pattern has 67575 characters when its line ends")
	contains(t, h.fail("shell_output", args{"job": "1", "find": long}), "find has 67575 characters when its line ends")
	if got := h.call("CliRun", args{"command": "ls"}, nil); strings.Contains(got, "there") {
		t.Errorf("it was started: %s", got)
	}
}
