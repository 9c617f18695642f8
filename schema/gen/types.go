package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// goType is the Go type of a schema.
type goType struct {
	name     string
	shape    shape
	nullable bool // null is allowed as well
}

// shape determines how a type represents an absent member, or null.
type shape int

const (
	scalar  shape = iota // string, number, boolean, enumeration
	record               // struct
	list                 // slice
	mapping              // map
	raw                  // json.RawMessage: nil is absent
)

// field is a struct field without its name.
type field struct {
	typ         string
	option      string // of the json tag
	description string
}

// field returns the field of a property. It distinguishes absent and null if the schema does: see the rules here and
// types.go of the package.
func (g *generator) field(file string, node *object, required bool) (field, error) {
	t, err := g.typeOf(file, node)
	if err != nil {
		return field{}, err
	}
	f := field{typ: t.name, description: g.describe(file, node)}
	if f.description == "" {
		return field{}, errors.New("there is no description")
	}
	switch {
	case required && t.nullable && t.shape != raw:
		f.typ = "*" + t.name
	case required && t.shape == list:
		f.typ = "List[" + strings.TrimPrefix(t.name, "[]") + "]"
	case required && t.shape == mapping:
		f.typ = "Map[" + strings.TrimPrefix(t.name, "map[string]") + "]"
	case required:
	case t.nullable && t.shape != raw:
		f.typ, f.option = "Nullable["+t.name+"]", "omitzero"
	case t.shape == scalar || t.shape == record:
		f.typ, f.option = "*"+t.name, "omitempty"
	case t.shape == raw:
		f.option = "omitempty"
	default:
		// omitzero, not omitempty: an empty list differs from an absent one (events [] asks for no event at all).
		f.option = "omitzero"
	}
	return f, nil
}

// describe returns a property's description: its own, or that of the definition to which it refers.
func (g *generator) describe(file string, node *object) string {
	if text := node.text("description"); text != "" || !node.has("$ref") {
		return text
	}
	target, _, _, err := g.follow(file, node.text("$ref"))
	if err != nil {
		return ""
	}
	return target.text("description")
}

// follow returns the definition to which a $ref leads, and its Go name.
func (g *generator) follow(file, ref string) (node *object, inFile, name string, err error) {
	target, pointer, _ := strings.Cut(ref, "#/$defs/")
	if target != "" {
		file = strings.TrimSuffix(target, suffix)
	}
	doc := g.files[file]
	if node = doc.object("$defs").object(pointer); node == nil {
		return nil, "", "", fmt.Errorf("$ref %q has no target", ref)
	}
	return node, file, definitionName(doc.object("x-shelld").text("method"), pointer), nil
}

// typeOf returns the Go type of a schema.
func (g *generator) typeOf(file string, node *object) (goType, error) {
	if ref := node.text("$ref"); ref != "" {
		target, inFile, name, err := g.follow(file, ref)
		switch {
		case err != nil:
			return goType{}, err
		case isStruct(target):
			return goType{name: name, shape: record}, nil
		case isEnum(target):
			return goType{name: name, shape: scalar}, nil
		}
		return g.typeOf(inFile, target)
	}
	if value, ok := node.members["const"]; ok {
		return constType(value)
	}
	if node.has("oneOf") && !node.has("type") {
		return g.unionType(file, node.list("oneOf"))
	}
	switch t := node.get("type").(type) {
	case string:
		return g.plainType(file, t, node)
	case []any:
		return g.listedType(file, t, node)
	case nil:
		return g.rawType(), nil
	default:
		return goType{}, fmt.Errorf("cannot read the type %v", t)
	}
}

func (g *generator) rawType() goType {
	g.raw = true
	return goType{name: "json.RawMessage", shape: raw}
}

func constType(value any) (goType, error) {
	switch value.(type) {
	case string:
		return goType{name: "string", shape: scalar}, nil
	case bool:
		return goType{name: "bool", shape: scalar}, nil
	case json.Number:
		return goType{name: "int64", shape: scalar}, nil
	}
	return goType{}, fmt.Errorf("there is no Go type for the constant %v", value)
}

// unionType returns the type of a oneOf. A union of one type and null has that type.
func (g *generator) unionType(file string, branches []any) (goType, error) {
	isNull := func(branch any) bool { return branch.(*object).text("type") == "null" }
	if len(branches) == 2 && isNull(branches[1]) {
		t, err := g.typeOf(file, branches[0].(*object))
		t.nullable = true
		return t, err
	}
	return g.rawType(), nil
}

// listedType returns the type for several JSON types. One type and null have that type.
func (g *generator) listedType(file string, types []any, node *object) (goType, error) {
	others := slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" })
	if len(others) != 1 {
		return g.rawType(), nil
	}
	t, err := g.plainType(file, others[0].(string), node)
	t.nullable = len(others) < len(types)
	return t, err
}

// plainType returns the type for one JSON type.
func (g *generator) plainType(file, name string, node *object) (goType, error) {
	switch name {
	case "string":
		if node.has("enum") {
			return goType{}, errors.New("an enum needs a definition of its own")
		}
		return goType{name: "string", shape: scalar}, nil
	case "integer":
		return goType{name: "int64", shape: scalar}, nil
	case "number":
		return goType{name: "float64", shape: scalar}, nil
	case "boolean":
		return goType{name: "bool", shape: scalar}, nil
	case "array":
		element, err := g.elementType(file, node.object("items"))
		return goType{name: "[]" + element, shape: list}, err
	case "object":
		if node.has("properties") {
			return goType{}, errors.New("an object with properties needs a definition of its own")
		}
		element, err := g.elementType(file, node.object("additionalProperties"))
		return goType{name: "map[string]" + element, shape: mapping}, err
	}
	return goType{}, fmt.Errorf("there is no Go type for %q", name)
}

// elementType returns the type of an array's items or a map's values.
func (g *generator) elementType(file string, node *object) (string, error) {
	if node == nil {
		return g.rawType().name, nil
	}
	t, err := g.typeOf(file, node)
	if t.nullable && t.shape != raw {
		t.name = "*" + t.name
	}
	return t.name, err
}
