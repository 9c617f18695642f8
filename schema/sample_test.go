package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// samples returns valid values of a definition: with every existing member (full), or with only the required ones. If
// members exclude each other, there is a value for each choice.
func samples(definition string, full bool) []any {
	file, name, _ := strings.Cut(definition, "#/$defs/")
	return samplesOf(documents()[base+file+suffix]["$defs"].(document)[name].(document), full)
}

// sampleTexts has a text for each pattern of the files; "" fits only that of strings which may be anything.
var sampleTexts = []struct{ prefix, text string }{
	{"^[A-Za-z][A-Za-z0-9._-]", "dev-server.1"},
	{"^SIG", "SIGRTMIN+3"},
	{"^(self|gone|SIG", "self"},
	{"^[imsu]", "imsu"},
	{"^#", "#0a1b2c"},
	{"^[^=\x00]", "NAME"},
	{"^[^\\s\x00;&", "ll"},
	{"^[^\x00]", "text ü"},
	{"^[^\x00-\x1f", "hunter2"},
	{"^[!-~]", "editor-1"},
}

func samplesOf(node document, full bool) []any {
	node = resolve(node)
	if value, ok := node["const"]; ok {
		return []any{value}
	}
	if enum, ok := node["enum"].([]any); ok {
		if full {
			return enum
		}
		return enum[:1]
	}
	if lookUp(node, []string{"properties", "data"}) != nil {
		return sampleErrors(node, full)
	}
	types := stringsOf(node["type"])
	if single, ok := node["type"].(string); ok {
		types = []string{single}
	}
	var values []any
	for _, t := range types {
		values = append(values, samplesOfType(t, node, full)...)
	}
	if types == nil {
		branches, _ := node["oneOf"].([]any)
		for _, branch := range branches {
			values = append(values, samplesOf(branch.(document), full)...)
		}
	}
	return values
}

func samplesOfType(t string, node document, full bool) []any {
	switch t {
	case "null":
		return []any{nil}
	case "boolean":
		return []any{true, false}
	case "integer", "number":
		low, high := json.Number("1"), json.Number("7")
		if node["minimum"] != nil {
			low, high = node["minimum"].(json.Number), node["maximum"].(json.Number)
		}
		return []any{low, high}
	case "string":
		return []any{sampleText(node)}
	case "array":
		return sampleArrays(node, full)
	}
	return sampleObjects(node, full)
}

// sampleErrors returns an error of each kind. Its schema is composed in a special way.
func sampleErrors(node document, full bool) []any {
	var errors []any
	for _, branch := range node["oneOf"].([]any) {
		properties := branch.(document)["properties"].(document)
		for _, data := range samplesOf(properties["data"].(document), full) {
			errors = append(errors, map[string]any{"code": lookUp(properties, []string{"code", "const"}), "message": "x", "data": data})
		}
	}
	return errors
}

func sampleText(node document) string {
	if node["format"] == "date-time" {
		return "2026-11-20T12:00:00.123Z"
	}
	pattern, ok := node["pattern"].(string)
	if !ok {
		return "c29tZSB0ZXh0" // also valid base64
	}
	for _, sample := range sampleTexts {
		if strings.HasPrefix(pattern, sample.prefix) {
			return sample.text
		}
	}
	panic("there is no sample text for the pattern " + pattern)
}

func sampleArrays(node document, full bool) []any {
	items, _ := node["items"].(document)
	if items == nil {
		return []any{[]any{}} // anyParams
	}
	least := 0
	if n, ok := node["minItems"].(json.Number); ok {
		n64, _ := n.Int64()
		least = int(n64)
	}
	all := samplesOf(items, full)
	if !full {
		all = []any{}
	}
	for len(all) < least {
		all = append(all, samplesOf(items, full)[0])
	}
	if most, ok := node["maxItems"].(json.Number); ok && most == "2" {
		all = all[:2]
	}
	return []any{all}
}

// sampleObjects returns one object per choice between members, and more if a member has several samples, so that each
// sample occurs once.
func sampleObjects(node document, full bool) []any {
	properties, _ := node["properties"].(document)
	if properties == nil {
		return []any{sampleMap(node, full)}
	}
	var objects []any
	for _, names := range memberSets(node, full) {
		longest := 1
		values := map[string][]any{}
		for _, name := range names {
			values[name] = samplesOf(properties[name].(document), full)
			longest = max(longest, len(values[name]))
		}
		if !full {
			longest = 1
		}
		for i := range longest {
			object := map[string]any{}
			for name, list := range values {
				object[name] = list[min(i, len(list)-1)]
			}
			objects = append(objects, object)
		}
	}
	return objects
}

func sampleMap(node document, full bool) any {
	object := map[string]any{}
	element, _ := node["additionalProperties"].(document)
	if !full {
		return object
	}
	if element == nil {
		return map[string]any{"anything": []any{json.Number("1"), "x", nil}}
	}
	names := []string{"NAME"}
	if key, ok := node["propertyNames"].(document); ok {
		names = nil
		key = maps.Clone(resolve(key))
		key["type"] = "string" // A name is a string, so the files need not say it.
		for _, name := range samplesOf(key, full) {
			names = append(names, name.(string))
		}
	}
	values := samplesOf(element, full)
	for i, name := range names {
		object[name] = values[min(i, len(values)-1)]
	}
	return object
}

// memberSets returns the sets of members that may occur together: all of them, or the required ones, for each choice of
// the schema.
func memberSets(node document, full bool) [][]string {
	properties := node["properties"].(document)
	required := stringsOf(node["required"])
	var groups, free [][]string // choices, and the optional members of each
	if branches, ok := node["oneOf"].([]any); ok {
		if c, ok := choiceOf(branches); ok {
			groups = c
		}
	}
	for _, name := range stringsOf(node["x-exactlyOne"]) {
		groups = append(groups, []string{name})
	}
	if free = exclusions(node); free == nil {
		free = [][]string{nil}
	}
	if groups == nil {
		groups = [][]string{nil}
	}
	chosen := slices.Concat(slices.Concat(groups...), slices.Concat(free...))
	var sets [][]string
	for i := range len(groups) * len(free) {
		group, may := groups[i/len(free)], free[i%len(free)]
		set := slices.Concat(required, group)
		if full {
			set = append(set, may...)
			group = slices.Concat(group, may)
		}
		if full {
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				if !slices.Contains(set, name) && !slices.Contains(chosen, name) && mayStand(node, name, group) {
					set = append(set, name)
				}
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// exclusions reads members that exclude each other from not.
func exclusions(node document) [][]string {
	nots := []any{node}
	if all, ok := node["allOf"].([]any); ok {
		nots = all
	}
	var first, second []string
	for _, n := range nots {
		not, _ := n.(document)["not"].(document)
		if names := stringsOf(not["required"]); len(names) == 2 {
			first, second = append(first, names[0]), append(second, names[1])
		}
	}
	if first == nil {
		return nil
	}
	return [][]string{first, second}
}

// mayStand reports whether a member may occur beside the chosen group.
func mayStand(node document, name string, group []string) bool {
	if dependent, ok := node["dependentRequired"].(document); ok {
		if needs := stringsOf(dependent[name]); needs != nil {
			return slices.Contains(group, needs[0])
		}
	}
	return true
}
