package screen

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// corpora are the files of the terminal corpora, with the number of cases that count and the number of those that
// xterm.js passes (@xterm/headless 6.0.0). It passes its own: they were made with it.
var corpora = []struct {
	name         string
	cases, xterm int
}{
	{"alacritty", 43, 32}, {"esctest2", 378, 272}, {"libvterm", 111, 92},
	{"pyte", 7, 7}, {"vt100rust", 34, 19}, {"xtermjs", 71, 71},
}

// A corpusCase is the output of a program, in steps, with the expected state of a terminal after each.
type corpusCase struct {
	Name       string
	Rows, Cols int
	Scrollback *int   // limit of the history
	Skip       string `json:"upstream_skip"`
	Steps      []corpusStep
}

type corpusStep struct {
	Input  []byte `json:"input_base64"`
	Resize []int  // rows and columns
	Expect corpusExpect
}

// baseline lists the cases that must pass, a source and a name in each line.
const baseline = "testdata/terminal-baseline.txt"

// TestTerminalCorpus runs the corpora. A case that has passed once must pass for ever; a case that passes for the first
// time has to be added to the baseline.
func TestTerminalCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine computes: the race detector sees nothing here, and takes ten times as long")
	}
	recorded := readBaseline(t)
	passing := maps.Clone(recorded)
	for _, corpus := range corpora {
		results := runCorpus(t, corpus.name, newOurs)
		passed := 0
		for name, complaint := range results {
			key := corpus.name + " " + name
			switch {
			case complaint == "":
				passed++
				passing[key] = true
				if !recorded[key] && !*update && *caseName == "" {
					t.Errorf("%s passes now: run with -update to keep it so", key)
				}
			case recorded[key] && *caseName == "":
				t.Errorf("%s passed once: %s", key, complaint)
			}
		}
		t.Logf("%-9s %3d of %d pass; of xterm.js %d", corpus.name, passed, len(results), corpus.xterm)
	}
	if *update {
		text := strings.Join(slices.Sorted(maps.Keys(passing)), "\n") + "\n"
		if err := os.WriteFile(baseline, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func readBaseline(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile(baseline)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]bool{}
	for key := range strings.Lines(string(b)) {
		if key = strings.TrimSpace(key); key != "" {
			recorded[key] = true
		}
	}
	return recorded
}

// runCorpus returns the defects of each case, by its name; "" if there are none.
func runCorpus(t *testing.T, name string, make func(cols, rows, history int) emulator) map[string]string {
	t.Helper()
	wanted, err := regexp.Compile(*caseName)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]string{}
	for _, c := range readCorpus(t, name) {
		if c.Skip != "" || !wanted.MatchString(c.Name) {
			continue
		}
		history := 1000
		if c.Scrollback != nil {
			history = *c.Scrollback
		}
		results[c.Name] = runCase(t, &c, make(c.Cols, c.Rows, history))
	}
	return results
}

// runCase returns the defects after the first step that differs from the expected state. An emulator that panics fails
// one case, not all of them.
func runCase(t *testing.T, c *corpusCase, e emulator) (verdict string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			verdict = fmt.Sprint("panic: ", p)
		}
	}()
	for i, step := range c.Steps {
		if step.Resize != nil {
			e.Resize(step.Resize[1], step.Resize[0])
		}
		e.Write(step.Input)
		complaints := step.Expect.complaints(e.look(), e.Replies())
		if *caseName != "" {
			t.Logf("%s step %d: %q resize %v\n\t%s", c.Name, i, step.Input, step.Resize, strings.Join(complaints, "\n\t"))
		}
		if len(complaints) > 0 && verdict == "" {
			verdict = fmt.Sprintf("step %d, %.80q: %s", i, step.Input, strings.Join(complaints[:min(3, len(complaints))], "; "))
		}
	}
	return verdict
}

func readCorpus(t *testing.T, name string) (cases []corpusCase) {
	t.Helper()
	path := filepath.Join(corpusDir(t), "terminal", name+".jsonl")
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		t.Skipf("no corpus at %s: set SHELLD_TESTDATA to a directory that has terminal/%s.jsonl", path, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // Only read.
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s, case %d: %v", path, len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// corpusDir returns the directory of the public test data: $SHELLD_TESTDATA, or shared/testdata beside the repository.
func corpusDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("SHELLD_TESTDATA"); dir != "" {
		return dir
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(filepath.Dir(root), "shared", "testdata")
}
