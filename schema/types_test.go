package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestTypesRoundTrip checks that each generated type keeps every valid value of its definition, the fullest and the
// barest: nothing is unknown to it, lost, invented, or turned into null.
func TestTypesRoundTrip(t *testing.T) {
	for definition, value := range generatedTypes {
		typ := reflect.TypeOf(value)
		for _, full := range []bool{true, false} {
			list := samples(definition, full)
			if len(list) == 0 {
				t.Errorf("%s: there is no sample", definition)
			}
			for _, sample := range list {
				roundTrip(t, definition, typ, sample)
			}
		}
	}
}

func roundTrip(t *testing.T, definition string, typ reflect.Type, sample any) {
	t.Helper()
	data, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := validateJSON(definition, data); err != nil {
		t.Errorf("%s: the sample %s does not fit: %v", definition, data, err)
	}
	into := reflect.New(typ)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into.Interface()); err != nil {
		t.Errorf("%s: decode %s into %s: %v", definition, data, typ, err)
		return
	}
	again, err := json.Marshal(into.Elem().Interface())
	if err != nil {
		t.Errorf("%s: %v", definition, err)
		return
	}
	if err := validateJSON(definition, again); err != nil {
		t.Errorf("%s: %s writes %s: %v", definition, typ, again, err)
	}
	back, err := decode(again)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, plainJSON(t, data)) {
		t.Errorf("%s: %s wrote\n%s for\n%s", definition, typ, again, data)
	}
}

func plainJSON(t *testing.T, data []byte) any {
	t.Helper()
	value, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestTypesComplete checks that the table of types has the params and result of every method, so that
// TestTypesRoundTrip has them, too.
func TestTypesComplete(t *testing.T) {
	for _, m := range Methods() {
		for _, name := range []string{"params", "result"} {
			if name == "result" && !m.HasResult {
				continue
			}
			if generatedTypes[fileName(m.Name)+"#/$defs/"+name] == nil {
				t.Errorf("%s: there is no Go type for its %s", m.Name, name)
			}
		}
	}
}

// TestAbsentOrEmpty checks the distinctions on the wire that Go's own types lose.
func TestAbsentOrEmpty(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{JobListResult{}, `{"jobs":[]}`},
		{JobListResult{Jobs: []JobInfo{}}, `{"jobs":[]}`},
		{JobState{Handle: 1, Status: StatusRunning}, `{"handle":1,"status":"running","streams":{}}`},
		{JobStartParams{}, `{}`},
		{JobStartParams{Events: []EventName{}}, `{"events":[]}`},
		{JobRunParams{TimeoutMs: NullOf[int64]()}, `{"timeoutMs":null}`},
		{JobRunParams{TimeoutMs: ValueOf[int64](0)}, `{"timeoutMs":0}`},
		{JobRunParams{}, `{}`},
		{JobKillResult{Survivors: []Survivor{}}, `{"survivors":[]}`},
		{Exit{Reason: ExitReasonLost}, `{"code":null,"signal":null,"coreDumped":false,"reason":"lost"}`},
	} {
		got, err := json.Marshal(test.value)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != test.want {
			t.Errorf("%T is written as %s, want %s", test.value, got, test.want)
		}
		into := reflect.New(reflect.TypeOf(test.value))
		if err := json.Unmarshal(got, into.Interface()); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(into.Elem().Interface()); err != nil || string(again) != test.want {
			t.Errorf("%T read from %s is written as %s (%v)", test.value, got, again, err)
		}
	}
	var p JobRunParams
	if err := json.Unmarshal([]byte(`{"timeoutMs":"soon"}`), &p); err == nil || !strings.Contains(err.Error(), "int64") {
		t.Errorf("a string was read as timeoutMs; error %v", err)
	}
}
