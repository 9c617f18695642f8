package record

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file selects the parts of a message that matter and are the same in every run.

// say returns a server's text in the form for sessions.
func (c *composer) say(text string) phrase { return c.setting.generalise(c.vault.phrase(text)) }

// params returns a message's params as the session sends them: with the session's own handles, without secrets,
// and without directories of this machine if they can be left out.
func (c *composer) params(b *beat) any {
	o, ok := b.msg.Params.(map[string]any)
	if !ok {
		return c.plain(b.msg.Params)
	}
	out, _ := c.plain(o).(map[string]any)
	j := c.jobOf(o)
	if _, isNumber := o["handle"].(wire.Number); isNumber && j != nil && c.bound[j] {
		out["handle"] = c.handle(j)
	}
	for _, name := range []string{"from", "offset"} {
		if v := c.nexts[wire.Show(o["handle"])+" "+wire.Show(o[name])]; v != "" {
			out[name] = spelled("$" + v)
		}
	}
	switch b.msg.Method {
	case "job/write":
		if id, ok := o["ifWaiting"].(string); ok && j != nil {
			if v := c.waits[j.handle+" "+id]; v != "" {
				out["ifWaiting"] = spelled("$" + v)
			}
		}
		if c.vault.hidden[b] {
			c.hide(o, out)
		}
	case "job/unwatch":
		if v := c.watches[wire.Show(o["handle"])+" "+wire.Show(o["watchId"])]; v != "" {
			out["watchId"] = spelled("$" + v)
		}
	case "$/cancelRequest":
		if b.ask != nil {
			out["id"] = spelled(c.idOf(b.ask))
		}
	case "job/start", "job/run":
		c.directory(o, out)
		c.ours(out)
	}
	return out
}

// ours adds notes about files of this machine with which a job is started.
func (c *composer) ours(v any) {
	switch v := v.(type) {
	case spelled:
		for _, file := range absolutePath.FindAllString(string(v), -1) {
			if c.setting.ours(file) {
				c.note("a job was started with %s, which a replay has not: let the session make it, or name another", file)
			}
		}
	case []any:
		for _, e := range v {
			c.ours(e)
		}
	case map[string]any:
		for _, name := range memberOrder(v) {
			c.ours(v[name])
		}
	}
}

var absolutePath = regexp.MustCompile(`/[^\s"'=:;|&<>()]+`)

// plain returns a value with its strings in session syntax.
func (c *composer) plain(v any) any {
	switch v := v.(type) {
	case string:
		return c.vault.phrase(v).quoted()
	case []any:
		a := make([]any, len(v))
		for i, e := range v {
			a[i] = c.plain(e)
		}
		return a
	case map[string]any:
		o := map[string]any{}
		for name, e := range v {
			o[name] = c.plain(e)
		}
		return o
	}
	return v
}

// hide blanks all text that a job/write types, and keeps the way it is typed.
func (c *composer) hide(o, out map[string]any) {
	blank := func(o, out map[string]any, name string) {
		if text, ok := o[name].(string); ok {
			out[name] = c.vault.blank(text).quoted()
		}
	}
	key := func(v any) any {
		if text, ok := v.(string); ok && strings.HasPrefix(text, "Alt-") && len([]rune(text)) == len("Alt-x") {
			return "Alt-x"
		}
		return v
	}
	blank(o, out, "input")
	if keys, ok := out["keys"].([]any); ok {
		given, _ := o["keys"].([]any)
		for i := range keys {
			keys[i] = key(given[i])
		}
	}
	send, _ := o["send"].([]any)
	for i, item := range send {
		from, _ := item.(map[string]any)
		items, _ := out["send"].([]any)
		to, _ := items[i].(map[string]any)
		if to == nil {
			continue
		}
		blank(from, to, "text")
		blank(from, to, "paste")
		if from["key"] != nil {
			to["key"] = key(from["key"])
		}
		if encoded, ok := from["base64"].(string); ok {
			to["base64"] = maskedBase64(encoded)
		}
	}
}

