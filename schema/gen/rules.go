package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"slices"
	"strconv"
	"strings"
)

// annotations are the keywords that do not affect whether a value fits. A keyword that is neither here nor in
// [ruleWriter.keyword] stops the generator: a rule that omits one would accept too much.
var annotations = []string{
	"$comment", "contentEncoding", "default", "description", "examples", "format", "title",
	"x-exactlyOne", "x-expected",
}

// rulesSource returns rules_gen.go: a rule for each definition, the methods and the kinds of error. They are package
// variables that the linker lays out, so that a server has nothing to parse or compile when it starts.
func (g *generator) rulesSource() ([]byte, error) {
	w := ruleWriter{g: g}
	files := make([]string, 0, len(g.files))
	for file := range g.files {
		files = append(files, file)
	}
	slices.Sort(files)
	var names []string
	for _, file := range files {
		defs := g.files[file].object("$defs")
		for _, name := range defs.names {
			rule, err := w.rule(file, defs.object(name))
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, name, err)
			}
			fmt.Fprintf(&w.out, "var %s = %s\n\n", ruleName(file, name), strings.TrimPrefix(rule, "&"))
			names = append(names, file+"#/$defs/"+name)
		}
	}
	slices.Sort(names)
	w.out.WriteString("// rules holds the rule of each definition, sorted by name.\nvar rules = []namedRule{\n")
	for _, definition := range names {
		file, name, _ := strings.Cut(definition, "#/$defs/")
		fmt.Fprintf(&w.out, "{%q, &%s},\n", definition, ruleName(file, name))
	}
	w.out.WriteString("}\n\n")
	w.methods(files)
	if err := w.errorKinds(); err != nil {
		return nil, err
	}
	source, err := format.Source([]byte(header + "import \"encoding/json\"\n\n" + w.out.String()))
	if err != nil {
		return nil, fmt.Errorf("format the rules: %w", err)
	}
	return source, nil
}

// A ruleWriter writes schemas as Go values of type rule, which fits.go reads.
type ruleWriter struct {
	g   *generator
	out bytes.Buffer
}

// ruleName returns the name of the variable that holds the rule of a definition.
func ruleName(file, name string) string {
	return "rule" + goName(file) + "Of" + goName(name)
}

// rule returns a Go expression, a pointer to the rule of a schema.
func (w *ruleWriter) rule(file string, node *object) (string, error) {
	var b strings.Builder
	b.WriteString("&rule{")
	for _, keyword := range node.names {
		if slices.Contains(annotations, keyword) {
			continue
		}
		field, err := w.keyword(file, keyword, node.get(keyword))
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + field + ",")
	}
	b.WriteString("}")
	return b.String(), nil
}

// keyword returns the field of a rule that a keyword of a schema sets.
func (w *ruleWriter) keyword(file, keyword string, value any) (string, error) {
	switch keyword {
	case "$ref":
		target, name, found := strings.Cut(value.(string), "#/$defs/")
		if !found {
			return "", fmt.Errorf("$ref %q does not lead to a definition", value)
		}
		if target = strings.TrimSuffix(target, suffix); target == "" {
			target = file
		}
		return "ref: &" + ruleName(target, name), nil
	case "type":
		return w.types(value)
	case "const":
		constant, err := constantOf(value)
		return "enum: []any{" + constant + "}", err
	case "enum":
		return enumOf(value.([]any))
	case "minimum", "maximum":
		return keyword + ": &bound{" + value.(json.Number).String() + "}", nil
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return keyword + ": &size{" + value.(json.Number).String() + "}", nil
	case "pattern":
		return "pattern: &pattern{source: " + strconv.Quote(value.(string)) + "}", nil
	case "required":
		return fmt.Sprintf("required: %#v", textsOf(value)), nil
	case "dependentRequired":
		return dependentOf(value.(*object)), nil
	}
	return w.applicator(file, keyword, value)
}

// applicator returns the field of a rule for a keyword whose value consists of other schemas.
func (w *ruleWriter) applicator(file, keyword string, value any) (string, error) {
	switch keyword {
	case "properties", "dependentSchemas":
		return w.members(file, keyword, value.(*object))
	case "items", "additionalProperties", "propertyNames", "not":
		rule, err := w.subschema(file, value)
		return keyword + ": " + rule, err
	case "oneOf", "allOf", "prefixItems":
		var b strings.Builder
		for _, branch := range value.([]any) {
			rule, err := w.subschema(file, branch)
			if err != nil {
				return "", err
			}
			b.WriteString(rule + ",\n")
		}
		return keyword + ": []*rule{\n" + b.String() + "}", nil
	}
	return "", fmt.Errorf("unknown keyword %s: add it to the rules (gen/rules.go and fits.go), or to the annotations", keyword)
}

