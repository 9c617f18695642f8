package schema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// The validator's library compiles a schema before it can check with it, and that took more than two thirds of a
// server's start. So valid values are recognised here, by rules that are generated from the schema files. Only the
// library decides whether and why a value is invalid: a value that does not fit a rule goes to it. A test checks for
// every definition that both agree (TestRulesAgree).

// A rule is one schema. A zero field constrains nothing; rules_gen.go has the values.
type rule struct {
	never        bool // the schema false
	types        types
	ref          *rule
	enum         []any // string, bool or json.Number
	not          *rule
	oneOf, allOf []*rule

	minimum, maximum *bound // of a number

	minLength, maxLength *size // of a string, in characters
	pattern              *pattern

	minItems, maxItems *size // of an array
	prefixItems        []*rule
	items              *rule // of the items after prefixItems

	minProperties, maxProperties *size // of an object
	required                     []string
	properties                   []namedRule // sorted
	additionalProperties         *rule       // of the members that are not in properties
	propertyNames                *rule
	dependentRequired            []dependency
	dependentSchemas             []namedRule
}

type namedRule struct {
	name string
	rule *rule
}

// A dependency lists the members that must be there if the named one is.
type dependency struct {
	name     string
	required []string
}

type (
	bound struct{ value float64 }
	size  struct{ value int }
)

// A pattern is compiled when it is first used.
type pattern struct {
	source string
	once   sync.Once
	re     *regexp.Regexp
}

func (p *pattern) matches(s string) bool {
	p.once.Do(func() { p.re = regexp.MustCompile(p.source) })
	return p.re.MatchString(s)
}

// types is a set of JSON types.
type types uint8

const (
	isNull types = 1 << iota
	isBoolean
	isInteger
	isNumber // an integer value has isInteger and isNumber
	isString
	isArray
	isObject
)

func kindsOf(value any) types {
	switch v := value.(type) {
	case nil:
		return isNull
	case bool:
		return isBoolean
	case json.Number:
		if isDigits(string(tameNumber(v))) {
			return isInteger | isNumber
		}
		return isNumber
	case string:
		return isString
	case []any:
		return isArray
	}
	return isObject
}

// ruleFor returns the rule of a definition, such as "job-start#/$defs/params"; nil if there is none.
func ruleFor(definition string) *rule {
	return findRule(rules, definition)
}

func findRule(sorted []namedRule, name string) *rule {
	i, found := slices.BinarySearchFunc(sorted, name, func(n namedRule, name string) int {
		return strings.Compare(n.name, name)
	})
	if !found {
		return nil
	}
	return sorted[i].rule
}

// fits reports whether a value, as decode returns it, fits the rule. A nil rule fits everything.
func (r *rule) fits(value any) bool {
	switch {
	case r == nil:
		return true
	case r.never,
		r.types != 0 && r.types&kindsOf(value) == 0,
		!r.ref.fits(value),
		r.enum != nil && !slices.ContainsFunc(r.enum, func(c any) bool { return sameScalar(c, value) }),
		r.not != nil && r.not.fits(value),
		r.oneOf != nil && fitting(r.oneOf, value) != 1,
		fitting(r.allOf, value) != len(r.allOf):
		return false
	}
	switch v := value.(type) {
	case json.Number:
		return r.fitsNumber(v)
	case string:
		return r.fitsString(v)
	case []any:
		return r.fitsArray(v)
	case map[string]any:
		return r.fitsObject(v)
	}
	return true
}

func fitting(rules []*rule, value any) (n int) {
	for _, r := range rules {
		if r.fits(value) {
			n++
		}
	}
	return n
}

func sameScalar(constant, value any) bool {
	if n, ok := value.(json.Number); ok {
		c, ok := constant.(json.Number)
		return ok && tameNumber(c) == tameNumber(n)
	}
	switch value.(type) {
	case string, bool:
		return constant == value
	}
	return false
}

func (r *rule) fitsNumber(n json.Number) bool {
	if r.minimum == nil && r.maximum == nil {
		return true
	}
	f, err := strconv.ParseFloat(string(tameNumber(n)), 64)
	return err == nil && (r.minimum == nil || f >= r.minimum.value) && (r.maximum == nil || f <= r.maximum.value)
}

func (r *rule) fitsString(s string) bool {
	if r.minLength != nil || r.maxLength != nil {
		if !between(r.minLength, utf8.RuneCountInString(s), r.maxLength) {
			return false
		}
	}
	return r.pattern == nil || r.pattern.matches(s)
}

func between(least *size, n int, most *size) bool {
	return (least == nil || n >= least.value) && (most == nil || n <= most.value)
}

func (r *rule) fitsArray(items []any) bool {
	if !between(r.minItems, len(items), r.maxItems) {
		return false
	}
	for i, item := range items {
		want := r.items
		if i < len(r.prefixItems) {
			want = r.prefixItems[i]
		}
		if !want.fits(item) {
			return false
		}
	}
	return true
}

func (r *rule) fitsObject(members map[string]any) bool {
	if !between(r.minProperties, len(members), r.maxProperties) || !hasAll(members, r.required) {
		return false
	}
	for _, d := range r.dependentRequired {
		if _, ok := members[d.name]; ok && !hasAll(members, d.required) {
			return false
		}
	}
	for _, d := range r.dependentSchemas {
		if _, ok := members[d.name]; ok && !d.rule.fits(members) {
			return false
		}
	}
	for name, member := range members {
		want := findRule(r.properties, name)
		if want == nil {
			want = r.additionalProperties
		}
		if !want.fits(member) || !r.propertyNames.fits(name) {
			return false
		}
	}
	return true
}

func hasAll(members map[string]any, names []string) bool {
	for _, name := range names {
		if _, ok := members[name]; !ok {
			return false
		}
	}
	return true
}
