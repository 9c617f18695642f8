package schema

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// protecting are the members of initialize that impose restrictions, by the pointer of the object to which they belong.
// A client that misspells one believes that it is protected, but it is not. So a name that is nearly one of them is
// refused, although any other unknown member is ignored. No later version of the protocol will use such a name.
var protecting = map[string][]string{
	"":                 {"options", "allowedDirectories"},
	"/options":         {"allowCommands", "denyCommands", "confirm", "secretInput"},
	"/options/confirm": {"start", "write", "kill"},
	"/options/env":     {"inherit", "exclude"},
	"/session":         {"attach", "role", "share"},
}

// An unknown is a member that the type of the object at a pointer does not have.
type unknown struct {
	at, name string
	known    map[string]reflect.Type
}

func (u unknown) pointer() string { return shortPointer(u.at + "/" + escapeToken(u.name)) }

// ofSessions are the members of initialize for a server of a session that clients come back to, by the pointer of their
// object. To any other server they are unknown: it takes every value of them.
var ofSessions = map[string][]string{
	"":                {"session"},
	"/capabilities":   {"ping"},
	"/options/limits": {"pingMs", "lostMs"},
}

// DecodeInitialize is DecodeParams for initialize. It also returns the ignored members of the params: at most
// maxFields, sorted by Pointer. A member that is nearly one of the protecting ones is an *InvalidError. Without
// sessions, those that are about sessions are ignored as well.
func DecodeInitialize(params []byte, sessions bool, into *InitializeParams) (ignored []FieldError, err error) {
	value, err := decodeParams(params)
	if err != nil {
		return nil, err
	}
	var u unknowns
	if !sessions {
		u.forgetSessions(value)
	}
	if err := validate(fileName("initialize")+"#/$defs/params", value); err != nil {
		return nil, err
	}
	u.forget("", value, reflect.TypeOf(into))
	if !sessions {
		u.hideSessions()
	}
	u = slices.DeleteFunc(u, func(m unknown) bool { return m.name == "_meta" }) // The protocol leaves it to clients.
	slices.SortFunc(u, func(a, b unknown) int { return cmp.Compare(a.pointer(), b.pointer()) })
	var refused []FieldError
	for _, m := range u {
		if home, meant := protects(m.at, m.name); meant != "" && len(refused) < maxFields {
			refused = append(refused, FieldError{
				Pointer: m.pointer(), DidYouMean: meant,
				Message: fmt.Sprintf("unknown member %s; did you mean %s/%s? A name similar to a restriction is not ignored", quoteShort(m.name), home, meant),
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

// forgetSessions removes the members that are about sessions from a value that is not checked yet.
func (u *unknowns) forgetSessions(value any) {
	for at, names := range ofSessions {
		object := value
		t := reflect.TypeFor[InitializeParams]()
		for _, step := range strings.Split(at, "/")[1:] {
			members, _ := object.(map[string]any)
			object, t = members[step], membersOf(t)[step].Elem()
		}
		members, _ := object.(map[string]any)
		for _, name := range names {
			if _, given := members[name]; given {
				*u = append(*u, unknown{at, name, membersOf(t)})
				delete(members, name)
			}
		}
	}
}

// hideSessions keeps the members that are about sessions from being suggested.
func (u unknowns) hideSessions() {
	for _, m := range u {
		for _, name := range ofSessions[m.at] {
			delete(m.known, name)
		}
	}
}

// ignored returns the field error for an ignored member.
func (u unknown) ignored() FieldError {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(u.known)), func(name string) bool { return name == "_meta" })
	f := FieldError{Pointer: u.pointer()}
	f.DidYouMean, _, _ = suggestMember(u.name, names)
	f.Message = "unknown member " + quoteShort(u.name) + " was ignored" + didYouMean(f.DidYouMean)
	return f
}

// protects returns the protecting member of which an unknown one is nearly the name, and the object to which that
// belongs. Members of params and of options are also found if they are in the other object.
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

// nearly reports whether a name is a misspelling or the beginning of a member's name. A name that continues the
// member's, as confirmTimeoutMs does, may belong to a later version.
func nearly(name, member string) bool {
	if len(name) < 3 || len(name) > 2*len(member) {
		return false
	}
	a, b := strings.ToLower(name), strings.ToLower(member)
	limit := max(1, max(len(a), len(b))/3)
	return strings.HasPrefix(b, a) || len(b)-len(a) <= limit && editDistance([]rune(a), []rune(b)) <= limit
}
