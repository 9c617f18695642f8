package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A seedRow is one line of testdata/seeds.tsv: a feature of a seed, and the test that proves it.
type seedRow struct{ seed, tool, parameter, byDefault, test string }

// seedRows reads the table. A parameter in parentheses is another feature of the tool.
func seedRows(t *testing.T) []seedRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "seeds.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []seedRow
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		f := strings.Split(line, "\t")
		if len(f) != 5 {
			t.Fatalf("seeds.tsv:%d: %d fields, not 5", i+2, len(f))
		}
		rows = append(rows, seedRow{f[0], f[1], f[2], f[3], f[4]})
	}
	return rows
}

// TestSeedTable compares the table with the tools, the tests and the page for readers.
func TestSeedTable(t *testing.T) {
	h := startHost(t, nil)
	rows := seedRows(t)
	schemas := map[string]map[string]struct{ Default any }{}
	for tool, err := range h.session.Tools(h.ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Properties map[string]struct{ Default any }
		}
		if err := json.Unmarshal(encode(tool.InputSchema), &s); err != nil {
			t.Fatal(err)
		}
		schemas[tool.Name] = s.Properties
	}

	told, proven := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		params, there := schemas[r.tool]
		if !there {
			t.Errorf("%s: there is no such tool", r.tool)
		}
		told[r.tool] = true
		if name, ok := strings.CutPrefix(r.test, "TestSeeds/"); !ok || seedTests[name] == nil {
			t.Errorf("%s %s: there is no test %s", r.tool, r.parameter, r.test)
		} else {
			proven[name] = true
		}
		if strings.HasPrefix(r.parameter, "(") {
			continue
		}
		told[r.tool+"/"+r.parameter] = true
		p, there := params[r.parameter]
		if !there {
			t.Errorf("%s has no parameter %s", r.tool, r.parameter)
		}
		if got := orDash(p.Default); got != r.byDefault {
			t.Errorf("the default of %s of %s is %s, not %s", r.parameter, r.tool, got, r.byDefault)
		}
	}
	for tool, params := range schemas {
		if !told[tool] {
			t.Errorf("seeds.tsv has no row for %s", tool)
		}
		for p := range params {
			if !told[tool+"/"+p] {
				t.Errorf("seeds.tsv has no row for %s of %s", p, tool)
			}
		}
	}
	for name := range seedTests {
		if !proven[name] {
			t.Errorf("no row of seeds.tsv has TestSeeds/%s", name)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if line := r.markdown(); !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/mcp.md lacks this line of the table:\n%s", line)
		}
	}
}

// markdown returns the row as in docs/mcp.md.
func (r *seedRow) markdown() string {
	parameter := "`" + r.parameter + "`"
	if strings.HasPrefix(r.parameter, "(") {
		parameter = strings.Trim(r.parameter, "()")
	}
	byDefault := ""
	if r.byDefault != "-" {
		byDefault = "`" + r.byDefault + "`"
	}
	return strings.ReplaceAll(fmt.Sprintf("| %s | `%s` | %s | %s | `%s` |", r.seed, r.tool, parameter, byDefault, r.test), "|  |", "| |")
}

func orDash(v any) string {
	if v == nil {
		return "-"
	}
	return string(encode(v))
}

// TestToolSets checks which tools a host gets, and their descriptions.
func TestToolSets(t *testing.T) {
	seeds := []string{"CliEnv", "CliGetPlatform", "CliRead", "CliRun", "CliSession", "CliStop", "CliWrite", "execute_bash_command", "jobs", "kill", "read_shell", "run_shell_command", "send_input", "write_to_shell"}
	compact := []string{"shell", "shell_end", "shell_jobs", "shell_output"}
	all := slices.Sorted(slices.Values(slices.Concat(seeds, compact)))
	for set, want := range map[string][]string{"seeds": seeds, "compact": compact, "all": all} {
		h := startHost(t, nil, "-tools", set)
		var got []string
		for tool, err := range h.session.Tools(h.ctx, nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, tool.Name)
			checkTool(t, tool)
		}
		if !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("-tools %s: %v, not %v", set, got, want)
		}
		if h.session.InitializeResult().Instructions == "" {
			t.Error("there are no instructions")
		}
	}
}

// checkTool requires a description of the tool, and of each parameter.
func checkTool(t *testing.T, tool *mcp.Tool) {
	t.Helper()
	if tool.Title == "" || tool.Description == "" || tool.OutputSchema == nil || tool.Annotations == nil || tool.Annotations.DestructiveHint == nil || tool.Annotations.OpenWorldHint == nil {
		t.Errorf("%s lacks a title, a description, a schema of its results or annotations", tool.Name)
	}
	var s struct {
		Type       string
		Properties map[string]struct {
			Type        any
			Description string
		}
	}
	if err := json.Unmarshal(encode(tool.InputSchema), &s); err != nil || s.Type != "object" {
		t.Errorf("%s: %v, type %s", tool.Name, err, s.Type)
	}
	for name, p := range s.Properties {
		if _, one := p.Type.(string); !one || p.Description == "" {
			t.Errorf("%s of %s has the type %v and the description %q", name, tool.Name, p.Type, p.Description)
		}
	}
}
