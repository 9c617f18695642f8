package main

import (
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestInvalidBraceKeys gives CliWrite braces that mean something else, as in shells: they are rejected, and never taken for
// keys.
func TestInvalidBraceKeys(t *testing.T) {
	for input, want := range map[string]string{
		"echo ${HOME}/x":      `"${HOME}", and a brace after $ begins no key`,
		"echo ${END}":         `"${END}", and a brace after $`,
		"echo ${F1}":          `"${F1}", and a brace after $`,
		"echo ${home}":        `"${home}", and a brace after $`,
		"echo ${PATH}":        `"${PATH}", and a brace after $ begins no key. For a variable, write {{ instead of the brace`,
		"{Enter}":             "keys are in lower case. Did you mean {enter}?",
		"{Ctrl+C}":            "Did you mean {ctrl+c}?",
		"{CTRL+C}":            "Did you mean {ctrl+c}?",
		"awk '{print $1}'":    `"{print $1}", which is not a key`,
		"echo a; echo {up":    "never closed",
		"echo ${up}; {enter}": "a brace after $ begins no key",

		strings.Repeat("l\n", mostItems/2+1): "input has 4098 keys and pieces of text (a line end is a key), and one call takes at most 4096. Send it in several calls",
	} {
		items, err := parseInput(input)
		if err == nil {
			t.Errorf("%q: %+v", input, items)
			continue
		}
		contains(t, err.Error(), want)
	}
}

// TestKeysAndBraces splits input into text and keys.
func TestKeysAndBraces(t *testing.T) {
	text := func(s string) schema.SendItem { return schema.SendItem{Text: &s} }
	key := func(s string) schema.SendItem { return schema.SendItem{Key: &s} }
	for input, want := range map[string][]schema.SendItem{
		"echo ${{HOME}{enter}": {text("echo ${HOME}"), key("Enter")},
		"{ctrl+C}{ctrl+c}":     {key("Ctrl-C"), key("Ctrl-C")},
		"{alt+x}{alt+X}{f12}":  {key("Alt-x"), key("Alt-X"), key("F12")},
		"a$\nb":                {text("a$"), key("Enter"), text("b")},
		"{{{enter}":            {text("{"), key("Enter")},

		strings.Repeat("\n", mostItems): slices.Repeat([]schema.SendItem{key("Enter")}, mostItems),
	} {
		items, err := parseInput(input)
		if got := string(encode(items)); err != nil || got != string(encode(want)) {
			t.Errorf("%q: %s, %v", input, got, err)
		}
	}
}
