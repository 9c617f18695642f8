package rpc

import (
	"slices"
	"unicode/utf8"

	"shelld/schema"
)

// This file keeps messages within maxMessageBytes whose texts others have chosen: a
// command line, the groups of a pattern. What fits is not touched; what does not is
// cut to what fits in the worst case.

const (
	// escapedBytes is the most that a byte of a text takes in JSON.
	escapedBytes = 6
	// fixedBytes is more than the rest of a message takes: names, numbers, times.
	fixedBytes = 16 << 10
)

// bounded is a notification that fits, whose params may be cut for that.
func (o *outbox) bounded(method string, params any) []byte {
	limit := int(o.limit.Load())
	if m, ok := params.(schema.JobPatternMatchedParams); ok && matchBytesOf(m) > limit {
		params = shortMatch(m, limit-fixedBytes) // a hundred megabytes are not encoded to be thrown away
	}
	body := notification(method, params)
	if len(body) <= limit {
		return body
	}
	switch p := params.(type) {
	case schema.JobStartedParams:
		p.Job = shortJob(p.Job, limit-fixedBytes-len(p.RequestID))
		params = p
	case schema.JobPatternMatchedParams:
		params = shortMatch(p, limit-fixedBytes)
	case schema.JobExitedParams:
		p.Background = shortProcesses(p.Background, limit-fixedBytes)
		params = p
	}
	return notification(method, params)
}

// shortened is a result that is too long, with its jobs cut, and false where it has
// none. The rest of it may still be too long.
func shortened(result any, limit int) (any, bool) {
	switch res := result.(type) {
	case schema.JobStartResult:
		res.Job = shortJob(res.Job, limit/8) // the outcome may take three quarters; see clampBytes
		return res, true
	case schema.JobGetResult:
		res.Job = shortJob(res.Job, limit-fixedBytes)
		return res, true
	case schema.JobListResult:
		res.Jobs = slices.Clone(res.Jobs)
		for i, j := range res.Jobs {
			res.Jobs[i] = shortJob(j, limit/len(res.Jobs)-2048)
		}
		return res, true
	}
	return nil, false
}

// withoutScreen is a result, or the data of an error, whose outcome leaves out a screen that
// takes more than most; false where it has none such.
func withoutScreen(v any, most int) (less any, ok bool) {
	drop := func(o *schema.Outcome) *schema.Outcome {
		if o == nil || o.Screen == nil || len(marshal(o.Screen)) <= most {
			return o
		}
		short := *o
		short.Screen, short.ScreenOmitted, ok = nil, optional(true), true
		return &short
	}
	switch v := v.(type) {
	case schema.JobStartResult:
		v.Outcome = drop(v.Outcome)
		return v, ok
	case schema.JobWaitResult:
		v.Outcome = *drop(&v.Outcome)
		return v, ok
	case schema.JobExecResult:
		v.Outcome = *drop(&v.Outcome)
		return v, ok
	case schema.JobWriteResult:
		v.Outcome = drop(v.Outcome)
		return v, ok
	case schema.CanceledData:
		v.Outcome = drop(v.Outcome)
		return v, ok
	case schema.ShuttingDownData:
		v.Outcome = drop(v.Outcome)
		return v, ok
	case schema.JobExitedData:
		v.Outcome = drop(v.Outcome)
		return v, ok
	case schema.NotInteractiveData:
		v.Outcome = drop(v.Outcome)
		return v, ok
	}
	return v, false
}

