package screen

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// csiKeys send CSI (or SS3) and a final byte; modifiers are a parameter before it.
var csiKeys = map[string]byte{
	"Up": 'A', "Down": 'B', "Right": 'C', "Left": 'D', "Home": 'H', "End": 'F',
}

// ss3Keys send SS3 and a final byte, whatever the mode, and CSI with modifiers.
var ss3Keys = map[string]byte{"F1": 'P', "F2": 'Q', "F3": 'R', "F4": 'S'}

// tildeKeys send CSI, a number and a tilde.
var tildeKeys = map[string]int{
	"Insert": 2, "Delete": 3, "PageUp": 5, "PageDown": 6, "F5": 15, "F6": 17, "F7": 18,
	"F8": 19, "F9": 20, "F10": 21, "F11": 23, "F12": 24,
}

// charKeys send one character.
var charKeys = map[string]byte{
	"Enter": '\r', "Tab": '\t', "Space": ' ', "Backspace": 0x7f, "Escape": 0x1b,
}

// A modifier is the bit that xterm adds, plus one, as a key's parameter.
type modifier int

const (
	shift modifier = 1 << iota
	alt
	ctrl
)

var modifiers = []struct {
	prefix string
	bit    modifier
}{{"Ctrl-", ctrl}, {"Alt-", alt}, {"Shift-", shift}}

// KeyNames returns the names that Encode takes, sorted; modifiers and single
// characters are told as patterns.
func KeyNames() []string {
	var names []string
	for n := range csiKeys {
		names = append(names, n)
	}
	for n := range ss3Keys {
		names = append(names, n)
	}
	for n := range tildeKeys {
		names = append(names, n)
	}
	for n := range charKeys {
		names = append(names, n)
	}
	sort.Strings(names)
	return append(names, "Ctrl-<letter>", "Alt-<character>", "Ctrl-<key>", "Alt-<key>", "Shift-<key>")
}

// Encode returns what a terminal in these modes sends for the keys, in order. An
// unknown name is an error, and nothing is encoded.
func Encode(names []string, m Modes) ([]byte, error) {
	var out []byte
	for _, name := range names {
		b, ok := encode(name, m)
		if !ok {
			return nil, fmt.Errorf("there is no key %q", name)
		}
		out = append(out, b...)
	}
	return out, nil
}

func encode(name string, m Modes) ([]byte, bool) {
	key, mods := splitModifiers(name)
	if final, ok := csiKeys[key]; ok {
		if mods == 0 && m.ApplicationCursor {
			return []byte{0x1b, 'O', final}, true
		}
		return csi(1, mods, final), true
	}
	if final, ok := ss3Keys[key]; ok {
		if mods == 0 {
			return []byte{0x1b, 'O', final}, true
		}
		return csi(1, mods, final), true
	}
	if n, ok := tildeKeys[key]; ok {
		return csi(n, mods, '~'), true
	}
	return encodeChar(key, mods)
}

// splitModifiers takes each modifier off the front at most once, in any order.
func splitModifiers(name string) (string, modifier) {
	var mods modifier
	for again := true; again; {
		again = false
		for _, m := range modifiers {
			if rest, ok := strings.CutPrefix(name, m.prefix); ok && rest != "" && mods&m.bit == 0 {
				name, mods, again = rest, mods|m.bit, true
			}
		}
	}
	return name, mods
}

func csi(n int, mods modifier, final byte) []byte {
	b := []byte("\x1b[")
	switch {
	case mods != 0:
		b = strconv.AppendInt(b, int64(n), 10)
		b = append(b, ';')
		b = strconv.AppendInt(b, int64(mods)+1, 10)
	case final == '~':
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, final)
}

// encodeChar encodes a named or single character. Alt sends Escape first, as
// terminals do.
func encodeChar(key string, mods modifier) ([]byte, bool) {
	c, named := charKeys[key]
	if !named {
		if mods&(ctrl|alt) == 0 || len(key) != 1 || key[0] <= ' ' || key[0] > '~' {
			return nil, false // a bare character is text, not a key
		}
		c = key[0]
	}
	if mods&shift != 0 {
		switch {
		case key == "Tab" && mods&ctrl == 0:
			return prefixAlt([]byte("\x1b[Z"), mods), true
		case c >= 'a' && c <= 'z' && mods&ctrl == 0:
			c -= 'a' - 'A'
		case !named && mods&ctrl == 0:
			return nil, false
		}
	}
	if mods&ctrl != 0 {
		var ok bool
		if c, ok = control(key, c); !ok {
			return nil, false
		}
	}
	return prefixAlt([]byte{c}, mods), true
}

func prefixAlt(b []byte, mods modifier) []byte {
	if mods&alt != 0 {
		return append([]byte{0x1b}, b...)
	}
	return b
}

// control is what Ctrl makes of a character, where terminals have it.
func control(key string, c byte) (byte, bool) {
	switch {
	case c >= 'a' && c <= 'z':
		return c - 'a' + 1, true
	case c >= '@' && c <= '_':
		return c - '@', true
	case c == '?':
		return 0x7f, true
	}
	switch key {
	case "Space":
		return 0, true
	case "Backspace":
		return '\b', true
	case "Enter", "Tab", "Escape":
		return c, true
	case "/":
		return 0x1f, true
	}
	return 0, false
}
