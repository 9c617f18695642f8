package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// unknowns are the members of a decoded value that its type does not have, by exact name. Only initialize may have such
// members: those of later versions of the protocol are ignored there, and so are most names that are nearly those of
// members (ignored.go).
type unknowns []unknown

// forget removes the unknown members from a value at a pointer, and adds them to u.
func (u *unknowns) forget(at string, value any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for i, item := range v {
				u.forget(at+"/"+strconv.Itoa(i), item, t.Elem())
			}
		}
	case map[string]any:
		switch {
		case t.Kind() == reflect.Map:
			for name, member := range v {
				u.forget(at+"/"+escapeToken(name), member, t.Elem())
			}
		case t.Kind() != reflect.Struct:
		case reflect.PointerTo(t).Implements(unmarshaler):
			if f, ok := t.FieldByName("Value"); ok { // a Nullable
				u.forget(at, v, f.Type)
			}
		default:
			u.forgetMembers(at, v, t)
		}
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (u *unknowns) forgetMembers(at string, members map[string]any, t reflect.Type) {
	known := membersOf(t)
	for name, member := range members {
		if ft, ok := known[name]; ok {
			u.forget(at+"/"+escapeToken(name), member, ft)
		} else {
			*u = append(*u, unknown{at, name, known})
			delete(members, name)
		}
	}
}

// membersOf returns the types of the members of a struct.
func membersOf(t reflect.Type) map[string]reflect.Type {
	known := make(map[string]reflect.Type, t.NumField())
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = f.Type
	}
	return known
}
