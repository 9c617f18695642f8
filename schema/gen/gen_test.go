package main

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestGenerated fails if the generated files are not the ones that the schema files produce.
func TestGenerated(t *testing.T) {
	s, err := generate(os.DirFS("../json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range s.byName() {
		path := "../" + name
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of step with the schema files: run go generate ./schema", path)
		}
	}
}

func TestDeterministic(t *testing.T) {
	first, err := generate(os.DirFS("../json"))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := generate(os.DirFS("../json"))
		if err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(first.byName(), again.byName(), bytes.Equal) {
			t.Fatal("two runs over the same files wrote different sources")
		}
	}
}

func TestGoName(t *testing.T) {
	for wire, want := range map[string]string{
		"job/start":       "JobStart",
		"$/cancelRequest": "CancelRequest",
		"log/message":     "LogMessage",
		"initialize":      "Initialize",
		"watchId":         "WatchID",
		"requestId":       "RequestID",
		"pid":             "PID",
		"os":              "OS",
		"_meta":           "Meta",
		"stdoutBase64":    "StdoutBase64",
		"spoolMemory":     "SpoolMemory",
	} {
		if got := goName(wire); got != want {
			t.Errorf("goName(%q) = %q, want %q", wire, got, want)
		}
	}
}

// TestFields checks the rules by which a property becomes a field.
func TestFields(t *testing.T) {
	source := generateOne(t, `{
		"colour": {"description": "c.", "type": "string", "enum": ["red"]},
		"inner": {"description": "i.", "type": "object", "properties": {"n": {"description": "n.", "type": "integer"}}},
		"sample": {"description": "s.", "type": "object", "required": ["a", "b", "c", "d", "e", "f"], "properties": {
			"a": {"description": "x.", "type": "integer"},
			"b": {"description": "x.", "type": ["string", "null"]},
			"c": {"description": "x.", "type": "array", "items": {"type": "string"}},
			"d": {"description": "x.", "type": "object", "additionalProperties": {"type": ["string", "null"]}},
			"e": {"description": "x.", "$ref": "#/$defs/inner"},
			"f": {"description": "x.", "oneOf": [{"$ref": "#/$defs/inner"}, {"type": "null"}]},
			"g": {"description": "x.", "type": "boolean"},
			"h": {"description": "x.", "type": ["integer", "null"]},
			"i": {"description": "x.", "type": "array", "items": {"type": "integer"}},
			"j": {"description": "x.", "$ref": "#/$defs/colour"},
			"k": {"$ref": "#/$defs/inner"},
			"l": {"description": "x.", "type": ["integer", "string"]},
			"m": {"description": "x.", "const": true},
			"n": {"description": "x.", "type": "object"}
		}}
	}`)
	for _, want := range []string{
		"A int64 `json:\"a\"`",
		"B *string `json:\"b\"`",
		"C List[string] `json:\"c\"`",
		"D Map[*string] `json:\"d\"`",
		"E Inner `json:\"e\"`",
		"F *Inner `json:\"f\"`",
		"G *bool `json:\"g,omitempty\"`",
		"H Nullable[int64] `json:\"h,omitzero\"`",
		"I []int64 `json:\"i,omitzero\"`",
		"J *Colour `json:\"j,omitempty\"`",
		"// i.\n\tK *Inner `json:\"k,omitempty\"`",
		"L json.RawMessage `json:\"l,omitempty\"`",
		"M *bool `json:\"m,omitempty\"`",
		"N map[string]json.RawMessage `json:\"n,omitzero\"`",
		"ColourRed Colour = \"red\"",
	} {
		if !strings.Contains(source, want) {
			t.Errorf("there is no %s in\n%s", want, source)
		}
	}
}

