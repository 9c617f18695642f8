package main

import (
	"fmt"
	"strings"

	"shelld.dev/shelld/schema"
)

// This file parses the input of CliWrite: text with keys such as {enter}.

// braceKeys maps the names between braces, in lower case, to keys. In addition there are F1 to F12, and {ctrl+…},
// {alt+…} and {shift+…} with one of these keys or with one character.
var braceKeys = map[string]string{
	"enter": "Enter", "return": "Enter", "tab": "Tab", "space": "Space", "backspace": "Backspace",
	"escape": "Escape", "esc": "Escape", "delete": "Delete", "del": "Delete", "insert": "Insert",
	"up": "Up", "down": "Down", "left": "Left", "right": "Right",
	"home": "Home", "end": "End", "pageup": "PageUp", "pagedown": "PageDown",
}

// braceKeyList lists the keys in errors.
const braceKeyList = "{enter}, {tab}, {space}, {backspace}, {escape}, {delete}, {insert}, {up}, {down}, {left}, {right}, {home}, {end}, {pageup}, {pagedown}, {f1} to {f12}, and {ctrl+c}, {alt+x}, {shift+tab} and their like"

// parseInput splits input into text and keys. A line end in the text is Enter, as on a keyboard; {{ is a brace. A brace
// after $ is an error: ${home} in a shell is a variable, and cannot be distinguished from the key.
func parseInput(input string) ([]schema.SendItem, error) {
	var items []schema.SendItem
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			items = append(items, schema.SendItem{Text: new(text.String())})
			text.Reset()
		}
	}
	key := func(name string) {
		flush()
		items = append(items, schema.SendItem{Key: new(name)})
	}
	input = strings.ReplaceAll(input, "\r\n", "\n")
	for i := 0; i < len(input); {
		switch rest := input[i:]; {
		case rest[0] == '\n' || rest[0] == '\r':
			key("Enter")
			i++
		case strings.HasPrefix(rest, "{{"):
			text.WriteByte('{')
			i += 2
		case rest[0] == '{':
			name, _, closed := strings.Cut(rest[1:], "}")
			k := keyOf(name)
			switch {
			case closed && i > 0 && input[i-1] == '$':
				return nil, fmt.Errorf("input has %q, and a brace after $ begins no key. For a variable, write {{ instead of the brace; to press a key after a $, make a separate call. Nothing was sent", "$"+shownBrace(rest))
			case !closed || k == "":
				return nil, unknownBrace(rest, closed)
			}
			key(k)
			i += len(name) + 2
		default:
			text.WriteByte(rest[0])
			i++
		}
	}
	flush()
	if len(items) > mostItems {
		return nil, fmt.Errorf("input has %d keys and pieces of text (a line end is a key), and one call takes at most %d. Send it in several calls, or put it into a file that the program reads; nothing was sent", len(items), mostItems)
	}
	return items, nil
}

// mostItems is the maximum number of items in a job/write.
const mostItems = 4096

// keyOf returns the key for a name between braces, or "". Names are in lower case, as in the seed: {HOME} more likely
// means something else.
func keyOf(name string) string {
	name = strings.TrimSpace(name)
	if k, ok := braceKeys[name]; ok {
		return k
	}
	if n, ok := strings.CutPrefix(name, "f"); ok && len(n) > 0 && len(n) < 3 && strings.Trim(n, "0123456789") == "" {
		return "F" + n // The server rejects a key that does not exist.
	}
	modifier, rest, ok := strings.Cut(name, "+")
	if !ok {
		modifier, rest, ok = strings.Cut(name, "-")
	}
	if !ok || rest == "" {
		return ""
	}
	prefix := map[string]string{"ctrl": "Ctrl-", "control": "Ctrl-", "alt": "Alt-", "meta": "Alt-", "shift": "Shift-"}[modifier]
	if prefix == "" {
		return ""
	}
	if len([]rune(rest)) == 1 {
		if prefix == "Ctrl-" {
			rest = strings.ToUpper(rest)
		}
		return prefix + rest
	}
	if k := keyOf(rest); k != "" {
		return prefix + k
	}
	return ""
}

// shownBrace returns the text from a brace to the closing one, clipped.
func shownBrace(rest string) string {
	if i := strings.IndexByte(rest, '}'); i >= 0 {
		rest = rest[:i+1]
	}
	return clip(rest, 40)
}

func unknownBrace(rest string, closed bool) error {
	shown := shownBrace(rest)
	if !closed {
		return fmt.Errorf("input has a brace that is never closed: %q. Write {{ to type a brace; nothing was sent. Valid keys are: %s", shown, braceKeyList)
	}
	if lower := strings.ToLower(strings.Trim(shown, "{}")); keyOf(lower) != "" {
		return fmt.Errorf("input has %q, which is not a key: keys are in lower case. Did you mean {%s}? Write {{ to type a brace; nothing was sent", shown, lower)
	}
	return fmt.Errorf("input has %q, which is not a key. Write {{ to type a brace; nothing was sent. Valid keys are: %s", shown, braceKeyList)
}
