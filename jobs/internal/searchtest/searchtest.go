// Package searchtest provides data for tests of searches: output, and queries to search it for.
package searchtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/match"
)

// A Query is a literal or a pattern.
type Query struct {
	Literal, Pattern, Flags string
	Raw, Lines              bool
}

// Compile returns the compiled query.
func (q Query) Compile(t testing.TB) *match.Query {
	t.Helper()
	if q.Literal != "" {
		compiled, err := match.CompileLiteral(q.Literal, q.Flags == "i", q.Raw)
		if err != nil {
			t.Fatal(err)
		}
		return compiled
	}
	flags := q.Flags
	if q.Lines && !strings.Contains(flags, "m") {
		flags += "m"
	}
	p, err := match.Compile(q.Pattern, flags)
	if err != nil {
		t.Fatal(err)
	}
	return match.QueryOf(p, q.Raw, q.Lines)
}

// Queries are queries for a Log. All but two of them find matches there.
var Queries = []Query{
	{Literal: "ERROR"},
	{Literal: "error", Flags: "i"},
	{Literal: "ERROR", Raw: true},
	{Literal: "failed\r\n"},
	{Literal: "日本語 ERROR"},
	{Literal: "......................................................................."},
	{Pattern: `^ERROR: number (\d+)`, Flags: "m"},
	{Pattern: `\bERROR\b`},
	{Pattern: `(?<n>\d+) failed$`, Flags: "m"},
	{Pattern: `failed\s+line \d+`},
	{Pattern: `title[^]{0,40}`, Raw: true},
	{Pattern: `^line 0 `},
	{Pattern: `\d+ of the log.*\nlong line`, Raw: true},
}

// Log returns output with lines of all kinds, some of them longer than a read.
func Log(r *rand.Rand, size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		switch r.IntN(40) {
		case 0:
			fmt.Fprintf(&b, "\x1b[31mERROR\x1b[0m: number %d failed\r\n", i)
		case 1:
			fmt.Fprintf(&b, "10%%\r20%%\r30%% \xff\xfe of %d\n", i)
		case 2:
			fmt.Fprintf(&b, "\x1b]0;a title\nwith ERROR and a line break\x07")
		case 3:
			b.WriteString(strings.Repeat("long line ", r.IntN(3000)))
		case 4:
			b.WriteString("日本語 ERR")
			b.WriteString("\x1b[0mOR\n")
		default:
			fmt.Fprintf(&b, "line %d of the log%s\n", i, strings.Repeat(".", r.IntN(80)))
		}
	}
	return b.Bytes()
}
