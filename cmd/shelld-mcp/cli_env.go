package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"shelld.dev/shelld/schema"
)

// This file has CliEnv, of the CLI Tools Specification.

func (f *front) addCliEnv() {
	add[cliEnvParams, cliEnvResult](f, tool[cliEnvParams]{
		name:  "CliEnv",
		title: "Environment",
		description: `Manages environment variables for CLI commands.

Actions:
- get: Retrieve a variable's value
- set: Set a variable (persists for session/global)
- list: List all variables
- unset: Remove a variable

Examples:
- Get PATH: action="get", name="PATH"
- Set NODE_ENV: action="set", name="NODE_ENV", value="test"
- List all: action="list"
- Remove var: action="unset", name="DEBUG"

Use sessionId to scope to a specific session, otherwise affects all commands.`,
		enums:       map[string][]string{"action": envActions},
		closedWorld: true,
		check:       checkCliEnv,
		run:         cliEnv,
	})
}

var envActions = []string{"get", "set", "list", "unset"}

type cliEnvParams struct {
	Action    string  `json:"action" jsonschema:"One of: get, set, list, unset"`
	Name      string  `json:"name,omitempty" jsonschema:"Variable name (required for get/set/unset)"`
	Value     *string `json:"value,omitempty" jsonschema:"Variable value (required for set)"`
	SessionID string  `json:"sessionId,omitempty" jsonschema:"Apply to specific session (default: global)"`
}

// cliEnvResult has the members for all actions; the seed shows a different result for each.
type cliEnvResult struct {
	Status    string             `json:"status,omitempty" jsonschema:"set or unset."`
	Name      string             `json:"name,omitempty"`
	Value     *string            `json:"value,omitempty" jsonschema:"Absent if there is no such variable, or if it is secret."`
	Source    string             `json:"source,omitempty" jsonschema:"get: global or session; none: there is no such variable."`
	Scope     string             `json:"scope,omitempty" jsonschema:"set and unset: global or session."`
	Secret    bool               `json:"secret,omitempty" jsonschema:"The variable exists, but its value is withheld."`
	Variables map[string]*string `json:"variables,omitempty" jsonschema:"list: by name; null if it is secret."`
	Count     *int64             `json:"count,omitempty"`
}

func checkCliEnv(p cliEnvParams) string {
	switch {
	case !slices.Contains(envActions, p.Action):
		return fmt.Sprintf("action is one of get, set, list, unset, not %q.", p.Action)
	case p.Action != "list" && p.Name == "":
		return fmt.Sprintf("%s needs name: which variable.", p.Action)
	case p.Action == "set" && p.Value == nil:
		return "set needs value; unset removes a variable."
	}
	return ""
}

func cliEnv(ctx context.Context, c *call, p cliEnvParams) (reply, error) {
	if err := c.confirmVariable(ctx, p); err != nil {
		return reply{}, err
	}
	if p.SessionID == "" {
		return c.env(ctx, p, "global", nil)
	}
	j, missing := c.sessionJob(ctx, p.SessionID)
	if j == nil {
		return missing, nil
	}
	r, err := c.env(ctx, p, "session", j.id())
	if kindOf(err) == schema.KindJobNotFound {
		return c.sessionEnded(ctx, j, "has no variables any more"), nil
	}
	return r, err
}

// confirmVariable asks a person about a change of a variable that changes which commands run: the commands that the
// person allows later must be the ones that run. For the variables of a shell session, the server asks.
func (c *call) confirmVariable(ctx context.Context, p cliEnvParams) error {
	if p.Action != "set" && p.Action != "unset" || c.front.cfg.confirm == "none" {
		return nil
	}
	var v schema.EnvGetResult
	if err := c.do(ctx, "env/get", schema.EnvGetParams{Name: p.Name}, &v); err != nil || v.Steers == nil {
		return err
	}
	c.asks = true
	if p.SessionID != "" {
		return nil
	}
	q := &question{action: actionVariable, verb: "Unset", command: p.Name}
	if p.Value != nil && p.Action == "set" {
		q.verb, q.command = "Set", p.Name+"="+*p.Value
	}
	return c.require(ctx, q, "this variable")
}

// env runs the action of CliEnv on the variables of a session or, if handle is nil, on those of all commands.
func (c *call) env(ctx context.Context, p cliEnvParams, scope string, handle json.RawMessage) (reply, error) {
	switch p.Action {
	case "get":
		var v schema.EnvGetResult
		if err := c.do(ctx, "env/get", schema.EnvGetParams{Name: p.Name, Handle: handle}, &v); err != nil {
			return reply{}, err
		}
		r := cliEnvResult{Name: v.Name, Value: v.Value, Source: scope, Secret: v.Secret != nil && *v.Secret}
		if v.Source == nil {
			r.Source = "none"
		}
		return reply{value: r}, nil
	case "set":
		var v schema.EnvSetResult
		if err := c.do(ctx, "env/set", schema.EnvSetParams{Name: p.Name, Value: *p.Value, Handle: handle}, &v); err != nil {
			return reply{}, err
		}
		return reply{value: cliEnvResult{Status: "set", Name: p.Name, Value: v.Value, Scope: scope, Secret: v.Value == nil}}, nil
	case "unset":
		if err := c.do(ctx, "env/unset", schema.EnvUnsetParams{Name: p.Name, Handle: handle}, nil); err != nil {
			return reply{}, err
		}
		return reply{value: cliEnvResult{Status: "unset", Name: p.Name, Scope: scope}}, nil
	}
	var v schema.EnvListResult
	if err := c.do(ctx, "env/list", schema.EnvListParams{Handle: handle}, &v); err != nil {
		return reply{}, err
	}
	r := cliEnvResult{Variables: map[string]*string{}, Count: new(v.Count)}
	for name, variable := range v.Variables {
		r.Variables[name] = variable.Value
	}
	return reply{value: r}, nil
}
