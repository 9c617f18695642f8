// Package names has the names of signals and keys, and finds the one that was probably meant by a wrong name.
package names

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/screen"
)

// keyAliases maps other common names of keys to the names used here. The other names are in lower case.
var keyAliases = map[string]string{
	"return": "Enter", "cr": "Enter", "esc": "Escape", "del": "Delete", "ins": "Insert", "bs": "Backspace",
	"pgup": "PageUp", "pgdn": "PageDown", "pgdown": "PageDown", "arrowup": "Up", "arrowdown": "Down",
	"arrowleft": "Left", "arrowright": "Right", "control": "Ctrl", "meta": "Alt", "option": "Alt",
}

// modifierLetters maps the modifiers as Emacs and tmux write them to the names used here.
var modifierLetters = map[string]string{"c": "Ctrl", "m": "Alt", "s": "Shift"}

// KeyAdvice returns advice for a name that is not a key. It is appended to the error message.
func KeyAdvice(name string) string {
	if utf8.RuneCountInString(name) == 1 {
		return fmt.Sprintf(": send a character as text, in input or as {\"text\": %q} in send", name)
	}
	if key := NearKey(name); key != "" {
		return fmt.Sprintf("; did you mean %q?", key)
	}
	return ": data.allowed lists the names; send text with input"
}

// NearKey returns the key that was probably meant, or "".
func NearKey(name string) string {
	if c, ok := strings.CutPrefix(name, "^"); ok && utf8.RuneCountInString(c) == 1 {
		name = "Ctrl-" + c
	}
	names := slices.DeleteFunc(screen.KeyNames(), func(n string) bool { return strings.Contains(n, "<") })
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '+' || r == '_' || r == ' ' })
	for i, part := range parts {
		parts[i] = keyPart(part, names, i < len(parts)-1)
	}
	key := strings.Join(parts, "-")
	if _, err := screen.Encode([]string{key}, screen.Modes{}); err != nil {
		return ""
	}
	return key
}

// keyPart returns a modifier or key in the spelling of this program, or part unchanged if it has no match.
func keyPart(part string, names []string, modifier bool) string {
	if modifier {
		names = []string{"Ctrl", "Alt", "Shift"}
		if m, ok := modifierLetters[strings.ToLower(part)]; ok {
			return m
		}
	}
	if alias, ok := keyAliases[strings.ToLower(part)]; ok {
		return alias
	}
	for _, n := range names {
		if strings.EqualFold(n, part) {
			return n
		}
	}
	if near := proc.Nearest(part, names); near != "" {
		return near
	}
	if !modifier && utf8.RuneCountInString(part) == 1 {
		return strings.ToUpper(part) // as Ctrl-C is written
	}
	return part
}
