package schema

import (
	"encoding/json"
	"reflect"
	"strings"
)

// forgetUnknown takes out of a decoded value all members that its type does not have, by
// their exact names. Only initialize may have such: whatever a later version of the
// protocol knows is ignored there, and so is what is nearly the name of a member.
func forgetUnknown(value any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for _, item := range v {
				forgetUnknown(item, t.Elem())
			}
		}
	case map[string]any:
		switch {
		case t.Kind() == reflect.Map:
			for _, member := range v {
				forgetUnknown(member, t.Elem())
			}
		case t.Kind() != reflect.Struct:
		case reflect.PointerTo(t).Implements(unmarshaler):
			if f, ok := t.FieldByName("Value"); ok { // a Nullable
				forgetUnknown(v, f.Type)
			}
		default:
			forgetMembers(v, t)
		}
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func forgetMembers(members map[string]any, t reflect.Type) {
	known := make(map[string]reflect.Type, t.NumField())
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = f.Type
	}
	for name, member := range members {
		if ft, ok := known[name]; ok {
			forgetUnknown(member, ft)
		} else {
			delete(members, name)
		}
	}
}
