package schema

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// protecting are the members of initialize that keep something from being done, by the
// pointer of the object that they belong to. A client that misspells one takes itself for
// protected and is not: so what is nearly one of them is refused, where any other unknown
// member is ignored. No later version of the protocol names a member so.
var protecting = map[string][]string{
	"":                 {"options", "allowedDirectories"},
	"/options":         {"allowCommands", "denyCommands", "confirm", "secretInput"},
	"/options/confirm": {"start", "write", "kill"},
	"/options/env":     {"inherit", "exclude"},
}

// An unknown is a member that the type of the object at a pointer does not have.
type unknown struct {
	at, name string
	known    map[string]reflect.Type
}

func (u unknown) pointer() string { return shortPointer(u.at + "/" + escapeToken(u.name)) }

// DecodeInitialize is DecodeParams for initialize, and returns as well what is ignored of
// the params: at most maxFields members, sorted by Pointer. A member that is nearly one of
// those that protect is an *InvalidError.
func DecodeInitialize(params []byte, into *InitializeParams) (ignored []FieldError, err error) {
	value, err := validParams("initialize", params)
	if err != nil {
		return nil, err
	}
	var u unknowns
	u.forget("", value, reflect.TypeOf(into))
	u = slices.DeleteFunc(u, func(m unknown) bool { return m.name == "_meta" }) // which is free for anyone
	slices.SortFunc(u, func(a, b unknown) int { return cmp.Compare(a.pointer(), b.pointer()) })
	var refused []FieldError
	for _, m := range u {
		if home, meant := protects(m.at, m.name); meant != "" && len(refused) < maxFields {
			refused = append(refused, FieldError{
				Pointer: m.pointer(), DidYouMean: meant,
				Message: fmt.Sprintf("unknown member %s; did you mean %s/%s? What may be meant to restrict something is not ignored", quoteShort(m.name), home, meant),
			})
		}
	}
	if refused != nil {
		return nil, &InvalidError{Fields: refused}
	}
	for _, m := range u[:min(len(u), maxFields)] {
		ignored = append(ignored, m.ignored())
	}
	return ignored, store("initialize", value, into)
}

// ignored tells of a member that is left out.
func (u unknown) ignored() FieldError {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(u.known)), func(name string) bool { return name == "_meta" })
	f := FieldError{Pointer: u.pointer()}
	f.DidYouMean, _, _ = suggestMember(u.name, names)
	f.Message = "unknown member " + quoteShort(u.name) + " was ignored" + didYouMean(f.DidYouMean)
	return f
}

// protects finds the protecting member that an unknown one is nearly, and the object where
// that belongs. Those of params and of options are mistaken for each other's.
func protects(at, name string) (home, meant string) {
	homes := []string{at}
	switch at {
	case "":
		homes = append(homes, "/options")
	case "/options":
		homes = append(homes, "")
	}
	for _, home := range homes {
		for _, member := range protecting[home] {
			if nearly(name, member) {
				return home, member
			}
		}
	}
	return "", ""
}

// nearly says whether a name is another one misspelt or cut short. One that goes on where the
// other ends, as confirmTimeoutMs does, may be a later version's.
func nearly(name, member string) bool {
	if len(name) < 3 || len(name) > 2*len(member) {
		return false
	}
	a, b := strings.ToLower(name), strings.ToLower(member)
	limit := max(1, max(len(a), len(b))/3)
	return strings.HasPrefix(b, a) || len(b)-len(a) <= limit && editDistance([]rune(a), []rune(b)) <= limit
}
