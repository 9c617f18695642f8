package screen

import (
	"strings"
	"testing"
)

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		keys string
		app  bool
		want string
	}{
		{"Enter", false, "\r"}, {"Tab", false, "\t"}, {"Escape", false, "\x1b"},
		{"Space", false, " "}, {"Backspace", false, "\x7f"}, {"Delete", false, "\x1b[3~"},
		{"Up Down Left Right", false, "\x1b[A\x1b[B\x1b[D\x1b[C"},
		{"Up Home", true, "\x1bOA\x1bOH"},
		{"Ctrl-Right", true, "\x1b[1;5C"}, {"Shift-Alt-Ctrl-End", false, "\x1b[1;8F"},
		{"Ctrl-C", false, "\x03"}, {"Ctrl-c", false, "\x03"}, {"Ctrl-Z", false, "\x1a"},
		{"Ctrl-[", false, "\x1b"}, {"Ctrl-Space", false, "\x00"}, {"Ctrl-?", false, "\x7f"},
		{"Ctrl-_", false, "\x1f"}, {"Ctrl-\\", false, "\x1c"}, {"Ctrl-]", false, "\x1d"},
		{"Alt-x", false, "\x1bx"}, {"Alt-X", false, "\x1bX"}, {"Shift-Alt-x", false, "\x1bX"},
		{"Alt--", false, "\x1b-"}, {"Ctrl-Alt-a", false, "\x1b\x01"},
		{"Shift-Tab", false, "\x1b[Z"}, {"Alt-Enter", false, "\x1b\r"},
		{"F1 F4", true, "\x1bOP\x1bOS"}, {"Shift-F1", false, "\x1b[1;2P"},
		{"F5 F12", false, "\x1b[15~\x1b[24~"}, {"Ctrl-PageUp", false, "\x1b[5;5~"},
		{"Insert", false, "\x1b[2~"}, {"Shift-Enter", false, "\r"},
	} {
		got, err := Encode(strings.Fields(c.keys), Modes{ApplicationCursor: c.app})
		if err != nil || string(got) != c.want {
			t.Errorf("Encode(%s, app %v) = %q, %v; want %q", c.keys, c.app, got, err, c.want)
		}
	}
}

func TestEncodeUnknownSendsNothing(t *testing.T) {
	for _, name := range []string{"enter", "Return", "", "x", "Ctrl-", "Ctrl-Ctrl-C", "Ctrl-é", "F13", "Shift-1", "Ctrl-1", "Alt-", "Ctrl-Foo"} {
		got, err := Encode([]string{"Enter", name}, Modes{})
		if err == nil || got != nil {
			t.Errorf("Encode(%q) = %q, want an error and nothing sent", name, got)
		}
	}
}

func TestEveryListedNameIsEncoded(t *testing.T) {
	for _, name := range KeyNames() {
		if strings.Contains(name, "<") {
			continue
		}
		for _, mod := range []string{"", "Ctrl-", "Alt-", "Shift-"} {
			if _, err := Encode([]string{mod + name}, Modes{}); err != nil {
				t.Errorf("%s%s: %v", mod, name, err)
			}
		}
	}
}
