package main

import (
	"slices"
	"strings"

	"shelld.dev/shelld/schema"
)

// A model may use the name that another tool has for a parameter; the error then suggests the right one.

// sameParams contains groups of synonyms. The tools come from several designs, and models know still others.
var sameParams = [][]string{
	{"command", "cmd", "commandline", "script", "bash"},
	{"dir_path", "directory", "workingDirectory", "cwd", "dir", "path", "workdir"},
	{"handle", "pid", "job", "sessionId", "id", "jobid", "processid", "process", "session", "shellid", "bashid", "terminal"},
	{"input", "text", "stdin", "data", "chars"},
	{"keys", "special_keys", "key"},
	{"ai_callback_pattern", "pattern", "find", "regex", "regexp", "query", "filter", "waitfor"},
	{"timeout", "timeout_seconds", "ai_callback_delay", "timeoutms", "yieldtimems", "wait"},
	{"max_bytes", "maxBytes", "max_output_size", "maxoutput", "limit"},
	{"append_newline", "enter", "newline"},
	{"is_background", "background", "runinbackground"},
	{"env", "environment"},
	{"force", "kill"},
}

// plainName removes the differences in spelling from a name.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// meantParam returns the parameter of a tool that an unknown name most likely means, or "".
func meantParam(name string, names []string) string {
	plain := plainName(name)
	for _, same := range sameParams {
		if !slices.ContainsFunc(same, func(s string) bool { return plainName(s) == plain }) {
			continue
		}
		for _, s := range same {
			if slices.Contains(names, s) {
				return s
			}
		}
	}
	return schema.Nearest(name, names)
}
