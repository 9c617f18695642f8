package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A node is a JSON value whose members keep their order: a message begins with the most important ones.
type node struct {
	kind   byte // '{', '[', or 0 for a scalar
	scalar string
	names  []string
	parts  []node
	more   bool // some members are not shown
}

func parseNode(body []byte) (node, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	n, err := readNode(d)
	if err != nil {
		return node{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return node{}, fmt.Errorf("there is more text after the JSON value")
	}
	return n, nil
}

// readNode reads the next value. The client has already limited its depth.
func readNode(d *json.Decoder) (node, error) {
	token, err := d.Token()
	if err != nil {
		return node{}, err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return node{scalar: scalarText(token)}, nil
	}
	n := node{kind: byte(open)}
	for d.More() {
		if n.kind == '{' {
			name, err := d.Token()
			if err != nil {
				return node{}, err
			}
			n.names = append(n.names, printable(name.(string)))
		}
		part, err := readNode(d)
		if err != nil {
			return node{}, err
		}
		n.parts = append(n.parts, part)
	}
	_, err = d.Token() // This is the closing bracket.
	return n, err
}

// scalarText encodes a scalar as JSON, without the HTML escapes of <, > and &.
func scalarText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // The value comes from a decoder.
	}
	return printable(strings.TrimSuffix(b.String(), "\n"))
}

// member returns a member of an object.
func (n node) member(name string) (node, bool) {
	for i, have := range n.names {
		if have == name {
			return n.parts[i], true
		}
	}
	return node{}, false
}

// string returns the value of a string, or "" for any other node.
func (n node) string() string {
	var s string
	_ = json.Unmarshal([]byte(n.scalar), &s) // Other values give "".
	return s
}

// compact returns a value on one line, with names without quotes.
func (n node) compact() string {
	switch n.kind {
	case '{':
		return "{" + n.members() + "}"
	case '[':
		return "[" + n.members() + "]"
	}
	return n.scalar
}

// members is compact without the outer brackets.
func (n node) members() string {
	parts := make([]string, len(n.parts), len(n.parts)+1)
	for i, part := range n.parts {
		parts[i] = part.compact()
		if n.kind == '{' {
			parts[i] = n.names[i] + ": " + parts[i]
		}
	}
	if n.more {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}
