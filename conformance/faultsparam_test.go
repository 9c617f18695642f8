//go:build linux

package conformance

import (
	"fmt"
	"strings"
)

// paramFaults are servers that accept a member of params and ignore it. One session that detects it is enough.
func paramFaults() []fault {
	return append(ignoring("", `
initialize rootDirectory allowedDirectories
initialize/capabilities ack secret confirm
initialize/options encoding events env limits persist confirm secretInput allowCommands denyCommands aliases
initialize/options/env include exclude set inherit login
initialize/options/persist keepJobs
initialize/options/limits maxJobs spoolMemoryBytes spoolDiskBytes jobTimeoutMs windowBytes screenIntervalMs
initialize/options/confirm start write kill
initialize/options/persist directory mode
job/start cwd env profile shell mode cols rows name group stdin stderr stdoutFile stderrFile watch events queries whenSlow wait killAfterMs limits record shellIntegration
job/run cwd env profile stdin stderr stdoutFile timeoutMs onTimeout maxBytes drainMs format mark mode name events killAfterMs limits record
job/write input keys send appendNewline eof ifWaiting wait
job/read offset stream maxBytes waitMs format
job/search handle group stream flags multiline on from to reverse context maxMatches maxBytes timeoutMs cursor
job/screen format scrollback trim sinceRevision
job/wait from timeoutMs maxBytes format mark stripEcho
job/exec wait timeoutMs onTimeout ifBusy
job/exec/wait until mark
job/history since limit
job/list live group
job/kill graceMs force
job/signal target
job/watch from once flags stream on
job/subscribe events encoding from queries whenSlow
job/remove keepFiles
env/get handle
env/list handle
env/set secret handle
env/unset handle
wait from timeoutMs maxBytes format mark stripEcho
condition flags on stream afterInput
condition/input minConfidence kinds listening
watch flags on stream once
`), ignoring(shared, `
initialize/capabilities ping
initialize/options/limits pingMs lostMs
initialize/session attach clientId token role human share lease jobs resume
initialize/session/lease detachedMs idleMs
initialize/session/jobs onDetach graceMs
session/set lease share jobs
job/start key onDetach detachGraceMs
job/run key onDetach
job/write key
job/exec key
job/kill key
job/signal key
job/resize key
job/remove key
env/set key
env/unset key
job/set onDetach detachGraceMs
job/subscribe after whenDetached
`)...)
}

// ignoring returns the faults of a list of members, with the level of the sessions that can detect them.
func ignoring(level, members string) (all []fault) {
	// The verdict reports a consequence: another result, an error, or silence.
	const says = "expected|differs|no more output comes|are not acknowledged|by the condition input|" + notSent
	for line := range strings.SplitSeq(strings.TrimSpace(members), "\n") {
		where, names, _ := strings.Cut(line, " ")
		for _, name := range strings.Fields(names) {
			all = append(all, fault{name: fmt.Sprintf("ignores `%s` of `%s`", name, where), says: says, slow: true, level: level, word: name, hooks: ignores(where, name)})
		}
	}
	return all
}

// ignores removes a member before the server receives it, as if the server ignored it. where is a method and the
// path of an object in its params, or a wait, a condition or a watch anywhere in them.
func ignores(where, name string) func() hooks {
	return func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			c, found := m.copy(), false
			for _, o := range places(where, c) {
				if _, ok := o[name]; ok {
					delete(o, name)
					found = true
				}
			}
			if !found {
				return []*packet{m}
			}
			p.commit()
			c.touch()
			return []*packet{c}
		}}
	}
}

// places returns the objects in a request that where means.
func places(where string, m *packet) (all []map[string]any) {
	params := m.object("params")
	if way := strings.TrimPrefix(where, m.method()); way == "" || way != where && way[0] == '/' {
		o := params
		for name := range strings.SplitSeq(strings.TrimPrefix(way, "/"), "/") {
			if name != "" {
				o, _ = o[name].(map[string]any)
			}
		}
		return []map[string]any{o}
	}
	wait, _ := params["wait"].(map[string]any)
	list := func(v any) {
		elements, _ := v.([]any)
		for _, e := range elements {
			if o, ok := e.(map[string]any); ok {
				all = append(all, o)
			}
		}
	}
	switch where {
	case "condition/input":
		for _, condition := range places("condition", m) {
			o, _ := condition["input"].(map[string]any)
			all = append(all, o)
		}
	case "wait":
		all = append(all, wait)
	case "condition":
		list(wait["until"])
		list(params["until"])
	case "watch":
		list(params["watch"])
	}
	return all
}
