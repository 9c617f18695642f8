package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxFields is the maximum number of mistakes in one error. More do not help, and a hostile value could have millions.
const maxFields = 20

// explain turns a failure into an error. Its texts come from the schema files and the value, never from the validator,
// so that they can be better than the validator's and do not change with its version.
func explain(f failure, value any) *InvalidError {
	e := explainer{value: value}
	e.visit(f)
	slices.SortFunc(e.fields, func(a, b FieldError) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	e.fields = slices.CompactFunc(e.fields, func(a, b FieldError) bool {
		return a.Pointer == b.Pointer && a.Message == b.Message
	})
	if len(e.fields) > maxFields {
		e.fields = e.fields[:maxFields]
	}
	for i := range e.fields {
		e.fields[i].Pointer = shortPointer(e.fields[i].Pointer)
	}
	return &InvalidError{Fields: e.fields}
}

// explainer collects the mistakes in one value.
type explainer struct {
	value  any
	fields []FieldError
}

// site is the place of a failure: a keyword of a schema, and the value that failed it.
type site struct {
	keyword string   // the keyword, such as "required"
	node    document // the schema that has it
	object  document // the schema of the object that node adds to, or node itself
	pointer string   // to the value
	value   any      // the value; for a member's name, the name
	isName  bool     // the name of a member failed
}

func (e *explainer) visit(f failure) {
	if tokens := keywordTokens(f); len(tokens) > 0 {
		if last := tokens[len(tokens)-1]; last == "oneOf" || last == "anyOf" {
			e.union(f)
			return
		}
	}
	if len(f.causes) == 0 {
		e.leaf(e.siteOf(f))
		return
	}
	for _, cause := range f.causes {
		e.visit(cause)
	}
}

// keywordTokens returns the JSON pointer of the keyword that failed, within its file.
func keywordTokens(f failure) []string {
	_, fragment, _ := strings.Cut(f.keyword, "#")
	return pointerTokens(fragment)
}

// siteOf returns the schema and the value of a failure.
func (e *explainer) siteOf(f failure) site {
	file, _, _ := strings.Cut(f.keyword, "#")
	tokens := keywordTokens(f)
	s := site{pointer: plainPointer(f.instance)}
	s.value = lookUp(e.value, pointerTokens(f.instance))
	if strings.Contains(f.path, "/propertyNames") {
		names := pointerTokens(f.instance)
		s.isName, s.value = true, names[len(names)-1]
	}
	// dependentRequired names the member and its index in a list; the others end in the keyword itself.
	if n := len(tokens); n >= 3 && tokens[n-3] == "dependentRequired" {
		s.keyword = tokens[n-3]
		s.node, _ = lookUp(documents()[file], tokens[:n-3]).(document)
		s.pointer += "/" + escapeToken(tokens[n-2])
		s.value = []any{tokens[n-2], s.node[s.keyword].(document)[tokens[n-2]]}
		return s
	}
	if n := len(tokens); n > 0 {
		s.keyword = tokens[n-1]
		s.node, _ = lookUp(documents()[file], tokens[:n-1]).(document)
		s.object = s.node
		if n >= 3 && tokens[n-3] == "dependentSchemas" {
			s.object, _ = lookUp(documents()[file], tokens[:n-3]).(document)
		}
	}
	return s
}

// leaf explains a keyword that failed by itself.
func (e *explainer) leaf(s site) {
	switch s.keyword {
	case "additionalProperties":
		e.unknownMembers(s)
	case "required":
		e.missingMembers(s)
	case "type":
		e.add(s.wrong(typesOf(s.node), describe(s.value)))
	case "const":
		e.add(s.wrong(literal(s.node["const"]), describe(s.value)))
	case "enum":
		field := notOneOf(s.pointer, s.value, stringsOf(s.node["enum"]))
		if s.isName {
			field.Message = "the name " + field.Message
		}
		e.add(field)
	case "pattern":
		e.add(s.wrong(expectedOf(s.node), quoteShort(s.value)))
	case "minimum", "maximum":
		e.add(s.wrong(rangeOf(s.node, s.keyword), describeNumber(s.value)))
	case "minLength", "maxLength":
		text, _ := s.value.(string)
		e.size(s, len([]rune(text)), "character")
	case "minItems", "maxItems":
		items, _ := s.value.([]any)
		e.size(s, len(items), "item")
	case "minProperties", "maxProperties":
		members, _ := s.value.(map[string]any)
		e.size(s, len(members), "member")
	case "not":
		e.excluded(s)
	case "dependentRequired":
		pair := s.value.([]any)
		e.add(FieldError{Pointer: s.pointer, Message: fmt.Sprintf("%q is only allowed with %s", pair[0], quotedList(stringsOf(pair[1]), "and"))})
	default:
		e.add(FieldError{Pointer: s.pointer, Message: "does not fit the schema's " + s.keyword})
	}
}

// size explains a value that is too small or too large. If that means too few or too many members, it names the members
// to choose from.
func (e *explainer) size(s site, n int, unit string) {
	if names := stringsOf(s.object["x-exactlyOne"]); names != nil {
		// If exactly one of them is there, the surplus is another member, which is reported separately.
		if c := choiceOfNames(names); len(c.present(s)) != 1 {
			e.add(c.explain(s))
		}
		return
	}
	bound := "at most "
	if strings.HasPrefix(s.keyword, "min") {
		bound = "at least "
	}
	e.add(s.wrong(bound+countText(number(s.node[s.keyword]), unit), count(n, unit)))
}

func (e *explainer) add(f FieldError) {
	e.fields = append(e.fields, f)
}

// wrong returns the field error for a value, or for a member's name, that is not the expected one.
func (s site) wrong(expected, got string) FieldError {
	subject := ""
	if s.isName {
		subject = "the name: "
	}
	return FieldError{
		Pointer:  s.pointer,
		Message:  fmt.Sprintf("%sexpected %s, got %s", subject, expected, got),
		Expected: expected,
		Got:      got,
	}
}

// notOneOf returns the field error for a value that is not one of the allowed ones.
func notOneOf(pointer string, value any, allowed []string) FieldError {
	f := FieldError{Pointer: pointer, Got: quoteShort(value)}
	name, _ := value.(string)
	f.DidYouMean, f.Allowed = suggest(name, allowed)
	f.Expected = quotedList(f.Allowed, "or")
	if len(f.Allowed) < len(allowed) {
		f.Message = f.Got + " is not allowed here"
	} else {
		f.Message = f.Got + " is not " + f.Expected
	}
	f.Message += didYouMean(f.DidYouMean)
	return f
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", name)
}

// unknownMembers explains members that the schema does not have.
func (e *explainer) unknownMembers(s site) {
	members, _ := s.value.(map[string]any)
	known, _ := s.node["properties"].(document)
	var unknown []string
	for name := range members {
		if _, ok := known[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	// A wrong name never means _meta, and listing _meta would not help.
	allowed := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(name string) bool { return name == "_meta" })
	for _, name := range unknown[:min(len(unknown), maxFields)] {
		f := FieldError{Pointer: s.pointer + "/" + escapeToken(name)}
		var meant bool
		f.DidYouMean, f.Allowed, meant = suggestMember(name, allowed)
		if _, is := members[f.DidYouMean]; is { // An existing member was not meant.
			f.DidYouMean, f.Allowed, meant = suggestMember(name, notIn(allowed, members))
		}
		f.Message = "unknown member " + quoteShort(name) + didYouMean(f.DidYouMean)
		if property, ok := known[f.DidYouMean].(document); ok && meant && resolve(property)["enum"] != nil {
			f.Message = strings.TrimSuffix(f.Message, "?") + ", which is " + expectedOf(property) + "?"
		}
		e.add(f)
	}
}

// notIn returns the names that are not members yet.
func notIn(names []string, members map[string]any) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, is := members[name]
		return is
	})
}

