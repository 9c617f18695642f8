package conformance

import (
	"strings"
	"testing"

	"shelld.dev/shelld/conformance/internal/wire"
)

// TestMatch matches patterns with values; diff is "" or the first difference.
func TestMatch(t *testing.T) {
	for _, test := range []struct{ want, got, diff string }{
		{`1`, `1`, ""},
		{`1`, `1.0`, ""},
		{`100`, `1e2`, ""},
		{`1`, `2`, "the value: expected 1, got 2"},
		{`1`, `"1"`, `expected 1, got "1"`},
		{`9007199254740993`, `9007199254740992`, "expected 9007199254740993"},
		{`null`, `null`, ""},
		{`null`, `false`, "expected null, got false"},
		{`"a"`, `"b"`, `expected "a", got "b"`},
		{`{}`, `{"a":1}`, ""},
		{`{a: 1}`, `{"a":1,"b":2}`, ""},
		{`{a: {b: 1}}`, `{"a":{"b":2}}`, "/a/b: expected 1, got 2"},
		{`{a: 1}`, `{"b":2}`, "/a: expected a member a, got none; there are b"},
		{`{a: 1}`, `[]`, "expected an object, got []"},
		{`{a: @absent}`, `{"b":1}`, ""},
		{`{a: @absent}`, `{"a":null}`, "/a: expected no such member, got null"},
		{`@exactly {a: 1}`, `{"a":1}`, ""},
		{`@exactly {a: 1}`, `{"a":1,"b":2}`, "/b: expected no such member, got 2"},
		{`@exactly {a: 1, b: @absent}`, `{"a":1}`, ""},
		{`[1, 2]`, `[1,2]`, ""},
		{`[1, 2]`, `[1,2,3]`, "expected 2 elements, got 3"},
		{`[1, 2]`, `[1]`, "expected another element, got only 1"},
		{`[1, 2]`, `[1,3]`, "/1: expected 2, got 3"},
		{`[..., 3]`, `[1,2,3]`, ""},
		{`[1, ..., 3, ...]`, `[1,3]`, ""},
		{`[...]`, `[]`, ""},
		{`[..., 3, ..., 3]`, `[3,1,3,2,3]`, ""},
		{`[..., 4]`, `[1,2,3]`, "expected 4, got 1"},
		{`@unordered [1, 2]`, `[2,1]`, ""},
		{`@unordered [1, 2]`, `[2,1,1]`, "expected no further element, got [1]"},
		{`@unordered [1, ...]`, `[2,1,1]`, ""},
		{`@unordered [3]`, `[2,1]`, "expected an element like the one here, got only [2,1]"},
		{`@int`, `3.0`, ""},
		{`@int`, `3.5`, "expected @int, got 3.5"},
		{`@number`, `3.5`, ""},
		{`@string`, `3`, "expected @string"},
		{`@bool`, `true`, ""},
		{`@array`, `[]`, ""},
		{`@object`, `[]`, "expected @object"},
		{`@any`, `null`, ""},
		{`@nonempty`, `""`, "expected @nonempty"},
		{`@nonempty`, `[0]`, ""},
		{`@time`, `"2026-11-20T13:49:18.988Z"`, ""},
		{`@time`, `"yesterday"`, "expected @time"},
		{`@len 2`, `"üx"`, ""},
		{`@len 2`, `[1]`, "(its length): expected 2, got 1"},
		{`@len >= 1`, `{"a":1}`, ""},
		{`@len 2`, `2`, "expected something with a length"},
		{`>= 3`, `3`, ""},
		{`> 3`, `3`, "expected a number > 3, got 3"},
		{`< 1e3`, `999.5`, ""},
		{`<= 3`, `"3"`, `expected a number <= 3, got "3"`},
		{`>= 0`, `1e999999999`, "expected a number >= 0"},
		{`~"^a+$"`, `"aaa"`, ""},
		{`~"b"`, `"aaa"`, `expected a string that matches "b", got "aaa"`},
		{"~`\\d`", `"x1"`, ""},
		{`~"("`, `"x"`, "this is no regular expression"},
		{`@repeat 3 "ab"`, `"ababab"`, ""},
		{`{a: $x, b: $x}`, `{"a":1,"b":1}`, ""},
		{`{a: $x, b: $x}`, `{"a":1,"b":2}`, "/b: expected 1 ($x), got 2"},
		{`{a: $x, b: $x + 2}`, `{"a":1,"b":3}`, ""},
		{`{a: $x, b: $x - 2}`, `{"a":1,"b":3}`, "/b: expected -1 ($x), got 3"},
		{`{a: $x, b: "<${x}>"}`, `{"a":1,"b":"<1>"}`, ""},
		{`{a: $x, b: ~"^${x}$"}`, `{"a":"a.c","b":"abc"}`, "/b: expected"},
		{`{a: $x:int}`, `{"a":"1"}`, `/a: expected @int, got "1"`},
		{`{a: $x + 1}`, `{"a":1}`, "the variable $x has no value yet"},
		{`{a: $x, b: $x + 1}`, `{"a":"s","b":1}`, "is no integer"},
		{`"$${x}"`, `"${x}"`, ""},
		{`{a: 1, // a comment
		  b: 2,}`, `{"a":1,"b":2}`, ""},
	} {
		want, err := parseValue("t", 1, test.want)
		if err != nil {
			t.Errorf("%s: %v", test.want, err)
			continue
		}
		got, err := wire.Decode([]byte(test.got))
		if err != nil {
			t.Fatal(err)
		}
		err = match(want, got, vars{})
		if (err == nil) != (test.diff == "") || err != nil && !strings.Contains(err.Error(), test.diff) {
			t.Errorf("%s against %s:\n got %v\nwant %s", test.want, test.got, err, test.diff)
		}
	}
}

// TestMatchBinds checks that variables are bound only if the whole pattern matches.
func TestMatchBinds(t *testing.T) {
	v := vars{}
	want, err := parseValue("t", 1, `{a: $x, b: 1}`)
	if err != nil {
		t.Fatal(err)
	}
	if match(want, map[string]any{"a": wire.Number("7"), "b": wire.Number("2")}, v) == nil || len(v) != 0 {
		t.Errorf("bound by what did not fit: %v", v)
	}
	if err := match(want, map[string]any{"a": wire.Number("7"), "b": wire.Number("1")}, v); err != nil || v["x"] != wire.Number("7") {
		t.Errorf("%v, %v", err, v)
	}
}

// TestDecode checks that invalid JSON is rejected, and JSON that readers interpret differently.
func TestDecode(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{"a":1} x`, "there is more behind"},
		{`{"a":1} {}`, "there is more behind"},
		{`{"a":1,"a":1}`, "is there twice"},
		{strings.Repeat("[", 2000), "nested deeper"},
		{``, "EOF"},
		{`{"a"`, "EOF"},
	} {
		if _, err := wire.Decode([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40s: %v, not %s", test.text, err, test.want)
		}
	}
}
