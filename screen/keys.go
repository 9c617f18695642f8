package screen

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

// A modifier is a bit of the number that xterm, after adding one, sends as a key's parameter.
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

// KeyNames returns the names that Encode accepts, sorted. Modifiers and single characters are returned as patterns.
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
	return append(names, "Ctrl-<letter>", "Ctrl-<ASCII character>", "Alt-<character>", "Ctrl-<key>", "Alt-<key>", "Shift-<key>")
}

// Encode returns the bytes that a terminal in these modes sends for the keys, in order: those of xterm with its
// PC-style keys, with Escape first for Alt (modifyOtherKeys and the keypad's mode change nothing here: no key of the
// keypad has a name). An unknown name is an error, and nothing is encoded.
func Encode(names []string, m Modes) ([]byte, error) {
	var out []byte
	for _, name := range names {
		b, ok := encode(name, m)
		if !ok {
			return nil, fmt.Errorf("unknown key %q", name)
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
	if c, ok := charKeys[key]; ok {
		return encodeNamed(key, c, mods, m), true
	}
	return encodeChar(key, mods)
}

// splitModifiers removes each modifier from the front at most once, in any order.
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

// encodeNamed encodes a key that sends a character. It ignores a modifier that makes no difference.
func encodeNamed(key string, c byte, mods modifier, m Modes) []byte {
	out := []byte{c}
	switch {
	case key == "Tab" && mods&shift != 0:
		return []byte("\x1b[Z") // a key of its own, which has no modifiers
	case key == "Backspace" && (mods&ctrl != 0) != m.BackarrowKey:
		out[0] = '\b'
	case key == "Space" && mods&ctrl != 0:
		out[0] = 0
	case key == "Enter" && m.NewLine:
		out = append(out, '\n')
	}
	return prefixAlt(out, mods)
}

// encodeChar encodes a single character with modifiers. A character without a modifier, or with Shift only, is text and
// not a key. The keyboard decides the result of Shift for anything but a letter: the caller has to name that character
// itself.
func encodeChar(key string, mods modifier) ([]byte, bool) {
	c, size := utf8.DecodeRuneInString(key)
	switch {
	case mods&(ctrl|alt) == 0, size != len(key), c == utf8.RuneError, c == ' ', !unicode.IsGraphic(c):
		return nil, false
	case mods&shift != 0 && unicode.IsLower(c):
		c = unicode.ToUpper(c)
	case mods&shift != 0 && !unicode.IsUpper(c) && !strings.ContainsRune(shifted, c):
		return nil, false
	}
	if mods&ctrl != 0 {
		if c > '~' {
			return nil, false
		}
		c = control(c)
	}
	return prefixAlt(utf8.AppendRune(nil, c), mods), true
}

// shifted are the characters that need Shift on most keyboards: their names may include Shift or not.
const shifted = `~!@#$%^&*()_+{}|:"<>?`

// prefixAlt puts Escape first if Alt is set, as terminals do.
func prefixAlt(b []byte, mods modifier) []byte {
	if mods&alt != 0 {
		return append([]byte{0x1b}, b...)
	}
	return b
}

// control returns the character that Ctrl makes of c, as in X11: the digits from 2 to 8 stand for the controls that
// have no letter. Characters that Ctrl does not change are returned as they are.
func control(c rune) rune {
	switch {
	case c >= '@' && c <= '~':
		return c & 0x1f
	case c == '2':
		return 0
	case c >= '3' && c <= '7':
		return c - '3' + 0x1b
	case c == '8', c == '?':
		return del
	case c == '/':
		return 0x1f
	}
	return c
}
