package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// This file validates the parameters of a tool against its schema. No general schema validator is used, because of its
// error texts: these are for a model, and contain the wrong parameter, its value, and the values that it can have.

// decode reads the parameters, and adds the defaults. If they are invalid, it returns the reason.
func decode[In any](t *tool[In], in *jsonschema.Schema, args json.RawMessage) (params In, reason string) {
	given := map[string]json.RawMessage{}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &given); err != nil {
			return params, schemaReason(t, "the arguments have to be an object")
		}
		if given == nil { // null, which some hosts send in place of no arguments.
			given = map[string]json.RawMessage{}
		}
	}
	for _, name := range t.names {
		if value := bytes.TrimSpace(given[name]); typeOf(value) == "number" && misfitWhole(value) == "" {
			given[name] = encode(string(plainWhole(value)))
		}
	}
	if wrong := t.misfit(in, given); wrong != "" {
		return params, schemaReason(t, wrong)
	}
	for name, p := range in.Properties {
		if _, there := given[name]; !there && p.Default != nil {
			given[name] = p.Default
		}
		if value, there := given[name]; there && p.Type == "integer" {
			given[name] = plainWhole(value)
		}
	}
	whole, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(whole, &params)
	}
	if err != nil {
		return params, schemaReason(t, err.Error())
	}
	if t.check != nil {
		reason = t.check(params)
	}
	return params, reason
}

func schemaReason[In any](t *tool[In], why string) string {
	if t.badSchema != "" {
		return t.badSchema
	}
	return "The arguments do not fit the schema of " + t.name + ": " + why
}

// misfit returns the first error in the parameters, or "".
func (t *tool[In]) misfit(in *jsonschema.Schema, given map[string]json.RawMessage) string {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p := in.Properties[name]
		if p == nil {
			return unknownParam(name, in)
		}
		wrong := misfitOf(p, given[name])
		if slices.Contains(in.Required, name) && typeOf(bytes.TrimSpace(given[name])) == "null" {
			wrong = "is null: the tool needs it, as " + withArticle(p.Type)
		}
		if wrong == "" && slices.Contains(t.ids, name) {
			wrong = misfitID(given[name])
		}
		if wrong != "" {
			return name + " " + wrong
		}
	}
	for _, name := range in.Required {
		if _, there := given[name]; !there {
			return name + " is missing: the tool needs it"
		}
	}
	return ""
}

func unknownParam(name string, in *jsonschema.Schema) string {
	names := slices.Sorted(maps.Keys(in.Properties))
	if len(names) == 0 {
		return fmt.Sprintf("there is no parameter %q: the tool takes none.", name)
	}
	after := "."
	if meant := meantParam(name, names); meant != "" {
		after = fmt.Sprintf("; did you mean %q?", meant)
	}
	return fmt.Sprintf("there is no parameter %q%s The parameters are %s.", name, after, strings.Join(names, ", "))
}

// misfitOf returns the error in a value, as words that follow the parameter's name, or "". It supports the parts of
// schemas that inputSchema generates, except enums: check validates those.
func misfitOf(p *jsonschema.Schema, value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	switch got := typeOf(value); {
	case got == "null":
		return "is null: give " + withArticle(p.Type) + ", or leave it out"
	case got != p.Type && (p.Type != "integer" || got != "number"):
		return fmt.Sprintf("must be %s, and %s is %s", withArticle(p.Type), shown(value), withArticle(got))
	}
	switch p.Type {
	case "integer":
		if wrong := misfitWhole(value); wrong != "" {
			return wrong
		}
		return misfitLeast(p, value)
	case "number":
		return misfitLeast(p, value)
	case "string":
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return "cannot be read: " + err.Error()
		}
		if n := utf8.RuneCountInString(s); p.MaxLength != nil && n > *p.MaxLength {
			return fmt.Sprintf("may have at most %d characters, and has %d: shorten it", *p.MaxLength, n)
		}
	case "array":
		return misfitItems(p, value)
	case "object":
		return misfitMembers(p, value)
	}
	return ""
}

func misfitItems(p *jsonschema.Schema, value json.RawMessage) string {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return "cannot be read: " + err.Error()
	}
	for i, item := range items {
		if wrong := misfitOf(p.Items, item); wrong != "" {
			return fmt.Sprintf("item %d %s", i+1, wrong)
		}
	}
	return ""
}

func misfitMembers(p *jsonschema.Schema, value json.RawMessage) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return "cannot be read: " + err.Error()
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == "" {
			return "has a member without a name: give it one, or leave it out"
		}
		if wrong := misfitOf(p.AdditionalProperties, members[name]); wrong != "" {
			return fmt.Sprintf("member %q %s", name, wrong)
		}
	}
	return ""
}

func misfitLeast(p *jsonschema.Schema, value json.RawMessage) string {
	if n, err := strconv.ParseFloat(string(value), 64); err != nil {
		return fmt.Sprintf("is too large a number: %s", shown(value))
	} else if p.Minimum != nil && n < *p.Minimum {
		return fmt.Sprintf("must be %v or more, not %s", *p.Minimum, shown(value))
	}
	return ""
}

// mostWhole is the largest whole number that all hosts write exactly: hosts that use floating point round larger ones.
const mostWhole = 1<<53 - 1

// misfitWhole returns the error in a number that must be whole, or "". It checks the text: as a floating-point number,
// a number beyond mostWhole would be rounded.
func misfitWhole(value json.RawMessage) string {
	const longest = 64 // No sensible number is longer, and parsing one may take long.
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || n > mostWhole || n < -mostWhole || len(value) > longest {
		return fmt.Sprintf("must be a whole number of at most %d, not %s", int64(mostWhole), shown(value))
	}
	if exact, ok := new(big.Rat).SetString(string(value)); !ok || !exact.IsInt() {
		return fmt.Sprintf("must be a whole number, not %s", shown(value))
	}
	return ""
}

// plainWhole converts a whole number to plain digits: in JSON it may also be 65536.0 or 1e4, as some hosts write it,
// and Go's decoder rejects both for integers.
func plainWhole(value json.RawMessage) json.RawMessage {
	n, ok := new(big.Rat).SetString(string(bytes.TrimSpace(value)))
	if !ok || !n.IsInt() {
		return value // misfitWhole has rejected it.
	}
	return json.RawMessage(n.Num().String())
}

// misfitID is misfitWhole for the number of a job or a process.
func misfitID(value json.RawMessage) string {
	if wrong := misfitWhole(value); wrong != "" {
		return wrong + ": give the Handle or PID that run_shell_command or jobs has returned"
	}
	return ""
}

// typeOf returns the type of a JSON text by its name in schemas.
func typeOf(value json.RawMessage) string {
	types := map[byte]string{'"': "string", '{': "object", '[': "array", 't': "boolean", 'f': "boolean", 'n': "null"}
	if len(value) == 0 {
		return "null"
	}
	return cmp.Or(types[value[0]], "number")
}

func withArticle(name string) string {
	switch name {
	case "integer":
		return "a whole number"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "boolean":
		return "true or false"
	}
	return "a " + name
}

// shown returns a value as it was sent, clipped.
func shown(value json.RawMessage) string { return clip(string(value), 40) }
