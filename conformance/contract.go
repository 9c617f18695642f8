package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A Contract holds the contents of the schema files.
type Contract struct {
	methods map[string]*method
	codes   map[string]int // by kind
	data    map[string]*jsonschema.Schema
	shapes  map[wire.Kind]*jsonschema.Schema // for whole messages
	failed  *jsonschema.Schema               // for an error response
}

// A method is one message of the protocol.
type method struct {
	name   string
	kind   string // request, notification
	from   string // client, server
	errors []string
	params *jsonschema.Schema
	result *jsonschema.Schema
}

// misspelled returns an error about the first method or event name in a session that the protocol does not have.
// No server can have it either: skipping the session, or waiting for such an event, would hide the mistake.
func (c *Contract) misspelled(s *Session) error {
	for i := range s.steps {
		st := &s.steps[i]
		for _, it := range st.items {
			m, what := c.methods[it.method], "method"
			switch st.verb {
			case "send", "notify":
				if slices.Contains(st.words, "invalid") {
					continue
				}
			case "expect", "never", "count":
				if it.name != "" {
					continue // an answer
				}
				what = "event"
				if m != nil && m.from == "client" {
					m = nil
				}
			default:
				continue
			}
			if m == nil {
				return &syntaxError{it.position, fmt.Sprintf("the protocol has no %s %q", what, it.method)}
			}
		}
	}
	return nil
}

// anywhere lists the kinds of error that are allowed as an answer to any request.
var anywhere = []string{"invalidRequest", "methodNotFound", "internalError", "limitExceeded", "notInitialized", "shuttingDown", "canceled", "invalidParams"}