// shortJob cuts what of a job may be long, so that all of it takes no more than about
// room. What the engine holds stays as it is.
func shortJob(j schema.JobInfo, room int) schema.JobInfo {
	const shares = 12 // the members here, of which each gets the same
	keep := max(room, 0) / (shares * escapedBytes)
	cut := func(member schema.JobInfoMember, is bool) {
		if is {
			j.Truncated = append(j.Truncated, member)
		}
	}
	text := func(member schema.JobInfoMember, s string) string {
		cut(member, len(s) > keep)
		return head(s, keep)
	}
	textOf := func(member schema.JobInfoMember, s *string) *string {
		if s == nil {
			return nil
		}
		t := text(member, *s)
		return &t
	}
	j.Command = textOf(schema.JobInfoMemberCommand, j.Command)
	argv := shortArgv(j.Argv, keep)
	cut(schema.JobInfoMemberArgv, !slices.Equal(argv, j.Argv))
	j.Argv = argv
	j.Description = textOf(schema.JobInfoMemberDescription, j.Description)
	j.Group = textOf(schema.JobInfoMemberGroup, j.Group)
	j.Shell = textOf(schema.JobInfoMemberShell, j.Shell)
	j.Cwd = text(schema.JobInfoMemberCwd, j.Cwd)
	j.Title = textOf(schema.JobInfoMemberTitle, j.Title)
	j.CurrentDirectory = textOf(schema.JobInfoMemberCurrentDirectory, j.CurrentDirectory)
	if f := j.Foreground; f != nil {
		j.Foreground = &schema.Process{PID: f.PID, Command: text(schema.JobInfoMemberForeground, f.Command)}
	}
	watches := fitting(j.Watches, keep, func(w schema.WatchInfo) int { return len(w.Pattern) + 32 })
	cut(schema.JobInfoMemberWatches, len(watches) < len(j.Watches))
	j.Watches = watches
	ports := fitting(j.Ports, keep*escapedBytes, func(schema.ListeningPort) int { return listeningPortBytes })
	cut(schema.JobInfoMemberPorts, len(ports) < len(j.Ports))
	j.Ports = ports
	j.Background = shortProcesses(j.Background, keep*escapedBytes)
	return j
}

// shortArgv leaves the first arguments that have room, and of the next one what has,
// but one in any case.
func shortArgv(argv []string, room int) []string {
	cost := func(a string) int { return len(a) + 1 }
	short := slices.Clip(fitting(argv, room, cost))
	if len(short) == len(argv) {
		return argv
	}
	for _, a := range short {
		room -= cost(a)
	}
	if room > 1 || len(short) == 0 {
		short = append(short, head(argv[len(short)], max(room-1, 0)))
	}
	return short
}

// fitting is the first items that have room together.
func fitting[T any](items []T, room int, cost func(T) int) []T {
	for i, item := range items {
		if room -= cost(item); room < 0 {
			return items[:i]
		}
	}
	return items
}

// matchBytesOf is how long the texts of a match are.
func matchBytesOf(p schema.JobPatternMatchedParams) int {
	n := len(p.Match) + len(p.Line)
	for _, g := range p.Groups {
		n += len(or(g, ""))
	}
	for _, g := range p.Named {
		n += len(or(g, ""))
	}
	return n
}

// shortMatch cuts the texts of a match at their ends, where they are longer than what
// each can have.
func shortMatch(p schema.JobPatternMatchedParams, room int) schema.JobPatternMatchedParams {
	texts := 2 + len(p.Groups) + len(p.Named)       // match and line, too
	keep := max(room/2, 0) / (texts * escapedBytes) // the other half: names, and null
	cut := func(s *string) *string {
		if s == nil || len(*s) <= keep {
			return s
		}
		t := head(*s, keep)
		return &t
	}
	p.Match, p.Line = *cut(&p.Match), *cut(&p.Line)
	groups := make([]*string, len(p.Groups))
	for i, g := range p.Groups {
		groups[i] = cut(g)
	}
	named := make(map[string]*string, len(p.Named))
	for name, g := range p.Named {
		named[name] = cut(g)
	}
	truncated := true
	p.Groups, p.Named, p.Truncated = groups, named, &truncated
	return p
}

// shortProcesses cuts command lines, which are cut anyway.
func shortProcesses(ps []schema.Process, room int) []schema.Process {
	ps = slices.Clone(ps)
	for i := range ps {
		ps[i].Command = head(ps[i].Command, max(room/2, 0)/(len(ps)*escapedBytes))
	}
	return ps
}

// head is at most the first n bytes of a text, without half a character at the end.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
