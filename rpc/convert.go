package rpc

import (
	"bytes"
	"encoding/json"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// This file converts the engine's values to those of the wire and back. It makes no decisions.

// encoded is a value that is already JSON.
type encoded []byte

func marshal(v any) []byte {
	if b, ok := v.(encoded); ok {
		return b
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Our own types always encode: a test encodes each.
		return []byte("{}")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func notification(method string, params any) []byte {
	body := append([]byte(`{"jsonrpc":"2.0","method":"`), method...) // The method needs no escaping.
	body = append(body, `","params":`...)
	if m, ok := params.(schema.JobPatternMatchedParams); ok {
		body = appendMatched(body, &m)
	} else {
		body = append(body, marshal(params)...)
	}
	return append(body, '}')
}

func resultBody(id json.RawMessage, result any) []byte {
	body := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	body = append(body, `,"result":`...)
	body = append(body, marshal(result)...)
	return append(body, '}')
}

// optional returns a pointer to v, or nil for "", 0 and false: then the member is left out.
func optional[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

func int64Ptr(n *int) *int64 {
	if n == nil {
		return nil
	}
	v := int64(*n)
	return &v
}

// or returns *p, or the default if p is nil.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

func millis(d time.Duration) int64 { return d.Milliseconds() }

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func exit(e *jobs.Exit) *schema.Exit {
	if e == nil {
		return nil
	}
	return &schema.Exit{Code: int64Ptr(e.Code), Signal: optional(e.Signal), CoreDumped: e.CoreDumped, Reason: schema.ExitReason(e.Reason), Limit: optional(schema.LimitName(e.Limit))}
}

func jobState(s jobs.State) schema.JobState {
	w := schema.JobState{
		Handle: int64(s.Handle), Name: optional(s.Name), Status: schema.Status(s.Status), Exit: exit(s.Exit),
		Streams: schema.Map[schema.StreamPosition]{},
	}
	w.WaitingForInput = waitingForInput(s.Waiting)
	for _, st := range s.Streams {
		w.Streams[string(st.Name)] = schema.StreamPosition{NextOffset: st.NextOffset}
	}
	return w
}

func jobInfo(i jobs.Info) schema.JobInfo {
	w := schema.JobInfo{
		Handle: int64(i.Handle), Name: optional(i.Name), Status: schema.Status(i.Status), Exit: exit(i.Exit),
		Description: optional(i.Description), Group: optional(i.Group), Command: i.Command, Argv: i.Argv,
		Shell: optional(i.Shell), Cwd: i.Cwd, Mode: schema.Mode(i.Mode), ModeReason: optional(i.ModeReason),
		PID: int64(i.PID), StartedAt: timestamp(i.StartedAt), DurationMs: millis(i.Duration()),
		Cols: int64(i.Cols), Rows: int64(i.Rows), Background: processes(i.Background),
		Streams: schema.Map[schema.StreamInfo]{}, OutputDirectory: optional(i.OutputDirectory),
		Title: optional(i.Title), CurrentDirectory: optional(i.CurrentDirectory), Foreground: process(i.Foreground),
		ShellIntegration: optional(i.Integration),
	}
	if i.OutputFileError != "" {
		w.OutputFileError = &schema.OutputFileError{Path: i.OutputFile, Reason: i.OutputFileError}
	}
	w.WaitingForInput = waitingForInput(i.Waiting)
	w.KillAfterMs, w.Limits = optional(millis(i.KillAfter)), limitInfo(i.Limits)
	setLease(&w, &i)
	if !i.EndedAt.IsZero() {
		w.EndedAt = optional(timestamp(i.EndedAt))
	}
	if idle, ok := i.Idle(); ok {
		w.IdleMs = new(millis(idle))
	}
	for _, st := range i.Streams {
		w.Streams[string(st.Name)] = schema.StreamInfo{NextOffset: st.NextOffset, Kept: pairs(st.Kept)}
	}
	w.Ports = listeningPorts(i.Ports)
	for _, wi := range i.Watches {
		w.Watches = append(w.Watches, watchInfo(wi))
	}
	return w
}

// setLease adds the lease of a job to its info. The jobs of a server without sessions have none.
func setLease(w *schema.JobInfo, i *jobs.Info) {
	if !i.EndsAt.IsZero() {
		w.EndsAt = new(timestamp(i.EndsAt))
	}
	l := i.Lease
	if l == (jobs.Lease{}) {
		return
	}
	w.StartedBy, w.InputHolder, w.OnDetach = optional(l.Owner), optional(l.Holder), new(schema.OnDetachKeep)
	if !l.Keep {
		w.OnDetach, w.DetachGraceMs = new(schema.OnDetachEnd), new(millis(l.Grace))
	}
}

// pairs returns ranges in the form of the wire.
func pairs(all []jobs.Range) (told [][]int64) {
	for _, r := range all {
		told = append(told, []int64{r.From, r.To})
	}
	return told
}

func watchInfo(w jobs.WatchInfo) schema.WatchInfo {
	wi := schema.WatchInfo{WatchID: int64(w.ID), Pattern: w.Pattern, Flags: optional(w.Flags), On: schema.WatchTargetPlain, Stream: optional(schema.Stream(w.Stream))}
	switch {
	case w.Raw:
		wi.On = schema.WatchTargetRaw
	case w.Screen:
		wi.On = schema.WatchTargetScreen
	}
	if w.Once {
		wi.Once = &w.Once
	}
	return wi
}

func processes(ps []jobs.Process) (out []schema.Process) {
	for _, p := range ps {
		out = append(out, schema.Process{PID: int64(p.PID), Command: p.Command})
	}
	return out
}

func survivors(ss []jobs.Survivor) (out []schema.Survivor) {
	for _, s := range ss {
		out = append(out, schema.Survivor{PID: int64(s.PID), Command: s.Command, Why: s.Why})
	}
	return out
}

func hint(h *jobs.Hint) *schema.Hint {
	if h == nil {
		return nil
	}
	return &schema.Hint{Kind: schema.HintKind(wireKinds[h.Kind]), Command: optional(h.Command), Suggestions: h.Suggestions, Path: optional(h.Path)}
}

// eventName returns the name by which a client subscribes to an event.
func eventName(e *jobs.Event) schema.EventName {
	switch {
	case e.Matched != nil:
		return schema.EventNamePatternMatched
	case e.Removed != nil:
		return schema.EventNameWatchRemoved
	case e.Changed != nil:
		return schema.EventNameStateChanged
	case e.Screen != nil:
		return schema.EventNameScreenChanged
	case e.Waiting != nil:
		return schema.EventNameWaitingForInput
	case e.Command != nil:
		return schema.EventNameCommandFinished
	case e.Input != nil:
		return schema.EventNameInputChanged
	case e.Exited != nil:
		return schema.EventNameExited
	}
	return schema.EventNameClosed
}

// eventParams returns the notification of an event: the event's name, the method, and the params.
func eventParams(e *laneEvent, handle, seq int64) (schema.EventName, string, any) {
	n := optional(e.n)
	switch {
	case e.Matched != nil:
		m := &e.Matched.Match
		p := schema.JobPatternMatchedParams{
			Handle: handle, Seq: seq, N: n, WatchID: int64(e.Matched.WatchID), Match: m.Text, Groups: m.Groups, Named: m.Named,
			Line: m.Line, Stream: schema.Stream(e.Matched.Stream), Offset: m.Start, EndOffset: m.End,
		}
		p.Row, p.Col = place(e.Matched.Place)
		if e.suppressed > 0 {
			p.Suppressed = &e.suppressed
		}
		return schema.EventNamePatternMatched, "job/patternMatched", p
	case e.Removed != nil:
		return schema.EventNameWatchRemoved, "job/watchRemoved", schema.JobWatchRemovedParams{
			Handle: handle, Seq: seq, N: n, WatchID: int64(e.Removed.WatchID), Reason: e.Removed.Reason,
		}
	case e.Changed != nil:
		return schema.EventNameStateChanged, "job/stateChanged", stateChanged(e.Changed, handle, seq, n)
	case e.Screen != nil:
		return schema.EventNameScreenChanged, "job/screenChanged", schema.JobScreenChangedParams{
			Handle: handle, Seq: seq, Revision: int64(e.Screen.Revision), Offset: e.Screen.Offset,
		}
	case e.Waiting != nil:
		return schema.EventNameWaitingForInput, "job/waitingForInput", waitingParams(e.Waiting, handle, seq, n)
	case e.Command != nil:
		return schema.EventNameCommandFinished, "job/commandFinished", commandFinished(&e.Command.ShellCommand, handle, seq, n, e.suppressed)
	case e.Input != nil:
		return schema.EventNameInputChanged, "job/inputChanged", schema.JobInputChangedParams{
			Handle: handle, Seq: seq, N: n, Holder: optional(e.Input.Holder), By: e.Input.By, Reason: schema.InputChangeReason(e.Input.Reason),
		}
	case e.Exited != nil:
		return schema.EventNameExited, "job/exited", schema.JobExitedParams{
			Handle: handle, Seq: seq, N: n, Exit: *exit(&e.Exited.Exit), DurationMs: millis(e.Exited.Duration),
			Background: processes(e.Exited.Background), Hint: hint(e.Exited.Hint),
		}
	}
	return schema.EventNameClosed, "job/closed", schema.JobClosedParams{Handle: handle, Seq: seq, N: n, Survivors: survivors(e.Closed.Survivors)}
}

func outcomePtr(o *jobs.Outcome) *schema.Outcome {
	if o == nil {
		return nil
	}
	w := outcome(*o)
	return &w
}

// outcome converts the outcome of a wait. It reads its output from the job's spools.
func outcome(o jobs.Outcome) schema.Outcome {
	w := schema.Outcome{Reason: schema.OutcomeReason(o.Reason), Output: schema.Map[schema.OutcomeOutput]{}, Job: jobState(o.State)}
	if o.Index >= 0 {
		i := int64(o.Index)
		w.Index = &i
	}
	if m := o.Match; m != nil {
		w.Match = &schema.Match{
			Text: &m.Text, Groups: m.Groups, Named: m.Named, Line: &m.Line, Stream: optional(schema.Stream(o.MatchStream)),
			Offset: &m.Start, EndOffset: &m.End,
		}
		w.Match.Row, w.Match.Col = place(o.MatchPlace)
	}
	if o.Port != nil {
		w.Match = portMatch(o.Port)
	}
	if c := o.Command; c != nil {
		told := shellCommand(c, finishedText+len(c.Cwd))
		w.Command = &told
	}
	if shown := o.Screen(); shown != nil {
		w.Screen = outcomeScreen(shown)
		return w
	}
	for name, r := range o.Output {
		quoted := r
		if o.Spec.Plain {
			quoted = o.Job.Shown(name, r, o.State.Status == jobs.StatusClosed)
		}
		q := quotation{plain: o.Spec.Plain, maxBytes: o.Spec.MaxBytes, mark: !o.Spec.Unmarked}
		p := q.quote(o.Job, name, quoted, o.Echo(name)...)
		w.Output[string(name)] = schema.OutcomeOutput{
			Text: p.text, Base64: p.base64, Offset: r.From, NextOffset: r.To, Truncated: p.truncated,
		}
	}
	return w
}

func killReport(r jobs.KillResult) schema.KillReport {
	w := schema.KillReport{
		Signals: []schema.SentSignal{}, Killed: []schema.KilledProcess{}, Survivors: []schema.Survivor{},
		AlreadyClosed: r.AlreadyClosed, Job: jobState(r.State),
	}
	w.Survivors = append(w.Survivors, survivors(r.Survivors)...)
	for _, s := range r.Signals {
		w.Signals = append(w.Signals, schema.SentSignal{Signal: s.Signal, AtMs: millis(s.After)})
	}
	for _, k := range r.Killed {
		w.Killed = append(w.Killed, schema.KilledProcess{PID: int64(k.PID), Command: k.Command, How: k.How})
	}
	return w
}