// directory replaces a job's directory by one that exists in a replay, if possible.
func (c *composer) directory(o, out map[string]any) {
	cwd, _ := o["cwd"].(string)
	if !filepath.IsAbs(cwd) {
		return
	}
	for _, root := range []string{c.root, c.setting.cwd} {
		if root == "" {
			continue
		}
		if rel, err := filepath.Rel(root, cwd); err == nil && rel == "." {
			delete(out, "cwd")
			return
		} else if err == nil && !strings.HasPrefix(rel, "..") && root != "/" {
			out["cwd"] = filepath.ToSlash(rel)
			c.note("a job starts in the directory %s, which a replay has not: make it first, or take cwd off", rel)
			return
		}
	}
	if c.setting.ours(cwd) {
		delete(out, "cwd")
		c.note("a job was started in the directory %s of this machine: cwd is left out, and it starts in the session's own", cwd)
	}
}

// initialize writes the initialize step. It omits values that are specific to this machine: the session has a
// directory of its own.
func (c *composer) initialize(b *beat) {
	params, _ := c.params(b).(map[string]any)
	for _, name := range []string{"processId", "rootDirectory", "rootPath", "rootUri", "workspaceFolders"} {
		delete(params, name)
	}
	if params["allowedDirectories"] != nil {
		delete(params, "allowedDirectories")
		c.note("allowedDirectories are left out: they name directories of this machine")
	}
	options, _ := params["options"].(map[string]any)
	if persist, ok := options["persist"].(map[string]any); ok {
		delete(persist, "directory")
	}
	result, _ := b.ask.answer.msg.Result.(map[string]any)
	if params == nil {
		params = map[string]any{}
	}
	c.step("initialize", writeValue(params, "")+"\n=>\n"+writeValue(map[string]any{"protocolVersion": result["protocolVersion"]}, ""))
}

// answer writes the step for the answer to a request.
func (c *composer) answer(b, next *beat, within string) {
	a := b.ask
	if a == nil {
		if b.msg.ID == "null" {
			c.step("error null"+within, writeValue(c.failure(b.msg.Err), ""))
		} else {
			c.note("the server answered what nobody had asked: %s", wire.Clip(string(b.raw)))
		}
		return
	}
	if c.warm && a == c.asked[0] {
		return
	}
	if b.msg.Err != nil {
		c.step("error "+a.name+within, writeValue(c.failure(b.msg.Err), ""))
		return
	}
	o, _ := b.msg.Result.(map[string]any)
	if c.overtaken(a, o) {
		c.note("%s was answered while the server was already asked to end: its answer is not recorded", a.name)
		return
	}
	pattern := c.result(a, b, next, o)
	if len(pattern) == 0 {
		c.step("answer "+a.name+within, "")
		return
	}
	c.step("answer "+a.name+within, writeValue(pattern, ""))
}

// overtaken reports whether a request was in flight when the server was asked to end, and still succeeded. In a
// replay it may come too late and be refused.
func (c *composer) overtaken(a *asked, o map[string]any) bool {
	exit, _ := o["exit"].(map[string]any)
	if a.method == "shutdown" || exit["reason"] == "shutdown" {
		return false
	}
	return slices.ContainsFunc(c.beats[a.sent.index+1:a.answer.index], func(b *beat) bool {
		return b.dir == wire.ToServer && (b.kind == tapeEnd || b.kind == tapeSignal || b.msg.Method == "shutdown" || b.msg.Method == "exit")
	})
}

