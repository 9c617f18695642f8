package rpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// search searches with these params.
func (s *session) search(more ...any) schema.JobSearchResult {
	s.t.Helper()
	return do[schema.JobSearchResult](s, "job/search", merged(obj{}, more))
}

// found returns the positions and lines of the matches.
func found(r schema.JobSearchResult) (list []string) {
	for _, m := range r.Matches {
		list = append(list, fmt.Sprintf("%d %s %d-%d %s", m.Handle, m.Stream, m.Offset, m.EndOffset, m.Line))
	}
	return list
}

// TestSearch searches one job, a group, all of them. The output at a match's offsets is the match.
func TestSearch(t *testing.T) {
	s := start(t)
	first := s.run(`printf 'one error\ntwo\n'; printf 'error three\n' >&2`).Job.Handle
	second := s.run("printf 'four\\r\\nan \033[1merr\033[0mor\\r\\n'", "group", "g").Job.Handle
	live := s.pty(`stty -echo; printf 'error five\nsix\n'; cat`, "group", "g")
	s.see(live, "six")
	want := []string{"1 stdout 4-9 one error", "1 stderr 0-5 error three", "2 stdout 13-22 an error", "3 pty 0-5 error five"}
	equal(t, "all", strings.Join(found(s.search("literal", "error")), "|"), strings.Join(want, "|"))
	equal(t, "one", strings.Join(found(s.search("literal", "error", "handle", first)), "|"), strings.Join(want[:2], "|"))
	equal(t, "a stream", strings.Join(found(s.search("literal", "error", "stream", "stderr")), "|"), want[1])
	equal(t, "a group", strings.Join(found(s.search("pattern", "error", "group", "g")), "|"), strings.Join(want[2:], "|"))
	text, _ := s.readBytes(second, "stream", "stdout", "offset", 13, "maxBytes", 9)
	equal(t, "what is there", text, "err\033[0mor")

	page := s.search("literal", "ERROR", "flags", "i", "reverse", true, "maxMatches", 3, "context", 1)
	equal(t, "the last three", strings.Join(found(page), "|"), strings.Join([]string{want[3], want[2], want[1]}, "|"))
	equal(t, "before", strings.Join(page.Matches[1].Before, "|"), "four")
	equal(t, "after", strings.Join(page.Matches[0].After, "|"), "six")
	equal(t, "stopped by", deref(t, page.StoppedBy), schema.SearchEndMatches)
	refused[none](s.begin("job/search", obj{"literal": "error", "flags": "i", "reverse": true, "cursor": page.Cursor}), schema.KindInvalidParams)
	refused[none](s.begin("job/search", obj{"literal": "ERROR", "flags": "i", "reverse": true, "group": "g", "cursor": page.Cursor}), schema.KindInvalidParams)
	rest := s.search("literal", "ERROR", "flags", "i", "reverse", true, "maxMatches", 3, "context", 1, "cursor", page.Cursor)
	equal(t, "the rest", strings.Join(found(rest), "|"), want[0])
	equal(t, "truncated", rest.Truncated, false)

	m := s.search("pattern", `^(?<word>\w+) (five|x)()?`, "handle", live).Matches[0]
	equal(t, "groups", fmt.Sprint(deref(t, m.Groups[0]), deref(t, m.Groups[1])), "errorfive")
	equal(t, "named", deref(t, m.Named["word"]), "error")
	equal(t, "nothing", len(s.search("literal", "nowhere").Matches), 0)
	equal(t, "a line", len(s.search("pattern", "^two", "flags", "").Matches), 1)
	equal(t, "without m", len(s.search("pattern", "^two", "flags", "", "multiline", true).Matches), 0)
	s.kill(live)
}

// TestSearchInTurn: a search sees the effects of the requests before it, and is answered before a later request removes
// the output.
func TestSearchInTurn(t *testing.T) {
	s := start(t)
	s.run("seq 1000", "name", "j")
	search := s.begin("job/search", obj{"handle": "j", "literal": "500\n"})
	remove := s.begin("job/remove", obj{"handle": "j"})
	if got := found(result[schema.JobSearchResult](search)); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	result[none](remove)
	begun := s.begin("job/start", obj{"command": "printf needle; sleep 60", "name": "k", "shell": "sh"})
	searched := s.begin("job/search", obj{"handle": "k", "literal": "needle"})
	result[schema.JobStartResult](begun)
	result[schema.JobSearchResult](searched)
	s.kill("k")
}

func TestSearchRefused(t *testing.T) {
	s := start(t)
	h := s.run("true").Job.Handle
	for _, p := range []obj{
		{"literal": "a", "pattern": "a"}, {}, {"handle": h, "group": "g", "literal": "a"}, {"literal": ""}, {"literal": "a", "on": "screen"},
	} {
		refused[none](s.beginBad("job/search", p), schema.KindInvalidParams)
	}
	for _, p := range []obj{
		{"literal": "a", "flags": "m"}, {"pattern": "a", "flags": "mm"}, {"handle": h, "stream": "pty", "literal": "a"},
		{"literal": "a", "from": 40, "to": 10}, {"literal": "a", "multiline": true}, {"pattern": `a\n`}, {"pattern": `a[^]b`, "flags": "i"},
		{"literal": "a", "handle": h, "cursor": obj{"handle": 77, "stream": "stdout", "offset": 0, "search": "?"}},
		{"literal": "a", "cursor": obj{"handle": h, "stream": "stdout", "offset": 0, "reverse": true, "search": "?"}},
	} {
		refused[none](s.begin("job/search", p), schema.KindInvalidParams)
	}
}

