package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A Report prints results one by one, and then a summary.
type Report interface {
	Tell(Result)
	// Done ends the report. It returns the first write error.
	Done() error
}

// Formats returns the names of the report formats.
func Formats() []string { return []string{"text", "json", "junit", "tap"} }

// NewReport returns a report of a format. If verbose, the text format also lists the sessions that passed.
func NewReport(format string, w io.Writer, verbose bool) (Report, error) {
	out := &output{w: w}
	switch format {
	case "text":
		return &textReport{output: out, verbose: verbose, counts: map[Verdict]int{}, began: time.Now()}, nil
	case "json":
		return &jsonReport{output: out, Results: []Result{}, Counts: map[Verdict]int{}}, nil
	case "junit":
		return &junitReport{output: out, Name: "conformance"}, nil
	case "tap":
		out.printf("TAP version 14\n")
		return &tapReport{output: out}, nil
	}
	return nil, fmt.Errorf("there is no report %q; there are %s", format, strings.Join(Formats(), ", "))
}

// An output remembers the first error of its writer.
type output struct {
	w   io.Writer
	err error
}

func (o *output) printf(format string, args ...any) {
	if o.err == nil {
		_, o.err = fmt.Fprintf(o.w, format, args...)
	}
}

// bad reports whether a verdict makes the whole run fail.
func (v Verdict) bad() bool { return v == Failed || v == Wrong }

// Bad reports whether the result is a failure, of the server or of the session's file.
func (r Result) Bad() bool { return r.Verdict.bad() }

type textReport struct {
	*output
	verbose bool
	counts  map[Verdict]int
	began   time.Time
	reasons []string // for skipping
	skipped map[string]int
}

func (t *textReport) Tell(r Result) {
	t.counts[r.Verdict]++
	name := fmt.Sprintf("%s (%s)", r.Session, r.Framing)
	if r.Verdict == Skipped {
		if t.skipped == nil {
			t.skipped = map[string]int{}
		}
		if t.skipped[r.Reason]++; t.skipped[r.Reason] == 1 {
			t.reasons = append(t.reasons, r.Reason)
		}
	}
	switch {
	case r.Bad():
		t.printf("%-5s %s %.2fs\n%s", strings.ToUpper(string(r.Verdict)), name, r.Took.Seconds(), indent("  ", r.Reason))
		if r.Transcript != "" {
			t.printf("  transcript (--> to the server, <-- from it):\n%s", indent("  ", r.Transcript))
		}
		if r.Stderr != "" {
			t.printf("  the end of the server's stderr:\n%s", indent("    ", r.Stderr))
		}
	case t.verbose && r.Reason != "":
		t.printf("%-5s %s %.2fs: %s\n", r.Verdict, name, r.Took.Seconds(), strings.Split(r.Reason, "\n")[0])
	case t.verbose:
		t.printf("%-5s %s %.2fs\n", r.Verdict, name, r.Took.Seconds())
	}
}

func indent(by, s string) string {
	return by + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by) + "\n"
}

func (t *textReport) Done() error {
	var parts []string
	for _, v := range []Verdict{Passed, Failed, Wrong, Known, Skipped} {
		if n := t.counts[v]; n > 0 || v == Passed || v == Failed {
			words := map[Verdict]string{Passed: "passed", Failed: "failed", Wrong: "could not be judged", Known: "failed as known", Skipped: "skipped"}
			parts = append(parts, fmt.Sprintf("%d %s", n, words[v]))
		}
	}
	t.printf("%s in %.1fs\n", strings.Join(parts, ", "), time.Since(t.began).Seconds())
	for _, reason := range t.reasons {
		t.printf("  skipped %d: %s\n", t.skipped[reason], reason)
	}
	return t.err
}

type jsonReport struct {
	*output
	Results []Result        `json:"results"`
	Counts  map[Verdict]int `json:"counts"`
}

func (j *jsonReport) Tell(r Result) {
	j.Results = append(j.Results, r)
	j.Counts[r.Verdict]++
}

func (j *jsonReport) Done() error {
	e := json.NewEncoder(j.w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(j)
}

type tapReport struct {
	*output
	n int
}

func (t *tapReport) Tell(r Result) {
	t.n++
	name := fmt.Sprintf("%s (%s)", r.Session, r.Framing)
	reason := strings.Split(r.Reason, "\n")[0]
	switch r.Verdict {
	case Passed:
		t.printf("ok %d - %s\n", t.n, name)
	case Skipped:
		t.printf("ok %d - %s # SKIP %s\n", t.n, name, reason)
	case Known:
		t.printf("not ok %d - %s # TODO %s\n", t.n, name, reason)
	default:
		t.printf("not ok %d - %s\n  ---\n  verdict: %s\n  reason: |\n%s", t.n, name, r.Verdict, indent("    ", r.Reason))
		if r.Transcript != "" {
			t.printf("  transcript: |\n%s", indent("    ", r.Transcript))
		}
		t.printf("  ...\n")
	}
}

func (t *tapReport) Done() error {
	t.printf("1..%d\n", t.n)
	return t.err
}

type junitReport struct {
	*output  `xml:"-"`
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     float64     `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    float64      `xml:"time,attr"`
	Failure *junitReason `xml:"failure"`
	Error   *junitReason `xml:"error"`
	Skipped *junitReason `xml:"skipped"`
	Stderr  string       `xml:"system-err,omitempty"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (j *junitReport) Tell(r Result) {
	c := junitCase{Class: r.Session, Name: r.Framing, Time: r.Took.Seconds(), Stderr: printable(r.Stderr)}
	first, _, _ := strings.Cut(printable(r.Reason), "\n")
	reason := &junitReason{first, printable(r.Reason + "\n" + r.Transcript)}
	switch r.Verdict {
	case Failed:
		c.Failure = reason
		j.Failures++
	case Wrong:
		c.Error = reason
		j.Errors++
	case Skipped, Known:
		c.Skipped = &junitReason{Message: first}
		j.Skipped++
	}
	j.Tests++
	j.Time += r.Took.Seconds()
	j.Cases = append(j.Cases, c)
}

// printable replaces characters that XML does not allow.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && !slices.Contains([]rune("\n\t\r"), r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

func (j *junitReport) Done() error {
	j.printf("%s", xml.Header)
	if j.err != nil {
		return j.err
	}
	e := xml.NewEncoder(j.w)
	e.Indent("", "  ")
	if err := e.Encode(j); err != nil {
		return err
	}
	j.printf("\n")
	return j.err
}
