package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// object is a JSON object that keeps the order of its members, since the Go types should have the order of the schema
// files, which was chosen for readers.
type object struct {
	names   []string
	members map[string]any // object, []any, string, bool, json.Number or nil
}

// get returns a member; nil if it is absent.
func (o *object) get(name string) any {
	if o == nil {
		return nil
	}
	return o.members[name]
}

// has reports whether a member is there.
func (o *object) has(name string) bool {
	return o != nil && slices.Contains(o.names, name)
}

// object returns a member that is an object; nil if it is absent or another type.
func (o *object) object(name string) *object {
	member, _ := o.get(name).(*object)
	return member
}

// text returns a member that is a string; "" if it is absent or another type.
func (o *object) text(name string) string {
	s, _ := o.get(name).(string)
	return s
}

// list returns a member that is an array.
func (o *object) list(name string) []any {
	items, _ := o.get(name).([]any)
	return items
}

// parse reads a JSON object.
func parse(data []byte) (*object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	value, err := parseValue(d)
	if err != nil {
		return nil, err
	}
	o, ok := value.(*object)
	if !ok {
		return nil, fmt.Errorf("expected an object, got %T", value)
	}
	return o, nil
}

func parseValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return parseObject(d)
	case json.Delim('['):
		items := []any{}
		for d.More() {
			item, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err := d.Token() // the closing bracket
		return items, err
	}
	return token, nil
}

func parseObject(d *json.Decoder) (*object, error) {
	o := &object{members: map[string]any{}}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if o.has(name.(string)) {
			return nil, fmt.Errorf("duplicate member %q in an object", name)
		}
		value, err := parseValue(d)
		if err != nil {
			return nil, err
		}
		o.names = append(o.names, name.(string))
		o.members[name.(string)] = value
	}
	_, err := d.Token() // the closing brace
	return o, err
}
