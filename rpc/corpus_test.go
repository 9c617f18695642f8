package rpc

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corpusCase is one case of the corpus of JSON texts, each sent as a message body.
type corpusCase struct {
	Name string
	Send []struct {
		Body       string
		BodyBase64 []byte `json:"body_base64"`
	}
	Expect struct {
		Answers []struct {
			IDAny bool `json:"id_any"`
			Error []int
		}
		AnswerCodes []int `json:"answer_codes"`
	}
}

// codes returns the codes that may answer the case.
func (c *corpusCase) codes() []int {
	if len(c.Expect.Answers) > 0 {
		return c.Expect.Answers[0].Error
	}
	return c.Expect.AnswerCodes
}

// corpusPath returns the path of a file of the public test data: in $SHELLD_TESTDATA, or in shared/testdata beside the
// repository.
func corpusPath(t *testing.T, name ...string) string {
	dir := os.Getenv("SHELLD_TESTDATA")
	if dir == "" {
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for _, err = os.Stat(filepath.Join(root, "go.mod")); err != nil; _, err = os.Stat(filepath.Join(root, "go.mod")) {
			if root == filepath.Dir(root) {
				t.Fatal("no go.mod above the test's directory")
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(filepath.Dir(root), "shared", "testdata")
	}
	return filepath.Join(append([]string{dir}, name...)...)
}

func readCorpus(t *testing.T) []corpusCase {
	path := corpusPath(t, "wire", "jsontestsuite.jsonl")
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		t.Skipf("no corpus at %s: set SHELLD_TESTDATA to a directory that has wire/jsontestsuite.jsonl", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // Only read.
	var cases []corpusCase
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
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

// TestCorpus sends every text of the corpus as a body, each followed by a request that must still be read.
func TestCorpus(t *testing.T) {
	cases := readCorpus(t)
	if len(cases) < 300 {
		t.Errorf("%d cases, want the whole suite", len(cases))
	}
	for _, c := range cases {
		for _, sent := range c.Send {
			body := sent.BodyBase64
			if body == nil {
				body = []byte(sent.Body)
			}
			checkCorpusBody(t, &c, body)
		}
	}
}

func checkCorpusBody(t *testing.T, c *corpusCase, body []byte) {
	stream := frame(frame(nil, FramingHeader, body), FramingHeader, []byte(smallRequest))
	f := newFrameReader(strings.NewReader(string(stream)), FramingUnknown, 1<<24)
	got, err := f.Next()
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	e, bad := parseEnvelope(got)
	idAny := len(c.Expect.Answers) > 0 && c.Expect.Answers[0].IDAny
	if bad == nil || !slices.Contains(c.codes(), bad.Code) || bad.ID != nil && !idAny {
		t.Errorf("%s: %.80q: %+v, %+v, want one of %v", c.Name, body, e, bad, c.codes())
	}
	if got, err = f.Next(); err != nil || string(got) != smallRequest {
		t.Errorf("%s: afterwards %q, %v", c.Name, got, err)
	}
}
