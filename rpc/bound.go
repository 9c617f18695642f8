package rpc

import (
	"slices"
	"unicode/utf8"

	"shelld.dev/shelld/schema"
)

// This file keeps messages within maxMessageBytes if they carry text that others have chosen: a command line, the
// groups of a pattern. A message that fits is unchanged. Otherwise its texts are cut so far that they fit in the worst
// case.

const (
	// escapedBytes is the maximum number of bytes that one byte of text takes in JSON.
	escapedBytes = 6
	// fixedBytes is an upper bound for the rest of a message: names, numbers, times.
	fixedBytes = 16 << 10
)

// bounded encodes a notification. It cuts the params if the message would be too long.
func (o *outbox) bounded(method string, params any) []byte {
	limit := int(o.limit.Load())
	if m, ok := params.(schema.JobPatternMatchedParams); ok && matchBytesOf(m) > limit {
		params = shortMatch(m, limit-fixedBytes) // Do not encode a hundred megabytes only to drop them.
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

// shortened returns a copy of a result that is too long, with its jobs cut. It returns false if the result has no jobs.
// The rest of the result may still be too long.
func shortened(result any, limit int) (any, bool) {
	switch res := result.(type) {
	case schema.JobStartResult:
		res.Job = shortJob(res.Job, limit/8) // The outcome may take three quarters; see clampBytes.
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

// withoutScreen returns v, a result or the data of an error, without the screen of its outcome if that takes more than
// most bytes. ok is false if there is no such screen.
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

// shortJob cuts those members of a job that may be long, so that the job takes about room bytes at most. It does not
// modify the engine's data.
func shortJob(j schema.JobInfo, room int) schema.JobInfo {
	const shares = 12 // the members cut here; each gets an equal share
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

// shortArgv returns the first arguments that fit into room, and the beginning of the next one. It returns at least one.
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

// fitting returns the first items that fit into room together.
func fitting[T any](items []T, room int, cost func(T) int) []T {
	for i, item := range items {
		if room -= cost(item); room < 0 {
			return items[:i]
		}
	}
	return items
}

// matchBytesOf returns the length of the texts of a match.
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

// shortMatch cuts the end of each text of a match that is longer than its share of the room.
func shortMatch(p schema.JobPatternMatchedParams, room int) schema.JobPatternMatchedParams {
	texts := 2 + len(p.Groups) + len(p.Named)       // The match and the line are texts, too.
	keep := max(room/2, 0) / (texts * escapedBytes) // The other half is for names and null.
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

// shortProcesses cuts command lines further. The engine has cut them already.
func shortProcesses(ps []schema.Process, room int) []schema.Process {
	ps = slices.Clone(ps)
	for i := range ps {
		ps[i].Command = head(ps[i].Command, max(room/2, 0)/(len(ps)*escapedBytes))
	}
	return ps
}

// head returns the first n bytes of a text at most, without a partial character at the end.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