// subschema is rule for a position in which a schema may also be true or false.
func (w *ruleWriter) subschema(file string, value any) (string, error) {
	switch v := value.(type) {
	case bool:
		return fmt.Sprintf("&rule{never: %t}", !v), nil
	case *object:
		return w.rule(file, v)
	}
	return "", fmt.Errorf("expected a schema, got %v", value)
}

// members returns named rules, sorted, so that they can be searched.
func (w *ruleWriter) members(file, keyword string, o *object) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: []namedRule{\n", keyword)
	for _, name := range slices.Sorted(slices.Values(o.names)) {
		rule, err := w.subschema(file, o.get(name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "{%q, %s},\n", name, rule)
	}
	return b.String() + "}", nil
}

func (w *ruleWriter) types(value any) (string, error) {
	var list []string
	for _, name := range append(textsOf(value), textsOf([]any{value})...) {
		if !slices.Contains([]string{"null", "boolean", "integer", "number", "string", "array", "object"}, name) {
			return "", fmt.Errorf("unknown type %q", name)
		}
		list = append(list, "is"+goName(name))
	}
	return "types: " + strings.Join(list, " | "), nil
}

// methods writes the table of methods, which is sorted by name.
func (w *ruleWriter) methods(files []string) {
	rows := map[string]string{}
	for _, file := range files {
		doc := w.g.files[file]
		about, defs := doc.object("x-shelld"), doc.object("$defs")
		if !about.has("method") {
			continue // A file of shared definitions.
		}
		name := about.text("method")
		rows[name] = fmt.Sprintf("{Name: %q, Kind: %q, From: %q, Level: %q, HasParams: %t, HasResult: %t, Errors: %#v},\n",
			name, about.text("kind"), about.text("from"), about.text("level"), defs.has("params"), defs.has("result"),
			textsOf(about.get("errors")))
	}
	w.out.WriteString("// methodTable holds every method that has a schema, sorted by name.\nvar methodTable = []Method{\n")
	names := make([]string, 0, len(rows))
	for name := range rows {
		names = append(names, name)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		w.out.WriteString(rows[name])
	}
	w.out.WriteString("}\n\n")
}

// errorKinds writes the table of the kinds of error, in the order of the file.
func (w *ruleWriter) errorKinds() error {
	const data = "Data"
	w.out.WriteString("// kindTable holds every kind of error in the order of the protocol.\nvar kindTable = []ErrorKind{\n")
	for _, item := range w.g.files["errors"].object("$defs").object("errorObject").list("oneOf") {
		branch, _ := item.(*object)
		properties := branch.object("properties")
		code, ok := properties.object("code").get("const").(json.Number)
		_, name, found := strings.Cut(properties.object("data").text("$ref"), "#/$defs/")
		if !ok || !found || !strings.HasSuffix(name, data) {
			return fmt.Errorf("errors: a branch of errorObject has no const code, or no $ref to the data of a kind")
		}
		fmt.Fprintf(&w.out, "{Kind: %q, Code: %s},\n", strings.TrimSuffix(name, data), code)
	}
	w.out.WriteString("}\n")
	return nil
}

// textsOf returns the strings in a JSON array; nil if value is not an array.
func textsOf(value any) []string {
	items, _ := value.([]any)
	var list []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

func enumOf(values []any) (string, error) {
	list := make([]string, 0, len(values))
	for _, value := range values {
		constant, err := constantOf(value)
		if err != nil {
			return "", err
		}
		list = append(list, constant)
	}
	return "enum: []any{" + strings.Join(list, ", ") + "}", nil
}

// constantOf returns the Go expression of a value as decode returns it.
func constantOf(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return "json.Number(" + strconv.Quote(v.String()) + ")", nil
	}
	return "", fmt.Errorf("a constant is a string, a number or a boolean, not %v", value)
}

func dependentOf(o *object) string {
	var b strings.Builder
	b.WriteString("dependentRequired: []dependency{\n")
	for _, name := range slices.Sorted(slices.Values(o.names)) {
		fmt.Fprintf(&b, "{%q, %#v},\n", name, textsOf(o.get(name)))
	}
	return b.String() + "}"
}
