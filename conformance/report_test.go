package conformance

import (
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strings"
	"testing"
	"time"
)

var results = []Result{
	{Session: "core/good", Framing: "line", Level: "core", Verdict: Passed, Took: 2 * time.Second, TookMs: 2000},
	{Session: "core/bad", Framing: "line", Level: "core", Verdict: Failed, Reason: "core/bad.txtar:3:1: <expected>\n\tgot", Transcript: "0.1s --> {}\n", Stderr: "a \x1b word"},
	{Session: "core/skipped", Framing: "line", Level: "core", Verdict: Skipped, Reason: "no terminals"},
	{Session: "core/wrong", Framing: "line", Level: "core", Verdict: Wrong, Reason: "core/wrong.txtar:1:1: what"},
	{Session: "core/known", Framing: "header", Level: "core", Verdict: Known, Reason: "as known\nmore"},
}

func report(t *testing.T, format string, verbose bool) string {
	t.Helper()
	var b strings.Builder
	r, err := NewReport(format, &b, verbose)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		r.Tell(result)
	}
	if err := r.Done(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextReport(t *testing.T) {
	got := regexp.MustCompile(`in \d+\.\ds\n`).ReplaceAllString(report(t, "text", false), "in 0.0s\n") // The time varies.
	want := "FAIL  core/bad (line) 0.00s\n  core/bad.txtar:3:1: <expected>\n  \tgot\n  transcript (--> to the server, <-- from it):\n  0.1s --> {}\n" +
		"  the end of the server's stderr:\n    a \x1b word\nERROR core/wrong (line) 0.00s\n  core/wrong.txtar:1:1: what\n" +
		"1 passed, 1 failed, 1 could not be judged, 1 failed as known, 1 skipped in 0.0s\n  skipped 1: no terminals\n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := report(t, "text", true); !strings.Contains(got, "pass  core/good (line) 2.00s\n") || !strings.Contains(got, "skip  core/skipped (line) 0.00s: no terminals\n") {
		t.Error(got)
	}
}

func TestTapReport(t *testing.T) {
	want := "TAP version 14\nok 1 - core/good (line)\nnot ok 2 - core/bad (line)\n  ---\n  verdict: fail\n  reason: |\n    core/bad.txtar:3:1: <expected>\n    \tgot\n  transcript: |\n    0.1s --> {}\n  ...\n" +
		"ok 3 - core/skipped (line) # SKIP no terminals\nnot ok 4 - core/wrong (line)\n  ---\n  verdict: error\n  reason: |\n    core/wrong.txtar:1:1: what\n  ...\nnot ok 5 - core/known (header) # TODO as known\n1..5\n"
	if got := report(t, "tap", false); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestJSONReport(t *testing.T) {
	var got struct {
		Results []Result
		Counts  map[string]int
	}
	if err := json.Unmarshal([]byte(report(t, "json", false)), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 5 || got.Results[1].Transcript != "0.1s --> {}\n" || got.Results[0].TookMs != 2000 || got.Counts["fail"] != 1 {
		t.Errorf("%+v", got)
	}
}

func TestJUnitReport(t *testing.T) {
	var got junitReport
	text := report(t, "junit", false)
	if err := xml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err, text)
	}
	if got.Tests != 5 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 2 || got.Cases[1].Failure.Message != "core/bad.txtar:3:1: <expected>" || got.Cases[1].Stderr != "a \uFFFD word" {
		t.Errorf("%+v\n%s", got, text)
	}
}

func TestBaseline(t *testing.T) {
	b, err := ParseBaseline("b", "# known\n\ncore/bad: no terminals yet\ncore/good line: passes one day\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Verdict{Failed, Known, Skipped, Wrong} {
		if got := b.Judge(results[i]); got.Verdict != want {
			t.Errorf("%s: %s, want %s", got.Session, got.Verdict, want)
		}
	}
	if got := b.Judge(Result{Session: "core/good", Framing: "header", Verdict: Passed}); got.Verdict != Passed {
		t.Errorf("in another framing: %s", got.Verdict)
	}
	if got := b.Unknown([]*Session{{Name: "core/bad"}}); len(got) != 1 || got[0] != "core/good" {
		t.Error(got)
	}
	for _, test := range []struct{ text, want string }{
		{"core/bad\n", "b:1:1: expected a session and why it fails"},
		{"\ncore/bad:\n", "b:2:1: expected a session and why"},
		{"core/bad x: y\n", "b:1:1: expected a session's name and no more than a framing"},
		{"a: y\na: z\n", "b:2:1: a is there already"},
	} {
		if _, err := ParseBaseline("b", test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.text, err)
		}
	}
}