// missingMembers explains required members that are missing.
func (e *explainer) missingMembers(s site) {
	members, _ := s.value.(map[string]any)
	properties, _ := s.node["properties"].(document)
	for _, name := range stringsOf(s.node["required"]) {
		if _, ok := members[name]; ok {
			continue
		}
		f := FieldError{Pointer: s.pointer, Message: fmt.Sprintf("member %q is missing", name)}
		if property, ok := properties[name].(document); ok {
			f.Expected = expectedOf(property)
		}
		e.add(f)
	}
}

// excluded explains members that exclude each other.
func (e *explainer) excluded(s site) {
	not, _ := s.node["not"].(document)
	names := stringsOf(not["required"])
	f := FieldError{Pointer: s.pointer, Message: "does not fit the schema's not"}
	switch len(names) {
	case 0:
	case 1:
		f.Message = fmt.Sprintf("member %q is not allowed here", names[0])
	default:
		f.Message = quotedList(names, "and") + " exclude each other; give one of them"
		f.Allowed = names
	}
	e.add(f)
}

// union explains a value that fits none of several schemas, or more than one.
func (e *explainer) union(f failure) {
	s := e.siteOf(f)
	branches, _ := s.node[s.keyword].([]any)
	if choice, ok := choiceOf(branches); ok {
		e.add(choice.explain(s))
		return
	}
	// If only one branch takes this type of value, that one was meant.
	var meant []failure
	for _, cause := range f.causes {
		if !e.otherKind(cause, f.instance) {
			meant = append(meant, cause)
		}
	}
	switch len(meant) {
	case 0:
		e.add(s.wrong(expectedOf(s.node), describe(s.value)))
	case 1:
		told := len(e.fields)
		e.visit(meant[0])
		e.widen(e.fields[told:], s)
	default:
		e.add(FieldError{Pointer: s.pointer, Message: "has none of the allowed forms", Expected: expectedOf(s.node)})
	}
}

