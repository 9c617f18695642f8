package rpc

import (
	"encoding/json"
	"reflect"
)

// cleanData returns a copy of an error's data with clean applied to every text. The protocol's own words are unchanged:
// the member kind, and enumeration values, which have a type of their own.
func cleanData(data any, clean func(string) string) any {
	if data == nil {
		return nil
	}
	return cleanValue(reflect.ValueOf(data), clean).Interface()
}

var (
	textType = reflect.TypeFor[string]()
	jsonType = reflect.TypeFor[json.RawMessage]()
)

func cleanValue(v reflect.Value, clean func(string) string) reflect.Value {
	switch t := v.Type(); {
	case t == textType:
		return reflect.ValueOf(clean(v.String()))
	case t == jsonType:
		return reflect.ValueOf(cleanJSON(v.Bytes(), clean))
	case t.Kind() == reflect.Struct:
		c := reflect.New(t).Elem()
		c.Set(v)
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Name != "Kind" {
				c.Field(i).Set(cleanValue(v.Field(i), clean))
			}
		}
		return c
	case t.Kind() == reflect.Pointer && !v.IsNil():
		c := reflect.New(t.Elem())
		c.Elem().Set(cleanValue(v.Elem(), clean))
		return c
	case t.Kind() == reflect.Slice && !v.IsNil():
		c := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(cleanValue(v.Index(i), clean))
		}
		return c
	case t.Kind() == reflect.Map && !v.IsNil():
		c := reflect.MakeMap(t)
		for i := v.MapRange(); i.Next(); {
			c.SetMapIndex(i.Key(), cleanValue(i.Value(), clean))
		}
		return c
	}
	return v
}

// cleanJSON drops a text that clean would change: it is the name of a job, and *** is not a name.
func cleanJSON(raw json.RawMessage, clean func(string) string) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil && clean(text) != text {
		return nil
	}
	return raw
}
