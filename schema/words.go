package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// expectedOf describes in words the values that a schema accepts.
func expectedOf(node document) string {
	node = resolve(node)
	if words, ok := node["x-expected"].(string); ok {
		return words
	}
	if value, ok := node["const"]; ok {
		return literal(value)
	}
	if names := stringsOf(node["enum"]); names != nil {
		return quotedList(names, "or")
	}
	if pattern, ok := node["pattern"].(string); ok {
		return "text that matches " + pattern
	}
	if words := typesOf(node); words != "" {
		return words
	}
	branches, _ := node["oneOf"].([]any)
	var kinds []string
	for _, branch := range branches {
		kinds = append(kinds, expectedOf(branch.(document)))
	}
	return joinList(kinds, "or")
}

// resolve follows $refs to the schema for which they stand.
func resolve(node document) document {
	for {
		ref, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		file, pointer, _ := strings.Cut(ref, "#")
		node, _ = lookUp(documents()[base+file], pointerTokens(pointer)).(document)
	}
}

// describe names a value by its type. Booleans, and numbers with a fraction, are named by their value.
func describe(value any) string {
	switch v := value.(type) {
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if strings.ContainsAny(v.String(), ".e") {
			return "the number " + v.String()
		}
		return "number"
	}
	return typeOf(value)
}

// describeNumber spells a number that is out of range. Beyond 2^53 it is no longer the number that was sent.
func describeNumber(value any) string {
	n, _ := value.(json.Number)
	switch n.String() {
	case strconv.Itoa(maxInteger + 1):
		return "more than " + strconv.Itoa(maxInteger)
	case strconv.Itoa(-maxInteger - 1):
		return "less than " + strconv.Itoa(-maxInteger)
	}
	return n.String()
}

// literal spells a schema's value as JSON.
func literal(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// quoteShort quotes a string, cut to a length that people can read. For other values it returns the type.
func quoteShort(value any) string {
	s, ok := value.(string)
	if !ok {
		return describe(value)
	}
	if runes := []rune(s[:min(len(s), 400)]); len(runes) > 64 || len(s) > 400 {
		return strconv.Quote(string(runes[:64])) + "…"
	}
	return strconv.Quote(s)
}

// typesOf describes in words the JSON types that a schema accepts.
func typesOf(node document) string {
	switch t := node["type"].(type) {
	case string:
		return t
	case []any:
		names := stringsOf(t)
		if words, ok := node["x-expected"].(string); ok && !slices.Contains(names, "null") {
			return words // the words for a value of several types say more than the types
		}
		return joinList(names, "or")
	}
	return ""
}

// rangeOf describes the numbers that a schema accepts. If a bound serves only to keep integers exact, it names only the
// bound that failed.
func rangeOf(node document, keyword string) string {
	low, high := number(node["minimum"]), number(node["maximum"])
	switch largest := strconv.Itoa(maxInteger); {
	case high != largest && low != "" && high != "":
		return low + " to " + high
	case keyword == "minimum":
		return "at least " + low
	default:
		return "at most " + high
	}
}

func number(value any) string {
	n, _ := value.(json.Number)
	return n.String()
}

func count(n int, unit string) string { return countText(strconv.Itoa(n), unit) }

func countText(n, unit string) string {
	if n == "1" {
		return n + " " + unit
	}
	return n + " " + unit + "s"
}

// joinList writes a list as people do: "a, b or c".
func joinList(items []string, conjunction string) string {
	switch n := len(items); n {
	case 0:
		return "nothing"
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " " + conjunction + " " + items[n-1]
	}
}

func quotedList(items []string, conjunction string) string {
	quoted := make([]string, 0, len(items))
	for _, item := range items {
		quoted = append(quoted, strconv.Quote(item))
	}
	return joinList(quoted, conjunction)
}

// fewNames is the maximum number of names of which all are listed in an error about a wrong one.
const fewNames = 12

// suggest returns the name that was probably meant by a wrong one: the nearest, "" if none is near. It also returns the
// names to list: all if they are few or none is near, otherwise the near ones, the nearest first.
func suggest(name string, allowed []string) (nearest string, list []string) {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	if len(allowed) == 0 {
		return "", nil
	}
	for _, a := range allowed {
		if d, ok := distance(name, a); ok {
			near = append(near, candidate{a, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	if len(near) > 0 {
		nearest = near[0].name
	}
	if len(near) == 0 || len(allowed) <= fewNames {
		return nearest, slices.Clone(allowed)
	}
	for _, c := range near {
		list = append(list, c.name)
	}
	return nearest, list
}

// synonyms maps the names of other APIs, in lower case and without _ and -, to members.
var synonyms = map[string][]string{
	"text": {"input"}, "data": {"input", "text", "base64"}, "stdin": {"input"}, "input": {"text"}, "string": {"text"},
	"cmd": {"command"}, "commandline": {"command"}, "cmdline": {"command"}, "script": {"command"}, "line": {"command"},
	"args": {"argv"}, "arguments": {"argv"},
	"workdir": {"cwd"}, "workingdirectory": {"cwd"}, "workingdir": {"cwd"}, "directory": {"cwd"}, "dir": {"cwd"}, "environment": {"env"},
	"pty": {"mode"}, "tty": {"mode"}, "usepty": {"mode"}, "terminal": {"mode"},
	"maxoutput": {"maxBytes"}, "limit": {"maxBytes"},
	"width": {"cols"}, "columns": {"cols"}, "height": {"rows"}, "lines": {"rows"},
	"id": {"handle"}, "job": {"handle"}, "jobid": {"handle"}, "pid": {"handle"}, "session": {"handle"}, "sessionid": {"handle"},
	"newline": {"appendNewline"}, "enter": {"appendNewline"}, "regex": {"pattern"}, "regexp": {"pattern"},
}

// suggestMember is suggest for a member's name. The name may be another word for a member: that takes precedence over
// names that are only spelled alike. meant reports whether it is such a word.
func suggestMember(name string, allowed []string) (nearest string, list []string, meant bool) {
	for _, s := range synonyms[strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))] {
		if !slices.Contains(allowed, s) {
			continue
		}
		if list = []string{s}; len(allowed) <= fewNames {
			list = slices.Clone(allowed)
		}
		return s, list, true
	}
	nearest, list = suggest(name, allowed)
	return nearest, list, false
}

// Nearest returns the name that was most likely meant by a wrong one, or "" if none is near.
func Nearest(name string, allowed []string) string {
	nearest, _ := suggest(name, allowed)
	return nearest
}

// distance returns how far a wrong name is from an allowed one, in letters omitted, added, changed or swapped. Letter
// case does not count. ok is false if they are too far apart for a suggestion.
func distance(wrong, allowed string) (d int, ok bool) {
	if len(wrong) > 2*len(allowed)+2 {
		return 0, false
	}
	a, b := []rune(strings.ToLower(wrong)), []rune(strings.ToLower(allowed))
	if len(a) >= 3 && (strings.HasPrefix(string(b), string(a)) || strings.HasPrefix(string(a), string(b))) {
		return 1, true // One continues the other: timeout, timeoutMs.
	}
	limit := max(1, max(len(a), len(b))/3)
	if d = editDistance(a, b); d > limit || d >= max(len(a), len(b)) {
		return 0, false
	}
	return d, true
}

// editDistance returns the optimal string alignment distance: Levenshtein's, with swaps of neighbours as one step.
func editDistance(a, b []rune) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
