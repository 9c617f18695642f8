//go:build linux

package conformance

import (
	"strings"
	"testing"

	"shelld.dev/shelld/conformance/internal/wire"
)

// TestProblem checks that the error for a schema violation names the member, in plain words.
func TestProblem(t *testing.T) {
	c := contract(t)
	for _, test := range []struct{ method, params, want string }{
		{"job/write", `{}`, "params of job/write: lacks the member 'handle'"},
		{"job/write", `{"handle": 1, "colour": "red"}`, "params of job/write: has a member that the schema does not know: 'colour'"},
		{"job/write", `{"handle": 1, "a": 1, "b": 2}`, "params of job/write: has members that the schema does not know: 'a', 'b'"},
		{"job/write", `{"handle": 1, "input": "x", "send": []}`, "params of job/write: has members that the schema does not allow together"},
		{"job/start", `{"argv": []}`, "params of job/start: /argv: must have at least 1 elements, and has 0"},
		{"job/wait", `{"handle": 1, "until": [{"exit": 1}]}`, "params of job/wait: /until/0/exit: "},
	} {
		v, err := wire.Decode([]byte(test.params))
		if err != nil {
			t.Fatal(err)
		}
		if why := c.params(test.method, v); !strings.HasPrefix(why, test.want) {
			t.Errorf("%s %s:\n got %s\nwant %s", test.method, test.params, why, test.want)
		}
	}
	if why := c.result("job/start", map[string]any{}); why != "result of job/start: lacks the member 'job'" {
		t.Error(why)
	}
	failure := map[string]any{"code": wire.Number("-32010"), "message": "no", "data": map[string]any{"kind": "jobNotFound"}}
	if why := c.failure(failure, "job/get"); !strings.HasPrefix(why, "data of the error jobNotFound: lacks the member") {
		t.Error(why)
	}
}

// TestNoJargon checks that the validator's terms do not appear in its errors about the schema files.
func TestNoJargon(t *testing.T) {
	for message, want := range map[string]string{
		"property 'a' is required, if 'b' property exists":     "lacks the member 'a', which belongs to 'b'",
		"minimum 1 properties allowed, but found 0 properties": "must have at least 1 members, and has 0",
		"maximum 2 properties allowed, but found 3 properties": "must have at most 2 members, and has 3",
		"maximum 2 items required, but found 3 items":          "must have at most 2 elements, and has 3",
		"length must be >= 1, but got 0":                       "must have >= 1 characters, and has 0",
		"additionalProperties 'b', 'a' not allowed":            "has members that the schema does not know: 'a', 'b'",
		"valid against schemas at indexes 0 and 1":             "fits several forms of which it may have one alone",
		"expected integer, but got string":                     "expected integer, but got string",
	} {
		if got := inWords(message); got != want {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}
