package redact

import (
	"slices"
	"testing"
)

func TestForms(t *testing.T) {
	for _, c := range []struct {
		value string
		want  []string
	}{
		{"secret", []string{"secret"}},
		{"secre", nil},
		{" secre\n", nil},
		{"\n \t\n\n  \n", nil},
		{"secret\n", []string{"secret"}},
		{"  two words ", []string{"two words"}},
		{"first line\nx\n  second line\n", []string{
			"first line", "first line\nx\n  second line", "first line\r\nx\r\n  second line", "second line",
		}},
		{"first line\r\nsecond line", []string{
			"first line", "first line\nsecond line", "first line\r\nsecond line", "first line\r\r\nsecond line", "second line",
		}},
		{"───\nabcdef", []string{"abcdef", "───\nabcdef", "───\r\nabcdef"}},
		{"------\nabc", []string{"------\nabc", "------\r\nabc"}},
	} {
		got := Forms(c.value)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("Forms(%q) = %q, want %q", c.value, got, c.want)
		}
	}
}

func TestClean(t *testing.T) {
	s := New([]string{"secret", "abcdefghijkl"})
	for _, c := range []struct{ text, clean, part string }{
		{"", "", ""},
		{"echo secret", "echo ***", "echo ***"},
		{"echo sec", "echo sec", "echo ***"},
		{"echo se", "echo se", "echo se"},
		{"secretabcdefgh", "***abcdefgh", "******"},
		{"*** here", "*** here", "*** here"},
		{"echo sec?", "echo sec?", "echo ***"},
		{"echo se?", "echo se?", "echo se?"},
		{"echo secret?", "echo ***?", "echo ***?"},
	} {
		if got := s.Clean(c.text); got != c.clean {
			t.Errorf("Clean(%q) = %q, want %q", c.text, got, c.clean)
		}
		if got := s.CleanPart(c.text); got != c.part {
			t.Errorf("CleanPart(%q) = %q, want %q", c.text, got, c.part)
		}
	}
}

// TestCleanMessage checks that quoted forms of values in a message are replaced.
func TestCleanMessage(t *testing.T) {
	s := New([]string{`pass"word\1`, "ünsichtbar\tX", "<secret>", "plainly"})
	for _, c := range []struct{ text, clean string }{
		{"", ""},
		{`there is no command "plainly"`, `there is no command "***"`},
		{`there is no command "pass\"word\\1"; x`, `there is no command "***"; x`},
		{`it is pass"word\1`, `it is ***`},
		{`"ünsichtbar\tX"`, `"***"`},
		{`"\u003csecret\u003e"`, `"***"`},
		{`"pass\"wo"… is not allowed`, `"***"… is not allowed`},
		{`"plain"…, "pl"… and plai`, `"***"…, "pl"… and plai`},
	} {
		if got := s.CleanMessage(c.text); got != c.clean {
			t.Errorf("CleanMessage(%q) = %q, want %q", c.text, got, c.clean)
		}
	}
}

// TestCleanMessageOfValuesWithEllipses checks values that contain a …, which is then not the mark of a truncated
// text.
func TestCleanMessageOfValuesWithEllipses(t *testing.T) {
	s := New([]string{"pass…word1234", "start…", "…ending", `quo"…ted`, "inside", "12inside34567890"})
	for _, c := range []struct{ text, clean string }{
		{`there is no command "no-such-pass…word1234"`, `there is no command "no-such-***"`},
		{`pass…word1234… and more`, `***… and more`},
		{`"pass…wo"… and more`, `"***"… and more`},
		{`"pass"… and "pass…w"…`, `"pass"… and "***"…`},
		{`"start…"… or "star"…`, `"***"… or "***"…`},
		{`it is …ending, of "…end"… or "…end`, `it is ***, of "***"… or "…end`},
		{`"quo\"…ted"`, `"***"`},
		{`"quo"…ted"`, `"***"`},
		{`12inside34… is cut off`, `***… is cut off`},
		{`"pass…word?"…`, `"***?"…`},
		{`pass…word1234pass…word1234`, `***`},
	} {
		if got := s.CleanMessage(c.text); got != c.clean {
			t.Errorf("CleanMessage(%q) = %q, want %q", c.text, got, c.clean)
		}
	}
}