// LoadContract reads and compiles the schema files, *.schema.json in the root of dir.
func LoadContract(dir fs.FS) (*Contract, error) {
	c := &Contract{methods: map[string]*method{}, codes: map[string]int{}, data: map[string]*jsonschema.Schema{}, shapes: map[wire.Kind]*jsonschema.Schema{}}
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.AssertFormat = true // an invalid date is an error
	files, err := fs.Glob(dir, "*.schema.json")
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("there are no schema files"))
	}
	heads := map[string]schemaFile{}
	for _, name := range files {
		raw, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		var head schemaFile
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		heads[name] = head
		if err := compiler.AddResource(head.ID, strings.NewReader(string(raw))); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, head := range heads {
		if err := c.add(compiler, name, head); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(c.codes) == 0 || c.failed == nil || len(c.methods) == 0 {
		return nil, errors.New("expected envelope.schema.json, errors.schema.json and a file for each method")
	}
	return c, nil
}

type schemaFile struct {
	ID   string `json:"$id"`
	Head *struct {
		Method string   `json:"method"`
		Kind   string   `json:"kind"`
		From   string   `json:"from"`
		Errors []string `json:"errors"`
	} `json:"x-shelld"`
	Defs map[string]json.RawMessage `json:"$defs"`
}

func (c *Contract) add(compiler *jsonschema.Compiler, name string, head schemaFile) (err error) {
	def := func(d string) *jsonschema.Schema {
		if head.Defs[d] == nil || err != nil {
			return nil
		}
		var s *jsonschema.Schema
		s, err = compiler.Compile(head.ID + "#/$defs/" + d)
		return s
	}
	if head.Head != nil && head.Head.Method != "" { // Other files describe types that are not sent by themselves.
		m := &method{name: head.Head.Method, kind: head.Head.Kind, from: head.Head.From, errors: head.Head.Errors}
		m.params, m.result = def("params"), def("result")
		c.methods[m.name] = m
	}
	if name == "envelope.schema.json" {
		c.shapes[wire.KindRequest], c.shapes[wire.KindNotification] = def("requestMessage"), def("notificationMessage")
		c.shapes[wire.KindResponse], c.failed = def("successMessage"), def("errorMessage")
	}
	if name == "errors.schema.json" {
		var object struct{ OneOf []errorVariant }
		if err := json.Unmarshal(head.Defs["errorObject"], &object); err != nil {
			return err
		}
		for _, v := range object.OneOf {
			k := strings.TrimSuffix(path.Base(v.Properties.Data.Ref), "Data")
			c.codes[k] = v.Properties.Code.Const
			c.data[k] = def(k + "Data")
		}
	}
	return err
}

// An errorVariant is one kind of error in the schema of the error object.
type errorVariant struct {
	Properties struct {
		Code struct{ Const int }
		Data struct {
			Ref string `json:"$ref"`
		}
	}
}

// forSchema converts a value to the types that the library expects.
func forSchema(v any) any {
	switch v := v.(type) {
	case wire.Number:
		return json.Number(v)
	case []any:
		a := make([]any, len(v))
		for i, e := range v {
			a[i] = forSchema(e)
		}
		return a
	case map[string]any:
		o := make(map[string]any, len(v))
		for k, e := range v {
			o[k] = forSchema(e)
		}
		return o
	}
	return v
}

// Refuses reports whether the protocol has no such method, or the params do not fit it.
func (c *Contract) Refuses(method string, params any) bool {
	return c.methods[method] == nil || c.params(method, params) != ""
}

// params returns why params do not fit their method, or "". It accepts any params of a method that is not in the
// contract.
func (c *Contract) params(name string, v any) string {
	m := c.methods[name]
	if m == nil {
		return ""
	}
	if v == nil {
		v = map[string]any{}
	}
	return problem("params of "+name, m.params, v)
}

// result returns why a result does not fit its method, or "".
func (c *Contract) result(name string, v any) string {
	if m := c.methods[name]; m != nil {
		return problem("result of "+name, m.result, v)
	}
	return ""
}

// received returns the error in a message of a server, or "". asked is the method of the request that a
// response answers.
func (c *Contract) received(m *wire.Message, asked string) string {
	shape := c.shapes[m.Kind]
	if m.Kind == wire.KindResponse && m.Err != nil {
		if why := c.failure(m.Err, asked); why != "" {
			return why
		}
		shape = c.failed
	}
	if why := problem("the message itself", shape, m.V); why != "" {
		return why
	}
	switch m.Kind {
	case wire.KindRequest, wire.KindNotification:
		known := c.methods[m.Method]
		if known == nil || known.from != "server" && known.from != "both" {
			return fmt.Sprintf("the protocol has no %s for a server to send", m.Method)
		}
		if m.Kind == wire.KindRequest && known.kind != "request" {
			return fmt.Sprintf("%s is a notification, and has no id", m.Method)
		}
		if m.Kind == wire.KindNotification && known.kind == "request" {
			return fmt.Sprintf("%s is a request, and needs an id", m.Method)
		}
		return c.params(m.Method, m.Params)
	case wire.KindResponse:
		if m.Err == nil {
			return c.result(asked, m.Result)
		}
	}
	return ""
}

// failure checks an error object: its members, its code by its kind, its data, and that the method may fail with
// this kind.
func (c *Contract) failure(v any, asked string) string {
	o, _ := v.(map[string]any)
	text, _ := o["message"].(string)
	data, _ := o["data"].(map[string]any)
	kind, _ := data["kind"].(string)
	code, isCode := o["code"].(wire.Number)
	want, known := c.codes[kind]
	switch {
	case !isCode || text == "":
		return "an error has a code and a message: " + wire.Show(v)
	case !known:
		return "an error has data.kind, one of the protocol's: " + wire.Show(v)
	case !equal(code, wire.Number(fmt.Sprint(want))):
		return fmt.Sprintf("the kind %s has the code %d: %s", kind, want, wire.Show(v))
	}
	if why := problem("data of the error "+kind, c.data[kind], data); why != "" {
		return why
	}
	if m := c.methods[asked]; m != nil && !slices.Contains(m.errors, kind) && !slices.Contains(anywhere, kind) {
		return fmt.Sprintf("%s cannot fail with %s; it can with %s", asked, kind, strings.Join(m.errors, ", "))
	}
	return ""
}