// TestSearchPatternFails: a pattern that takes too long fails its own search, and nothing else.
func TestSearchPatternFails(t *testing.T) {
	s := start(t)
	h := s.run(`i=0; while [ $i -lt 50 ]; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; i=$((i+1)); done`).Job.Handle
	d := refused[schema.LimitExceededData](s.begin("job/search", obj{"handle": h, "pattern": `(a+)+b|(a*)*c|(?:a|a)*d`}), schema.KindLimitExceeded)
	equal(t, "limit", d.Limit, "patternTimeMs")
	equal(t, "a literal", len(s.search("literal", "a\n", "maxMatches", 50).Matches), 50)
}

// TestSearchFits: an answer respects maxBytes, however long the texts would be.
func TestSearchFits(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"maxMessageBytes": 1 << 20}})
	h := s.run(`i=0; while [ $i -lt 300 ]; do printf '\001\001\001\001\001\001\001\001\001\001\001\001\001\001'; i=$((i+1)); done; seq 3000`, "maxBytes", 0).Job.Handle
	r := s.search("handle", h, "pattern", `\x01*`, "on", "raw", "maxBytes", 1_000_000, "context", 100)
	if b, err := json.Marshal(r); err != nil || len(r.Matches) != 1 || len(b) > 1<<20 {
		t.Errorf("%d matches in %d bytes, %v", len(r.Matches), len(b), err)
	}
	n := 0
	for cursor := any(nil); ; n++ {
		p := []any{"handle", h, "literal", "9", "context", 100, "maxBytes", 1 << 30, "maxMatches", 1000}
		if cursor != nil {
			p = append(p, "cursor", cursor)
		}
		if r = s.search(p...); r.Cursor == nil {
			break
		}
		cursor = r.Cursor
	}
	if n < 3 {
		t.Errorf("%d pages", n)
	}
}

// TestSearchNothing: if nothing is found, the answer says whether anything was searched.
func TestSearchNothing(t *testing.T) {
	s := start(t)
	h := s.run("seq 20", "group", "g").Job.Handle
	file := s.run("seq 20", "group", "h", "stdoutFile", t.TempDir()+"/out").Job.Handle
	for _, test := range []struct {
		params      []any
		jobs, bytes int64
		groups      string
	}{
		{[]any{"handle", h}, 1, 51, "[]"},
		{[]any{"handle", h, "from", 1000}, 1, 0, "[]"},
		{[]any{"handle", file}, 1, 0, "[]"},
		{[]any{"group", "g"}, 1, 51, "[]"},
		{[]any{"group", "nope"}, 0, 0, "[g h]"},
	} {
		r := s.search(append(test.params, "literal", "nowhere")...)
		equal(t, fmt.Sprint(test.params), fmt.Sprint(r.Searched.Jobs, r.Searched.Bytes, " ", r.Groups), fmt.Sprint(test.jobs, test.bytes, " ", test.groups))
	}
}

// TestSearchOverLines: a pattern that can match a line break stays within a line, unless multiline is set.
func TestSearchOverLines(t *testing.T) {
	s := start(t)
	h := s.run(`echo building; echo; echo src/a.c:7:3: error: no; awk 'BEGIN { while (n++ < 20000) printf "a"; print "" }'`).Job.Handle
	equal(t, "by line", found(s.search("handle", h, "pattern", `^[^:]+:\d+`))[0], fmt.Sprintf("%d stdout 10-19 src/a.c:7:3: error: no", h))
	equal(t, "over lines", found(s.search("handle", h, "pattern", `^[^:]+:\d+`, "multiline", true))[0], fmt.Sprintf("%d stdout 0-19 building", h))
	equal(t, "s", len(s.search("handle", h, "pattern", `building.+error`, "flags", "s").Matches), 1)
	equal(t, "a break", len(s.search("handle", h, "pattern", `building\n\nsrc`, "multiline", true).Matches), 1)
	long := s.run(`awk 'BEGIN { while (n++ < 90000) printf "a"; print "" }'`).Job.Handle
	r := s.search("handle", long, "pattern", `^a+$`)
	equal(t, "what the limit has cut", deref(t, r.Matches[0].Limited), true)
	if m := s.search("handle", h, "pattern", `error: no$`).Matches[0]; m.Limited != nil {
		t.Error("a match that no limit has to do with is limited")
	}
}

// TestMissingOutputSaysWhere: an error about output that is not there says where it may be.
func TestMissingOutputSaysWhere(t *testing.T) {
	s := start(t)
	file := t.TempDir() + "/out"
	h := s.run("seq 20", "stdoutFile", file).Job.Handle
	gone := s.run("true").Job.Handle
	do[none](s, "job/remove", obj{"handle": gone})
	for _, test := range []struct {
		method string
		params obj
		want   string
	}{
		{"job/read", obj{"handle": h, "stream": "stdout"}, "goes to the file " + file},
		{"job/search", obj{"handle": h, "stream": "stdout", "literal": "1"}, "goes to the file " + file},
		{"job/search", obj{"pattern": `a\nb`}, `"multiline": true`},
		{"job/get", obj{"handle": gone}, "was removed"},
		{"job/get", obj{"handle": 4711}, "there never was a job 4711"},
		{"job/get", obj{"handle": "nobody"}, "job/list"},
	} {
		a := s.begin(test.method, test.params).answer()
		if a.Error == nil || !strings.Contains(a.Error.Message, test.want) {
			t.Errorf("%s %v: %+v, want %s", test.method, test.params, a.Error, test.want)
		}
	}
}
