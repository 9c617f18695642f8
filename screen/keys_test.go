package screen

import (
	"strconv"
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

// TestKeyTable compares with the bytes of xterm for its PC-style keys: the final byte or number of each, and the
// modifiers as one more than the sum of Shift 1, Alt 2 and Ctrl 4.
func TestKeyTable(t *testing.T) {
	mods := []string{"", "Shift-", "Alt-", "Alt-Shift-", "Ctrl-", "Ctrl-Shift-", "Ctrl-Alt-", "Ctrl-Alt-Shift-"}
	for key, ends := range map[string][2]string{ // bare and with modifiers, M
		"Up": {"[A", "[1;MA"}, "Down": {"[B", "[1;MB"}, "Right": {"[C", "[1;MC"}, "Left": {"[D", "[1;MD"},
		"Home": {"[H", "[1;MH"}, "End": {"[F", "[1;MF"},
		"Insert": {"[2~", "[2;M~"}, "Delete": {"[3~", "[3;M~"}, "PageUp": {"[5~", "[5;M~"}, "PageDown": {"[6~", "[6;M~"},
		"F1": {"OP", "[1;MP"}, "F2": {"OQ", "[1;MQ"}, "F3": {"OR", "[1;MR"}, "F4": {"OS", "[1;MS"},
		"F5": {"[15~", "[15;M~"}, "F6": {"[17~", "[17;M~"}, "F7": {"[18~", "[18;M~"}, "F8": {"[19~", "[19;M~"},
		"F9": {"[20~", "[20;M~"}, "F10": {"[21~", "[21;M~"}, "F11": {"[23~", "[23;M~"}, "F12": {"[24~", "[24;M~"},
	} {
		for i, mod := range mods {
			want := "\x1b" + ends[0]
			if i > 0 {
				want = "\x1b" + strings.Replace(ends[1], "M", strconv.Itoa(i+1), 1)
			}
			for _, m := range []Modes{{}, {ApplicationKeypad: true, NewLine: true, BackarrowKey: true}} {
				if got, err := Encode([]string{mod + key}, m); err != nil || string(got) != want {
					t.Errorf("%s%s: %q, %v; want %q", mod, key, got, err, want)
				}
			}
		}
	}
	for key, want := range map[string][8]string{
		"Enter":     {"\r", "\r", "\x1b\r", "\x1b\r", "\r", "\r", "\x1b\r", "\x1b\r"},
		"Tab":       {"\t", "\x1b[Z", "\x1b\t", "\x1b[Z", "\t", "\x1b[Z", "\x1b\t", "\x1b[Z"},
		"Space":     {" ", " ", "\x1b ", "\x1b ", "\x00", "\x00", "\x1b\x00", "\x1b\x00"},
		"Backspace": {"\x7f", "\x7f", "\x1b\x7f", "\x1b\x7f", "\b", "\b", "\x1b\b", "\x1b\b"},
		"Escape":    {"\x1b", "\x1b", "\x1b\x1b", "\x1b\x1b", "\x1b", "\x1b", "\x1b\x1b", "\x1b\x1b"},
		"a":         {"", "", "\x1ba", "\x1bA", "\x01", "\x01", "\x1b\x01", "\x1b\x01"},
		"A":         {"", "", "\x1bA", "\x1bA", "\x01", "\x01", "\x1b\x01", "\x1b\x01"},
		"1":         {"", "", "\x1b1", "", "1", "", "\x1b1", ""},
		"2":         {"", "", "\x1b2", "", "\x00", "", "\x1b\x00", ""},
		"@":         {"", "", "\x1b@", "\x1b@", "\x00", "\x00", "\x1b\x00", "\x1b\x00"},
		"é":         {"", "", "\x1bé", "\x1bÉ", "", "", "", ""},
		"日":         {"", "", "\x1b日", "", "", "", "", ""},
		"[":         {"", "", "\x1b[", "", "\x1b", "", "\x1b\x1b", ""},
	} {
		for i, mod := range mods {
			got, err := Encode([]string{mod + key}, Modes{})
			if string(got) != want[i] || (err == nil) != (want[i] != "") {
				t.Errorf("%s%s: %q, %v; want %q", mod, key, got, err, want[i])
			}
		}
	}
}

// TestControlTable compares with the control characters that X11 makes of every character with Ctrl.
func TestControlTable(t *testing.T) {
	same := "!\"#$%&'()*+,-.019:;<=>"
	for _, c := range same {
		if got, err := Encode([]string{"Ctrl-" + string(c)}, Modes{}); err != nil || string(got) != string(c) {
			t.Errorf("Ctrl-%c: %q, %v", c, got, err)
		}
	}
	count := len(same)
	for keys, want := range map[string]byte{
		"@2`": 0, "[3{": 0x1b, "\\4|": 0x1c, "]5}": 0x1d, "^6~": 0x1e, "_7/": 0x1f, "8?": 0x7f,
	} {
		count += len(keys)
		for _, c := range keys {
			if got, err := Encode([]string{"Ctrl-" + string(c)}, Modes{}); err != nil || string(got) != string(want) {
				t.Errorf("Ctrl-%c: %q, %v; want %q", c, got, err, want)
			}
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		count += 2
		for _, key := range []string{"Ctrl-" + string(c), "Ctrl-" + string(c-'a'+'A')} {
			if got, err := Encode([]string{key}, Modes{}); err != nil || string(got) != string(c-'a'+1) {
				t.Errorf("%s: %q, %v", key, got, err)
			}
		}
	}
	if count != '~'-' ' {
		t.Errorf("%d characters of %d are in the tables", count, '~'-' ')
	}
}

func TestKeysInModes(t *testing.T) {
	for _, c := range []struct{ stream, keys, want string }{
		{"\x1b[?1h", "Up Home Ctrl-Up", "\x1bOA\x1bOH\x1b[1;5A"},
		{"\x1b[?1h\x1b[!p", "Up", "\x1b[A"},
		{"\x1b=", "Up Enter F1 Delete", "\x1b[A\r\x1bOP\x1b[3~"},
		{"\x1b[?67h", "Backspace Ctrl-Backspace Alt-Backspace", "\b\x7f\x1b\b"},
		{"\x1b[?67h\x1b[?67l", "Backspace", "\x7f"},
		{"\x1b[20h", "Enter Alt-Enter Ctrl-M", "\r\n\x1b\r\n\r"},
		{"\x1b[20h\x1b[20l", "Enter", "\r"},
		{"\x1b[?20h", "Enter", "\r"},
	} {
		got, err := Encode(strings.Fields(c.keys), scan(c.stream, 100).Modes)
		if err != nil || string(got) != c.want {
			t.Errorf("%q, %s: %q, %v; want %q", c.stream, c.keys, got, err, c.want)
		}
	}
}

func TestEncodeUnknownSendsNothing(t *testing.T) {
	for _, name := range []string{
		"enter", "Return", "", "x", "é", "Ctrl-", "Ctrl-Ctrl-C", "Ctrl-é", "F13", "F0", "Shift-1", "Shift-a", "Ctrl-Shift-1", "Alt-", "Ctrl-Foo",
		"Alt-ab", "Alt-\x01", "Alt-\xff", "Alt-\uFFFD", "Alt- ", "Alt-\u200b", "Alt-\n", "Keypad0", "Meta-x",
	} {
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