// TestPython checks the rules by which a definition becomes a Python type.
func TestPython(t *testing.T) {
	s, err := generate(fstest.MapFS{
		"x" + suffix: {Data: []byte(`{"description": "Starts.", "x-shelld": {"method": "x/start", "kind": "request", "from": "client"}, "$defs": {
			"colour": {"description": "c.", "type": "string", "enum": ["red", "blue"]},
			"name": {"description": "n \"quoted\"", "type": "string"},
			"either": {"description": "e.", "oneOf": [{"type": "integer"}, {"$ref": "#/$defs/params"}, {"type": "null"}]},
			"params": {"description": "p.", "type": "object", "required": ["a"], "properties": {
				"a": {"description": "x.", "type": "integer"},
				"b": {"description": "x.", "type": ["string", "null"]},
				"c": {"description": "x.", "type": "array", "items": {"$ref": "#/$defs/colour"}},
				"d": {"description": "x.", "type": "object", "additionalProperties": {"type": "boolean"}},
				"from": {"description": "y.", "$ref": "#/$defs/name"},
				"g": {"description": "x.", "const": true}
			}},
			"result": {"description": "r.", "type": "object", "properties": {}}
		}}`)},
		"y" + suffix: {Data: []byte(`{"description": "Happened.", "x-shelld": {"method": "x/event", "kind": "notification", "from": "server"}, "$defs": {
			"params": {"description": "p.", "type": "object", "properties": {}}
		}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, lines := range map[string][]string{
		pythonTypes: {
			`Colour = Literal["red", "blue"]`,
			`Name = str` + "\n" + `"""n "quoted\""""`,
			`Either = Optional[Union[int, "XStartParams"]]`,
			`class XStartParams(_XStartParamsKeywords):` + "\n" + `    """p."""`,
			`    a: int`,
			`    b: NotRequired[Optional[str]]`,
			`    c: NotRequired[List[Colour]]`,
			`    d: NotRequired[Dict[str, bool]]`,
			`    # y.` + "\n" + `    "from": "NotRequired[Name]",`,
			`    g: NotRequired[Literal[True]]`,
			`    method: Literal["x/event"]` + "\n" + `    params: XEventParams`,
		},
		pythonRequests: {
			`async def request(self, method: Literal["x/start"], params: protocol.XStartParams) -> protocol.XStartResult: ...`,
		},
	} {
		for _, want := range lines {
			if source := string(s.clients[file]); !strings.Contains(source, want+"\n") {
				t.Errorf("there is no %s in\n%s", want, source)
			}
		}
	}
}

// generateOne generates the types of one file with these definitions.
func generateOne(t *testing.T, defs string) string {
	t.Helper()
	return string(generateFile(t, `{"$defs": `+defs+`}`).types)
}

// generateFile generates from one schema file.
func generateFile(t *testing.T, file string) sources {
	t.Helper()
	s, err := generate(fstest.MapFS{"x" + suffix: {Data: []byte(file)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTypeScript checks the rules by which a schema becomes a TypeScript type.
func TestTypeScript(t *testing.T) {
	source := string(generateFile(t, `{
		"description": "Do it.",
		"x-shelld": {"method": "do/it", "kind": "request", "from": "client"},
		"$defs": {
			"colour": {"description": "c.", "type": "string", "enum": ["red", "blue"]},
			"params": {"description": "p.", "type": "object", "required": ["a"], "properties": {
				"a": {"description": "It ends a comment: */", "type": "integer"},
				"b": {"description": "x.", "type": ["string", "null"]},
				"c": {"description": "x.", "type": "array", "minItems": 1, "prefixItems": [{"type": "string"}], "items": {"type": "string"}},
				"d": {"description": "x.", "type": "object", "additionalProperties": {"type": ["string", "null"]}},
				"e": {"description": "x.", "type": "object", "propertyNames": {"$ref": "#/$defs/colour"}, "additionalProperties": {"type": "integer"}},
				"f": {"description": "x.", "oneOf": [{"$ref": "#/$defs/colour"}, {"type": "null"}]},
				"g": {"description": "x.", "const": true},
				"h": {"description": "x.", "type": "array", "items": {"type": ["integer", "null"]}},
				"i-j": {"description": "x.", "type": "object"}
			}, "not": {"required": ["b", "d"]}},
			"result": {"description": "r.", "type": "object", "properties": {
				"text": {"description": "x.", "type": "string"},
				"base64": {"description": "x.", "type": "string"}
			}, "oneOf": [{"required": ["text"]}, {"required": ["base64"]}]},
			"item": {"description": "r.", "type": "object", "x-exactlyOne": ["key", "text"], "properties": {
				"key": {"description": "x.", "type": "string"},
				"count": {"description": "x.", "type": "integer"},
				"text": {"description": "x.", "type": "string"}
			}, "dependentRequired": {"count": ["key"]}}
		}
	}`).clients[typeScriptFile])
	for _, want := range []string{
		"export type Colour = 'red' | 'blue';",
		"export type DoItParams = {",
		`/** It ends a comment: *\/ */`,
		"  a: number;",
		"  b?: string | null;",
		"  c?: [string, ...string[]];",
		"  d?: Record<string, string | null>;",
		"  e?: Partial<Record<Colour, number>>;",
		"  f?: Colour | null;",
		"  g?: true;",
		"  h?: (number | null)[];",
		"  'i-j'?: Record<string, unknown>;",
		"} & (\n  | { b?: undefined }\n  | { d?: undefined }\n);",
		"} & (\n  | { text: string; base64?: undefined }\n  | { base64: string; text?: undefined }\n);",
		"} & (\n  | { key: string; text?: undefined }\n  | { text: string; key?: undefined; count?: undefined }\n);",
		"  /** Do it. */\n  'do/it': { params: DoItParams; result: DoItResult };",
	} {
		if !strings.Contains(source, want) {
			t.Errorf("there is no %s in\n%s", want, source)
		}
	}
}

// TestTypeScriptRefusals checks the schemas that Go's types do not mind, but TypeScript's cannot express.
func TestTypeScriptRefusals(t *testing.T) {
	for name, test := range map[string]struct{ node, want string }{
		"unknown keyword":  {`{"type": "string", "deprecated": true}`, "the keyword deprecated is not known here"},
		"rule without it":  {`{"type": "object", "properties": {}, "dependentSchemas": {}}`, "dependentSchemas without x-exactlyOne"},
		"not beside types": {`{"type": "string", "not": {"type": "string"}}`, "known only beside properties"},
	} {
		t.Run(name, func(t *testing.T) {
			node, err := parse([]byte(`{"$defs": {"a": ` + test.node + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := typeScriptSource(map[string]*object{"x": node}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestRefusals checks the schema files that the generator must refuse.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct{ defs, want string }{
		"no description":  {`{"a": {"type": "object", "properties": {"b": {"type": "string"}}}}`, "a: b: there is no description"},
		"inline object":   {`{"a": {"type": "object", "properties": {"b": {"description": "b.", "type": "object", "properties": {}}}}}`, "needs a definition of its own"},
		"inline enum":     {`{"a": {"type": "object", "properties": {"b": {"description": "b.", "type": "string", "enum": ["x"]}}}}`, "needs a definition of its own"},
		"dangling ref":    {`{"a": {"type": "object", "properties": {"b": {"description": "b.", "$ref": "#/$defs/c"}}}}`, `$ref "#/$defs/c" has no target`},
		"name twice":      {`{"a-b": {"type": "string", "enum": ["x"]}, "aB": {"type": "string", "enum": ["x"]}}`, "the Go name AB is taken"},
		"enum of numbers": {`{"a": {"type": "string", "enum": [1]}}`, "which is not a string"},
		"member twice":    {`{"a": {"type": "string", "type": "string"}}`, `duplicate member "type"`},
		"not JSON":        {`{`, "parse x.schema.json"},
		"unknown type":    {`{"a": {"type": "strnig"}}`, `there is no Go type for "strnig"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := generate(fstest.MapFS{"x" + suffix: {Data: []byte(`{"$defs": ` + test.defs + `}`)}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
	if _, err := generate(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is not an error")
	}
}
