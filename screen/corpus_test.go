package screen

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recording is the output of a program, in steps, with the state of a terminal after each.
type recording struct {
	Name  string
	Steps []struct {
		Input  []byte `json:"input_base64"`
		Expect struct{ Title *string }
	}
}

// TestScannerCorpus reads recordings of real programs and of other terminals' tests from the directory in
// SHELLD_TESTDATA. It checks that titles are as expected, though some recordings expect only the last piece of one, and
// that the cuts between pieces do not matter.
func TestScannerCorpus(t *testing.T) {
	dir := os.Getenv("SHELLD_TESTDATA")
	if dir == "" {
		t.Skip("SHELLD_TESTDATA does not name the directory of the corpora")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "terminal", "*.jsonl")) // The pattern is valid, so there is no error.
	if len(files) == 0 {
		t.Fatalf("there are no recordings in %s", dir)
	}
	for _, name := range files {
		for _, r := range recordings(t, name) {
			s, stream := NewScanner(""), ""
			for i, step := range r.Steps {
				s.Scan(step.Input)
				stream += string(step.Input)
				if want := step.Expect.Title; want != nil && s.state == ground && !strings.HasSuffix(s.Told().Title, *want) {
					t.Errorf("%s step %d: title %q, want %q", r.Name, i, s.Told().Title, *want)
				}
			}
			if one := scan(stream, 1); one != s.Told() {
				t.Errorf("%s: %+v, a byte at a time %+v", r.Name, s.Told(), one)
			}
		}
	}
}

func recordings(t *testing.T, name string) (all []recording) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r recording
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
