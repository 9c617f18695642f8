//go:build linux

package conformance

import (
	"slices"

	"shelld.dev/shelld/conformance/internal/wire"
)

// searchFaults are faults in the results of a search.
var searchFaults = []fault{
	{name: "reports a search match one byte too far", word: "job/search", says: "/matches/.*/offset: expected|/matches", hooks: found(func(list []any) []any {
		return changeEach(list, add("offset", 1))
	})},
	{name: "reports the end of a search match one byte too far", word: "job/search", says: "/matches/.*/endOffset: expected|/matches", hooks: found(func(list []any) []any {
		return changeEach(list, add("endOffset", 1))
	})},
	{name: "omits the last search match", word: "job/search", says: "/matches", hooks: found(func(list []any) []any { return list[:len(list)-1] })},
	{name: "omits the first search match", word: "job/search", says: "/matches", hooks: found(func(list []any) []any { return list[1:] })},
	{name: "repeats a search match", word: "job/search", says: "/matches", hooks: found(func(list []any) []any { return append(list, list[len(list)-1]) })},
	{name: "reverses the search matches", word: "job/search", says: "/matches/", hooks: found(func(list []any) []any {
		slices.Reverse(list)
		return list
	})},
	{name: "reports a search match in another stream", word: "job/search", says: "/matches/.*/stream: expected", hooks: found(func(list []any) []any {
		return changeEach(list, set("stream", "pty"))
	})},
	{name: "reports a wrong line of a search match", word: "job/search", says: "/matches/.*/line: expected", hooks: found(func(list []any) []any {
		return changeEach(list, set("line", "x"))
	})},
	{name: "omits a group of a search match", word: "job/search", says: "/matches/.*/groups", hooks: foundWith("groups", func(o map[string]any) {
		o["groups"] = o["groups"].([]any)[1:]
	})},
	{name: "swaps the context lines of a search match", word: "job/search", says: "/matches/.*/(before|after)", hooks: foundWith("before", func(o map[string]any) {
		o["before"], o["after"] = o["after"], o["before"]
	})},
	{name: "reports a truncated search as complete", word: "job/search", says: "/truncated: expected|/cursor|/stoppedBy", hooks: inside("result", result("job/search").has("cursor"), func(o map[string]any) {
		o["truncated"] = false
	})},
	{name: "continues a search one byte too far", word: "job/search", says: "/cursor|/matches", hooks: inside("result", result("job/search").has("cursor"), in("cursor", add("offset", 1)))},
	{name: "omits a gap in the searched output", word: "job/search", says: "/gaps: expected", hooks: inside("result", result("job/search").has("gaps"), unset("gaps"))},
	{name: "omits that a search match was cut", word: "job/search", says: "/matches/.*/limited", hooks: foundWith("limited", func(o map[string]any) {
		delete(o, "limited")
	})},
	{name: "reports one searched byte too many", word: "job/search", says: "/searched/bytes: expected", hooks: inside("result", result("job/search").has("searched"), in("searched", add("bytes", 1)))},
	{name: "omits the existing groups for a search of an unknown one", word: "job/search", says: "/groups", hooks: inside("result", result("job/search").has("groups"), unset("groups"))},
	{name: "finds matches in the marker of dropped output", word: "job/search", says: "/matches", hooks: inside("result", result("job/search").where(func(m *packet) bool {
		list, _ := m.object("result")["matches"].([]any)
		return len(list) == 0
	}), func(o map[string]any) {
		o["matches"] = []any{map[string]any{"handle": wire.Number("1"), "stream": "stdout", "offset": wire.Number("0"), "endOffset": wire.Number("1"), "text": "x", "line": "x"}}
	})},
	{name: "accepts the cursor of another search", word: "job/search", says: "expected an error for .*, got the result", hooks: edit(refusal("invalidParams").where(methodIs("job/search")).where(refusesAt("/cursor/search")), func(v map[string]any) {
		delete(v, "error")
		v["result"] = map[string]any{"matches": []any{}, "truncated": false, "searched": map[string]any{"jobs": wire.Number("1"), "bytes": wire.Number("0")}}
	})},
	{name: "answers a cancelled search with a result", word: "job/search", says: "expected an error for .*, got the result", hooks: edit(refusal("canceled").where(methodIs("job/search")), func(v map[string]any) {
		delete(v, "error")
		v["result"] = map[string]any{"matches": []any{}, "truncated": false}
	})},
}

// refusesAt picks errors about the member of params at a pointer.
func refusesAt(pointer string) which {
	return func(m *packet) bool {
		data, _ := m.object("error")["data"].(map[string]any)
		list, _ := data["errors"].([]any)
		return slices.ContainsFunc(list, func(e any) bool {
			o, _ := e.(map[string]any)
			return o["pointer"] == pointer
		})
	}
}

// found changes the matches of searches that have some.
func found(change func(list []any) []any) func() hooks {
	return inside("result", result("job/search").where(func(m *packet) bool {
		list, _ := m.object("result")["matches"].([]any)
		return len(list) > 0
	}), func(o map[string]any) { o["matches"] = change(o["matches"].([]any)) })
}

// foundWith changes the first match of a search, if it has a member.
func foundWith(member string, change func(map[string]any)) func() hooks {
	first := func(m *packet) map[string]any {
		list, _ := m.object("result")["matches"].([]any)
		if len(list) == 0 {
			return nil
		}
		return list[0].(map[string]any)
	}
	return edit(result("job/search").where(func(m *packet) bool { return first(m)[member] != nil }), func(v map[string]any) {
		change(v["result"].(map[string]any)["matches"].([]any)[0].(map[string]any))
	})
}

func changeEach(list []any, how func(map[string]any)) []any {
	for _, m := range list {
		how(m.(map[string]any))
	}
	return list
}
