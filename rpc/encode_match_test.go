package rpc

import (
	"encoding/json"
	"reflect"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestAppendMatched: the params of a match are encoded as encoding/json would do it. One of them has every member set,
// so that a new member is not forgotten.
func TestAppendMatched(t *testing.T) {
	text := "a \"b\" \\ \x00\x1b é 日本 \u2028 </script>"
	all := schema.JobPatternMatchedParams{
		Handle: 1, Seq: 2, N: new(int64(9)), WatchID: 3, Match: text, Groups: schema.List[*string]{&text, nil, new("")},
		Named: schema.Map[*string]{"b": &text, "a": nil}, Line: text, Stream: schema.StreamPty, Offset: 4, EndOffset: 5,
		Suppressed: new(int64(6)), Truncated: new(true), Row: new(int64(7)), Col: new(int64(8)),
	}
	if v := reflect.ValueOf(all); v.NumField() != 16 {
		t.Errorf("there are %d members: see that appendMatched has them all", v.NumField())
	}
	for _, p := range []schema.JobPatternMatchedParams{all, {}, {Match: "\xff half", Groups: schema.List[*string]{}}} {
		want, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var got, told any
		if err := json.Unmarshal(appendMatched(nil, &p), &got); err != nil {
			t.Fatalf("%v in %s", err, appendMatched(nil, &p))
		}
		if err := json.Unmarshal(want, &told); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, told) {
			t.Errorf("%s, want %s", appendMatched(nil, &p), want)
		}
	}
}