// result returns the pattern for a result.
func (c *composer) result(a *asked, b, next *beat, o map[string]any) map[string]any {
	switch a.method {
	case "job/start":
		out := map[string]any{"job": c.job(o["job"], a, b, false)}
		c.put(out, "outcome", c.outcome(o["outcome"], a, b, next))
		return out
	case "job/run":
		return c.run(a, b, o)
	case "job/write":
		out := map[string]any{}
		outcome, _ := o["outcome"].(map[string]any)
		if !c.vault.hidden[a.sent] && outcome["reason"] != "timeout" {
			out["bytesWritten"] = o["bytesWritten"]
		}
		c.put(out, "outcome", c.outcome(o["outcome"], a, b, next))
		return out
	case "job/wait":
		return map[string]any{"outcome": c.outcome(o["outcome"], a, b, next)}
	case "job/read":
		return c.read(a, b, o)
	case "job/kill":
		return c.kill(a, o)
	case "job/get":
		return map[string]any{"job": c.job(o["job"], a, b, true)}
	case "job/list":
		all := []any{}
		jobs, _ := o["jobs"].([]any)
		for _, job := range jobs {
			all = append(all, c.job(job, a, b, true))
		}
		return map[string]any{"jobs": all}
	case "job/watch":
		key := wire.Show(a.params["handle"]) + " " + wire.Show(o["watchId"])
		if j := c.jobOf(a.params); j != nil {
			key = j.handle + " " + wire.Show(o["watchId"])
		}
		v := fmt.Sprintf("watch%d", len(c.watches)+1)
		c.watches[key] = v
		return map[string]any{"watchId": spelled("$" + v + ":int")}
	}
	out, _ := c.generic(o, false).(map[string]any)
	return out
}

func (c *composer) put(o map[string]any, name string, v map[string]any) {
	if len(v) > 0 {
		o[name] = v
	}
}

// job returns the pattern for a JobInfo or JobState. If asked, the client asked for the state, and the pattern
// has more members.
func (c *composer) job(v any, a *asked, b *beat, asked bool) any {
	o, _ := v.(map[string]any)
	j := c.jobOf(o)
	out := map[string]any{}
	if j != nil {
		out["handle"] = c.handle(j)
	}
	members := []string{"name", "mode"}
	if asked {
		members = append(members, "description", "group", "command")
	}
	for _, name := range members {
		if text, ok := o[name].(string); ok {
			out[name] = c.say(text).expected(true)
		}
	}
	if o["mode"] == "pty" && (asked || a.params["cols"] != nil || a.params["rows"] != nil) {
		out["cols"], out["rows"] = o["cols"], o["rows"]
	}
	if w := c.waitOf(o, b, false); w != nil {
		out["waitingForInput"] = w
	}
	switch {
	case j == nil:
	case j.closed != nil && j.closed.index < a.sent.index:
		if out["status"] = "closed"; o["exit"] != nil {
			out["exit"] = c.exit(o["exit"])
		}
	case (o["status"] == "running" || o["status"] == "stopped") && c.runsOn(j, b.index):
		out["status"] = o["status"]
	}
	return out
}

// exit returns the pattern for a job's exit. If the server killed the job with several signals, the one that
// ended it depends on timing.
func (c *composer) exit(v any) any {
	o, _ := v.(map[string]any)
	out := map[string]any{"reason": o["reason"]}
	switch reason := o["reason"]; {
	case reason == "shutdown" || reason == "timeout" || reason == "lost":
	case reason == "killed" && (o["signal"] == "SIGHUP" || o["signal"] == "SIGKILL"):
	case o["signal"] != nil:
		out["signal"] = o["signal"]
	default:
		out["code"] = o["code"]
	}
	if o["limit"] != nil {
		out["limit"] = o["limit"]
	}
	return out
}

// failure returns the pattern for an error: the members that a program would check.
func (c *composer) failure(v any) any {
	o, _ := wire.Flatten(v).(map[string]any)
	out := map[string]any{}
	for _, name := range []string{"kind", "key", "method", "name", "limit", "max", "signal", "position", "pointer", "pattern", "action"} {
		switch e := o[name].(type) {
		case nil:
		case string:
			out[name] = c.say(e).expected(true)
		default:
			out[name] = e
		}
	}
	if j := c.jobOf(o); j != nil && o["handle"] != nil {
		out["handle"] = c.handle(j)
	}
	if o["exit"] != nil {
		out["exit"] = c.exit(o["exit"])
	}
	if errors, ok := o["errors"].([]any); ok {
		places := []any{}
		for _, e := range errors {
			e, _ := e.(map[string]any)
			places = append(places, map[string]any{"pointer": c.plain(e["pointer"])})
		}
		out["errors"] = places
	}
	return out
}

