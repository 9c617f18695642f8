package schema

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// inCI is set by go test ./schema -ci, which .ci/run uses.
var inCI = flag.Bool("ci", false, "run as much of the tests as .ci/run does")

// TestRulesAgree compares the generated rules with the validator's library: for every definition, its samples, and
// samples with one change.
func TestRulesAgree(t *testing.T) {
	var accepted, refused int
	changes := 5 // of each sample
	if *inCI {
		changes = 15
	}
	for _, definition := range definitions() {
		compiledSchema, err := schemaFor(definition)
		if err != nil {
			t.Fatal(err)
		}
		rule := ruleFor(definition)
		if rule == nil {
			t.Errorf("there is no rule for %s", definition)
			continue
		}
		agree := func(value any) {
			want := compiledSchema.Validate(value) == nil
			if want {
				accepted++
			} else {
				refused++
			}
			if got := rule.fits(value); got != want {
				text, _ := json.Marshal(value)
				t.Errorf("%s: the rule says %t, the schema %t, of %.300s", definition, got, want, text)
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for _, full := range []bool{true, false} {
			for _, sample := range samples(definition, full) {
				agree(sample)
				for range changes {
					agree(mutated(sample, random))
				}
			}
		}
	}
	if accepted < 1000 || refused < 5000 {
		t.Errorf("only %d values that fit were compared and %d that do not: the samples or the changes are too few", accepted, refused)
	}
}

func definitions() []string {
	var list []string
	for url, doc := range documents() {
		file := strings.TrimSuffix(strings.TrimPrefix(url, base), suffix)
		defs, _ := doc["$defs"].(document)
		for name := range defs {
			list = append(list, file+"#/$defs/"+name)
		}
	}
	slices.Sort(list)
	return list
}

// strange are values to put in place of others: of each type, and at the limits of the schemas.
var strange = []any{
	nil, true, false, "", "x", "-x", "a\x00b", "SIGINT", "ü", strings.Repeat("n", 65), strings.Repeat("ü", 200),
	json.Number("0"), json.Number("1"), json.Number("-1"), json.Number("1.5"), json.Number("65535"), json.Number("65536"),
	json.Number("9007199254740991"), json.Number("9007199254740992"), json.Number("1e3"),
	[]any{}, []any{"x"}, []any{"", ""}, []any{json.Number("1"), json.Number("2"), json.Number("3")},
	map[string]any{}, map[string]any{"unknown": true}, map[string]any{"handle": json.Number("1")},
}

// mutated returns a copy of a value with one change at a random place: another value, a member or an item less, or one
// more.
func mutated(value any, random *rand.Rand) any {
	other := strange[random.IntN(len(strange))]
	switch v := value.(type) {
	case map[string]any:
		v = maps.Clone(v)
		names := slices.Sorted(maps.Keys(v))
		switch n := random.IntN(10); {
		case n == 0:
			return other
		case n == 1 || len(names) == 0:
			v[[]string{"unknown", "handle", "pattern", "flags", "command"}[random.IntN(5)]] = other
		case n < 4:
			delete(v, names[random.IntN(len(names))])
		default:
			name := names[random.IntN(len(names))]
			v[name] = mutated(v[name], random)
		}
		return v
	case []any:
		v = slices.Clone(v)
		switch n := random.IntN(10); {
		case n == 0:
			return other
		case n < 3 || len(v) == 0:
			return append(v, other)
		case n < 5:
			return v[1:]
		default:
			i := random.IntN(len(v))
			v[i] = mutated(v[i], random)
		}
		return v
	}
	return other
}

// TestValidNeedsNoCompiler: valid values are recognised without the library, for which a starting server would have to
// wait.
func TestValidNeedsNoCompiler(t *testing.T) {
	compiled.schemas.Clear()
	for _, test := range [][2]string{
		{"initialize", `{"clientInfo":{"name":"x"},"options":{"persist":{"mode":"memory"}}}`},
		{"job/exec", `{"handle":1,"command":"ls"}`},
	} {
		if err := ValidateParams(test[0], []byte(test[1])); err != nil {
			t.Errorf("%s %s: %v", test[0], test[1], err)
		}
	}
	compiled.schemas.Range(func(definition, _ any) bool {
		t.Errorf("%s was compiled, though the params fit", definition)
		return true
	})
}