// widen adds the alternatives of a union to the error about a word that the union does not have.
func (e *explainer) widen(fields []FieldError, s site) {
	words, ok := s.node["x-expected"].(string)
	for i := range fields {
		if f := &fields[i]; ok && f.Pointer == s.pointer && len(f.Allowed) > 0 {
			f.Expected = words
			f.Message = f.Got + " is not " + words + didYouMean(f.DidYouMean)
		}
	}
}

// otherKind reports whether a branch failed because the value has another JSON type than the branch takes.
func (e *explainer) otherKind(f failure, instance string) bool {
	if len(f.causes) > 0 {
		return slices.ContainsFunc(f.causes, func(c failure) bool { return e.otherKind(c, instance) })
	}
	if f.instance != instance {
		return false
	}
	switch s := e.siteOf(f); s.keyword {
	case "type":
		return true
	case "const":
		return typeOf(s.node["const"]) != typeOf(s.value)
	}
	return false
}

// choice is a oneOf that requires exactly one of some members, or of some groups of members.
type choice [][]string

// choiceOf reads a oneOf whose branches consist only of required.
func choiceOf(branches []any) (choice, bool) {
	var c choice
	for _, branch := range branches {
		node, _ := branch.(document)
		names := stringsOf(node["required"])
		if len(node) != 1 || len(names) == 0 {
			return nil, false
		}
		c = append(c, names)
	}
	return c, len(c) > 0
}

// choiceOfNames returns the choice between single members.
func choiceOfNames(names []string) choice {
	var c choice
	for _, name := range names {
		c = append(c, []string{name})
	}
	return c
}

// present returns the members of the choice that the value has.
func (c choice) present(s site) []string {
	members, _ := s.value.(map[string]any)
	var names []string
	for _, name := range slices.Concat(c...) {
		if _, ok := members[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

func (c choice) explain(s site) FieldError {
	var options []string
	for _, group := range c {
		options = append(options, joinList(group, "and"))
	}
	f := FieldError{Pointer: s.pointer, Allowed: options, Got: "none"}
	f.Expected = "exactly one of " + joinList(options, "and")
	if names := c.present(s); len(names) > 0 {
		f.Got = joinList(names, "and")
	}
	f.Message = "needs " + f.Expected + ", has " + f.Got
	return f
}

// pointerTokens splits a pointer of the validator. Its tokens are escaped for a JSON pointer and then for a URL.
func pointerTokens(pointer string) []string {
	var tokens []string
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if token == "" && pointer == "" {
			return nil
		}
		if t, err := url.PathUnescape(token); err == nil {
			token = t
		}
		tokens = append(tokens, strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
	}
	return tokens
}

// plainPointer converts a pointer of the validator to the form of RFC 6901.
func plainPointer(pointer string) string {
	var b strings.Builder
	for _, token := range pointerTokens(pointer) {
		b.WriteString("/" + escapeToken(token))
	}
	return b.String()
}

// maxPointer is the maximum length of a pointer in an error. The names in it are the sender's, which may be as long as
// a message.
const maxPointer = 1024

// shortPointer cuts a long pointer at a parent object.
func shortPointer(pointer string) string {
	if len(pointer) <= maxPointer {
		return pointer
	}
	return pointer[:strings.LastIndexByte(pointer[:maxPointer], '/')]
}

func escapeToken(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// lookUp follows a pointer. It returns nil if the pointer leads nowhere.
func lookUp(value any, tokens []string) any {
	for _, token := range tokens {
		switch v := value.(type) {
		case map[string]any:
			value = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// typeOf returns the JSON type of a decoded value.
func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
