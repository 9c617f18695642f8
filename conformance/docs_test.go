package conformance

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocumented checks that both descriptions of the language contain every word of it.
func TestDocumented(t *testing.T) {
	words := []string{"protocol:", "level:", "needs:", "lacks:", "framing:", "args:", "initialize: no", "within", "@exactly", "@unordered", "@len", "@repeat", "...", "~`", "unanswered", "invalid", "until NAME", "or null", "ends", "contains", "from OFFSET", "of LABEL", "base64"}
	words = append(words, slices.Sorted(maps.Keys(verbs))...)
	words = append(words, kindNames()...)
	words = append(words, slices.Sorted(maps.Keys(signalNumbers))...)
	words = append(words, needKinds...)
	words = append(words, levels...)
	for _, v := range []Verdict{Passed, Failed, Skipped, Wrong, Known} {
		words = append(words, string(v))
	}
	for _, file := range []string{"doc.go", "../docs/conformance.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if !strings.Contains(string(data), w) {
				t.Errorf("%s does not have %q", file, w)
			}
		}
	}
}

// TestFirstSession checks that the first session in the documentation is valid.
func TestFirstSession(t *testing.T) {
	data, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "```text\nWhat a program prints")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("there is no first session")
	}
	s, err := Parse("hello.txtar", []byte("What a program prints"+text))
	if err != nil || len(s.steps) != 4 || s.steps[2].String() != "hello.txtar:10:1" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSecondSession checks that the session with a client that comes back in the documentation is valid.
func TestSecondSession(t *testing.T) {
	data, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	const first = "A job lives on when its client is cut off."
	_, rest, ok := strings.Cut(string(data), "```text\n"+first)
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("there is no such session")
	}
	if s, err := Parse("back.txtar", []byte(first+text)); err != nil || s.Level != shared {
		t.Errorf("%+v, %v", s, err)
	}
}
