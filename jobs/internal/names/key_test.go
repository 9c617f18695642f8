package names

import (
	"strings"
	"testing"
)

func TestKeyAdvice(t *testing.T) {
	for name, want := range map[string]string{
		"q":           `{"text": "q"}`,
		"é":           `{"text": "é"}`,
		"ctrl-c":      `did you mean "Ctrl-C"?`,
		"CTRL+C":      `did you mean "Ctrl-C"?`,
		"control-c":   `did you mean "Ctrl-C"?`,
		"C-c":         `did you mean "Ctrl-C"?`,
		"M-x":         `did you mean "Alt-X"?`,
		"S-tab":       `did you mean "Shift-Tab"?`,
		"^C":          `did you mean "Ctrl-C"?`,
		"^c":          `did you mean "Ctrl-C"?`,
		"^[":          `did you mean "Ctrl-["?`,
		"^":           `{"text": "^"}`,
		"^up":         "data.allowed",
		"enter":       `did you mean "Enter"?`,
		"Entr":        `did you mean "Enter"?`,
		"Return":      `did you mean "Enter"?`,
		"ESC":         `did you mean "Escape"?`,
		"alt-left":    `did you mean "Alt-Left"?`,
		"shift-tab":   `did you mean "Shift-Tab"?`,
		"f5":          `did you mean "F5"?`,
		"Page_Up":     "data.allowed",
		"hello world": "data.allowed",
		"-":           `{"text": "-"}`,
		"--":          "data.allowed",
	} {
		if got := KeyAdvice(name); !strings.Contains(got, want) {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
}