// run returns the pattern for the result of a job/run.
func (c *composer) run(a *asked, b *beat, o map[string]any) map[string]any {
	out := map[string]any{"timedOut": o["timedOut"]}
	job, _ := o["job"].(map[string]any)
	if j := c.jobOf(job); j != nil {
		out["job"] = map[string]any{"handle": c.handle(j)}
	}
	if hint, ok := o["hint"].(map[string]any); ok {
		out["hint"] = map[string]any{"kind": hint["kind"]}
	}
	if o["exit"] == nil {
		out["exit"] = nil
		return out
	}
	out["exit"] = c.exit(o["exit"])
	if exit, _ := o["exit"].(map[string]any); o["timedOut"] == true || exit["reason"] == "shutdown" || c.options.Matched {
		return out
	}
	out["outputComplete"] = o["outputComplete"]
	truncated, _ := o["truncated"].(map[string]any)
	for member, stream := range map[string]string{"stdout": "stdout", "stderr": "stderr", "output": "pty"} {
		if text, ok := o[member].(string); ok && truncated[stream] == nil {
			out[member] = c.say(text).expected(true)
		}
		if encoded, ok := o[member+"Base64"].(string); ok && truncated[stream] == nil && c.vault.redactBase64(encoded) == encoded {
			out[member+"Base64"] = encoded
		}
	}
	return out
}

// read returns the pattern for the result of a job/read. If the job is not over, a replay may read more or less.
func (c *composer) read(a *asked, b *beat, o map[string]any) map[string]any {
	j := c.jobOf(a.params)
	out := map[string]any{}
	if j == nil || c.options.Matched {
		return out
	}
	stream, _ := a.params["stream"].(string)
	if stream == "" {
		stream = map[string]string{"pty": "pty"}[j.mode]
	}
	over := j.closed != nil && j.closed.index < a.sent.index
	if t := j.streams[stream]; t == nil || !over || t.wild || t.taint != t.limit() {
		if next, ok := wire.Int(o["nextOffset"]); ok {
			c.bindNext(out, j, next, b)
		}
		return out
	}
	for _, name := range []string{"offset", "nextOffset", "hasMore", "gap"} {
		if o[name] != nil {
			out[name] = o[name]
		}
	}
	if text, ok := o["text"].(string); ok && c.vault.whole(text) {
		out["text"] = c.say(text).expected(true)
	}
	if encoded, ok := o["base64"].(string); ok && c.vault.redactBase64(encoded) == encoded {
		out["base64"] = encoded
	}
	return out
}

// kill returns the pattern for the result of a job/kill.
func (c *composer) kill(a *asked, o map[string]any) map[string]any {
	out := map[string]any{}
	if jobs, ok := o["jobs"].([]any); ok {
		out["jobs"] = spelled(fmt.Sprintf("@len %d", len(jobs)))
		return out
	}
	if survivors, ok := o["survivors"].([]any); ok && len(survivors) == 0 {
		out["survivors"] = []any{}
	}
	j := c.jobOf(a.params)
	if j != nil && (j.closed != nil && j.closed.index < a.sent.index || c.runsOn(j, a.sent.index)) {
		out["alreadyClosed"] = o["alreadyClosed"]
	}
	if job, ok := o["job"].(map[string]any); ok && job["exit"] != nil && j != nil && (j.exited == nil || j.exited.index < a.sent.index || c.runsOn(j, a.sent.index)) {
		out["job"] = map[string]any{"handle": c.handle(j), "exit": c.exit(job["exit"])}
	}
	return out
}

// bindNext binds an offset that the client names later to a variable, since it differs in a replay.
func (c *composer) bindNext(out map[string]any, j *cast, next int64, b *beat) {
	text := strconv.FormatInt(next, 10)
	later := slices.ContainsFunc(c.beats[b.index:], func(b *beat) bool {
		o, _ := b.msg.Params.(map[string]any)
		return b.dir == wire.ToServer && c.jobOf(o) == j && (wire.Show(o["from"]) == text || wire.Show(o["offset"]) == text)
	})
	if !later {
		return
	}
	v := fmt.Sprintf("next%d", len(c.nexts)+1)
	c.nexts[j.handle+" "+text] = v
	if j.name != "" {
		c.nexts[wire.Show(j.name)+" "+text] = v
	}
	out["nextOffset"] = spelled("$" + v + ":int")
}
