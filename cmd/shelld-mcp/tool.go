package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/cmd/internal/base"
)

// A tool is one row of what the host is offered.
type tool[In any] struct {
	name        string
	title       string
	description string
	// defaults has the parameters that may be left out and then mean something: they are in
	// the schema, where models see them, and are filled in before run sees the parameters.
	defaults map[string]any
	// enums has the words that a parameter may be, or the items of a list. They are for the
	// host: what is not among them is for check to say.
	enums map[string][]string
	// bounds has the least value of a number; 0 for those that are not here, and none for
	// those in signed. ids are those that name a job or a process: their schema says number, as
	// the seeds' do, and they are whole all the same.
	bounds map[string]float64
	signed []string
	ids    []string
	// names are those that name a job by its number, its pid or its name: a number is taken for what
	// it is written as. Their schema says string all the same, since some hosts take no list of types.
	names []string

	readOnly    bool // it changes nothing
	destructive bool // what it ends or overwrites is gone
	closedWorld bool // it reaches nothing but jobs of this server
	// asks says that the tool's seed has a person say yes first.
	asks bool

	// check says what is wrong with the parameters that a schema cannot tell, or "".
	check func(In) string
	// rejected writes the answer to parameters that are wrong; nil: the reason alone.
	rejected func(args json.RawMessage, reason string) string
	// badSchema is said in place of what does not fit the schema; "": that.
	badSchema string
	run       func(context.Context, *call, In) (reply, error)
}

// A reply is what a tool answers.
type reply struct {
	text   string        // for models; "" = value as JSON
	value  any           // the structured content, which is sent with -structured alone
	more   []mcp.Content // after the text
	failed bool          // the tool could not do what it was asked
}

// add offers a tool to the host. Out is the type of the value of its replies.
func add[In, Out any](f *front, t tool[In]) {
	in := inputSchema(&t)
	for name, value := range t.defaults {
		if wrong := misfitOf(in.Properties[name], encode(value)); wrong != "" {
			panic(fmt.Sprintf("%s: the default of %s %s", t.name, name, wrong)) // A fault of the source; any test finds it.
		}
	}
	f.tools = append(f.tools, t.name)
	offered := &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: in,
		Annotations: &mcp.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.readOnly, DestructiveHint: new(t.destructive), OpenWorldHint: new(!t.closedWorld),
		},
	}
	if f.cfg.structured {
		offered.OutputSchema = plainSchema[Out]()
	}
	f.server.AddTool(offered, func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		defer func() {
			if fault := recover(); fault != nil {
				f.log.Error("a tool has a fault", "tool", t.name, "fault", fault, "stack", string(debug.Stack()))
				res, err = failure(fmt.Sprintf("%s has a fault of its own; other calls are not affected. See the log of shelld-mcp.", t.name)), nil
			}
		}()
		params, reason := decode(&t, in, req.Params.Arguments)
		if reason != "" {
			if t.rejected != nil {
				reason = t.rejected(req.Params.Arguments, reason)
			}
			return failure(reason), nil
		}
		return f.answered(ctx, req, func(said *decision) *mcp.CallToolResult {
			c := f.newCall(req, t.name, t.asks)
			if said != nil {
				c.said = said
			}
			f.owed.await(c)
			stop := c.reportProgress(ctx)
			r, err := t.run(ctx, c, params)
			stop()
			return c.result(r, err)
		}), nil
	})
}

// maxDescription bounds what a person is to read in a list, and what the list has to carry.
const maxDescription = 4096

// inputSchema is the schema of the parameters, from their type and its tags.
func inputSchema[In any](t *tool[In]) *jsonschema.Schema {
	s := plainSchema[In]()
	for name, value := range t.defaults {
		s.Properties[name].Default = encode(value)
	}
	for name, words := range t.enums {
		p := s.Properties[name]
		if p.Items != nil {
			p = p.Items
		}
		for _, w := range words {
			p.Enum = append(p.Enum, w)
		}
	}
	if p := s.Properties["description"]; p != nil {
		p.MaxLength = new(maxDescription)
	}
	for name, p := range s.Properties {
		if (p.Type == "number" || p.Type == "integer") && !slices.Contains(t.signed, name) {
			p.Minimum = new(t.bounds[name])
		}
	}
	return s
}

// plainSchema is the schema of a type, without null where a parameter may be left out: some
// hosts take no list of types.
func plainSchema[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // A fault of the source; any test finds it.
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	for name, p := range s.Properties {
		nonNull(p, required[name])
	}
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	return s
}

// nonNull takes null out of the types of a property, unless it is there to be null.
func nonNull(p *jsonschema.Schema, keep bool) {
	array := slices.Contains(p.Types, "array")
	if len(p.Types) == 2 && (!keep || array) {
		p.Type, p.Types = p.Types[1], nil
	}
	if p.Items != nil {
		nonNull(p.Items, false)
		required := map[string]bool{}
		for _, name := range p.Items.Required {
			required[name] = true
		}
		for name, below := range p.Items.Properties {
			nonNull(below, required[name])
		}
	}
}

// result is the answer to the host. Without -structured it is text and pictures alone: Claude Code
// and Codex show their models the structured content in place of the text, and Codex then drops
// pictures; Copilot CLI sends both.
func (c *call) result(r reply, err error) *mcp.CallToolResult {
	if ask := c.unanswered(); ask != nil && err != nil {
		return ask
	}
	if err != nil {
		return failure(c.explain(err))
	}
	res := &mcp.CallToolResult{IsError: r.failed}
	if r.value != nil && c.front.cfg.structured {
		res.StructuredContent = encode(r.value)
	}
	if r.text == "" && r.value != nil {
		var b bytes.Buffer
		_ = json.Indent(&b, encode(r.value), "", "  ") // It was encoded right here.
		r.text = b.String()
	}
	res.Content = append([]mcp.Content{&mcp.TextContent{Text: legible(r.text)}}, r.more...)
	return res
}

// failure is an answer that says what went wrong, to the model: an error of the protocol
// would reach the host alone.
func failure(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: legible(text)}}}
}

// encode is json.Marshal, without the escapes that only HTML needs, of what can be encoded. Control
// characters are escaped, also those that JSON lets stand: hosts show JSON as it is.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // A fault of the source; add answers it.
	}
	return base.EscapeControls(bytes.TrimRight(b.Bytes(), "\n"))
}
