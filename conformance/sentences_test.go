package conformance

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// strict matches the words of sentences that promise an order, or something without exception.
var strict = regexp.MustCompile(`(?i)\b(must|never|exactly|before|after)\b`)

// TestSentences checks that each such sentence of the protocol's page has a row in testdata/sentences.txt, which
// names the sessions that test it, or says why there is none.
func TestSentences(t *testing.T) {
	page, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[string]bool{}
	all, err := Load(Sessions())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		sessions[s.Name] = true
	}
	rows := readRows(t, "testdata/sentences.txt")
	said := map[string]bool{}
	for _, sentence := range sentences(string(page)) {
		found := false
		for part := range rows {
			if strings.Contains(sentence, part) {
				found, said[part] = true, true
			}
		}
		if !found && strict.MatchString(sentence) {
			t.Errorf("name the sessions that show this in testdata/sentences.txt, or say why there is none:\n\t%s", sentence)
		}
	}
	for _, part := range slices.Sorted(maps.Keys(rows)) {
		if !said[part] {
			t.Errorf("testdata/sentences.txt: the page does not say %q", part)
		}
		if strings.HasPrefix(rows[part], "none: ") {
			continue
		}
		for _, name := range strings.Fields(rows[part]) {
			if !sessions[name] {
				t.Errorf("testdata/sentences.txt: there is no session %s", name)
			}
		}
	}
}

// fences matches the examples of a page.
var fences = regexp.MustCompile("(?s)```.*?```")

// ends matches the boundary between two sentences.
var ends = regexp.MustCompile(`[.:;]\s+([A-Z\x60*\[{])`)

// sentences returns the sentences of a page, each on one line. A row of a table or an item of a list begins a new
// sentence.
func sentences(page string) (all []string) {
	page = fences.ReplaceAllString(page, "")
	var units []string
	for _, line := range strings.Split(page, "\n") {
		if n := len(units); n > 0 && line != "" && units[n-1] != "" && line[0] != '|' && !strings.HasPrefix(line, "- ") {
			units[n-1] += " " + strings.TrimSpace(line)
			continue
		}
		units = append(units, line)
	}
	for _, u := range units {
		from := 0
		for _, at := range ends.FindAllStringSubmatchIndex(u, -1) {
			all, from = append(all, u[from:at[0]+1]), at[2]
		}
		all = append(all, u[from:])
	}
	return all
}
