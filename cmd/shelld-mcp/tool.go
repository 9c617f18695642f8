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

	"shelld.dev/shelld/cmd/internal/base"
)

// A tool is one of the tools offered to the host.
type tool[In any] struct {
	name        string
	title       string
	description string
	// defaults contains the default values of optional parameters. They are in the schema, for models, and are filled
	// in before run is called.
	defaults map[string]any
	// enums contains the allowed words of a parameter, or of the items of a list. They are in the schema, for the host;
	// check rejects other words.
	enums map[string][]string
	// bounds contains the minimum of numeric parameters, 0 by default; the parameters in signed have none. ids are the
	// parameters that identify a job or a process: their schema says number, as in the seeds, but they must be whole.
	bounds map[string]float64
	signed []string
	ids    []string
	// names are the parameters that identify a job by its number, its PID or its name: a number is converted to a
	// string. Their schema still says string, because some hosts support only one type.
	names []string

	readOnly    bool // changes nothing
	destructive bool // may end or overwrite something for good
	closedWorld bool // affects only jobs of this server
	// asks is set if the tool's seed requires that a person confirms.
	asks bool

	// check returns the error in the parameters that a schema cannot express, or "".
	check func(In) string
	// rejected returns the answer to invalid parameters; nil: the reason alone.
	rejected func(args json.RawMessage, reason string) string
	// badSchema replaces the reason if parameters do not match the schema; "": it does not.
	badSchema string
	run       func(context.Context, *call, In) (reply, error)
}

// A reply is the result of a tool.
type reply struct {
	text   string        // for models; "": value as JSON
	value  any           // the structured content, sent only with -structured
	more   []mcp.Content // after the text
	failed bool          // the tool could not do its work
}

// add offers a tool to the host. Out is the type of the value in its replies.
func add[In, Out any](f *front, t tool[In]) {
	in := inputSchema(&t)
	for name, value := range t.defaults {
		if wrong := misfitOf(in.Properties[name], encode(value)); wrong != "" {
			panic(fmt.Sprintf("%s: the default of %s %s", t.name, name, wrong)) // This is a bug in the source that any test finds.
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
				f.log.Error("a tool panicked", "tool", t.name, "fault", fault, "stack", string(debug.Stack()))
				f.owed.untold(req.Extra)
				res, err = failure(fmt.Sprintf("%s failed because of a bug; other calls are not affected. See the log of shelld-mcp.", t.name)), nil
			}
		}()
		params, reason := decode(&t, in, req.Params.Arguments)
		if reason != "" {
			if t.rejected != nil {
				reason = t.rejected(req.Params.Arguments, reason)
			}
			return failure(reason), nil
		}
		tidings := f.tidings(ctx, req, t.name)
		return tidings.inFrontOf(f.answered(ctx, req, func(said *decision) *mcp.CallToolResult {
			c := f.newCall(req, t.name, t.asks)
			if said != nil {
				c.said = said
			}
			f.owed.await(c)
			stop := c.reportProgress(ctx)
			r, err := t.run(ctx, c, params)
			stop()
			return c.result(r, err)
		})), nil
	})
}

// maxDescription is the maximum length of a description, which people read in lists.
const maxDescription = 4096

// inputSchema returns the schema of the parameters, from their type and its tags.
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

// plainSchema returns the schema of a type. Optional parameters do not allow null in it, because some hosts support
// only one type.
func plainSchema[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // This is a bug in the source that any test finds.
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

// nonNull removes null from the types of a property, unless null is a meaningful value.
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

// result returns the answer to the host. Without -structured it has only text and pictures: Claude Code and Codex show
// their models the structured content in place of the text, and Codex then drops pictures; Copilot CLI sends both.
func (c *call) result(r reply, err error) *mcp.CallToolResult {
	if err != nil {
		c.untell() // The reply is not in the answer.
		if ask := c.unanswered(); ask != nil {
			return ask
		}
		return failure(c.explain(err))
	}
	res := &mcp.CallToolResult{IsError: r.failed}
	if r.value != nil && c.front.cfg.structured {
		res.StructuredContent = encode(r.value)
	}
	if r.text == "" && r.value != nil {
		var b bytes.Buffer
		_ = json.Indent(&b, encode(r.value), "", "  ") // The JSON was encoded here, so it is valid.
		r.text = b.String()
	}
	res.Content = append([]mcp.Content{&mcp.TextContent{Text: legible(r.text)}}, r.more...)
	return res
}

// failure returns an error result for the model: a protocol error would reach only the host.
func failure(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: legible(text)}}}
}

// encode is json.Marshal without the escapes for HTML, for values that can be encoded. It also escapes the control
// characters that JSON permits unescaped, because hosts show JSON as it is.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // This is a bug in the source; add reports it.
	}
	return base.EscapeControls(bytes.TrimRight(b.Bytes(), "\n"))
}
