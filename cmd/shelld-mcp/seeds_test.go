package main

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// seedTests are the tests of the seeds' tools, by parameter. testdata/seeds.tsv maps parameters to tests, and
// docs/mcp.md shows it to readers; TestSeedTable keeps the three consistent.
var seedTests = union(geminiSeeds, screenSeeds, bashSeeds, cliSeeds, sessionSeeds)

// union merges tables.
func union(tables ...map[string]func(*testing.T)) map[string]func(*testing.T) {
	all := map[string]func(*testing.T){}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

func TestSeeds(t *testing.T) {
	for name, test := range seedTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// hasDefault checks the default of a parameter in the schema that the host gets; nil: none.
func (h *host) hasDefault(tool, param string, want any) {
	h.t.Helper()
	for tl, err := range h.session.Tools(h.ctx, nil) {
		if err != nil {
			h.t.Fatal(err)
		}
		if tl.Name != tool {
			continue
		}
		var s struct {
			Properties map[string]struct{ Default any }
			Required   []string
		}
		if err := json.Unmarshal(encode(tl.InputSchema), &s); err != nil {
			h.t.Fatal(err)
		}
		p, there := s.Properties[param]
		if !there || p.Default != want {
			h.t.Errorf("the default of %s of %s is %v, not %v", param, tool, p.Default, want)
		}
		return
	}
	h.t.Fatalf("there is no tool %s", tool)
}

// A person is asked by the host, and gives prepared answers.
type person struct {
	says  []string
	asked []string
}

func (p *person) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		p.asked = append(p.asked, req.Params.Message)
		if len(p.says) == 0 {
			return &mcp.ElicitResult{Action: "cancel"}, nil
		}
		said := p.says[0]
		p.says = p.says[1:]
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": said}}, nil
	}}
}

// expect fails unless the person was asked these questions; each want is a part of one question.
func (p *person) expect(t *testing.T, want ...string) {
	t.Helper()
	if len(p.asked) != len(want) {
		t.Fatalf("%d questions, not %d: %q", len(p.asked), len(want), p.asked)
	}
	for i, w := range want {
		contains(t, p.asked[i], w)
	}
}
