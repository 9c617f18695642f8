package rpc

import (
	"encoding/json"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// The defaults of protocol sections 3 and 4.
const (
	defaultWait     = 30 * time.Second
	defaultRunBytes = 65536
	defaultBytes    = 16384
	defaultDrain    = 500 * time.Millisecond
	defaultKill     = 5 * time.Second
	defaultLogin    = 10 * time.Second

	defaultScreenInterval = 100 * time.Millisecond
)

func (s *Server) jobStart(r *request) error {
	var p schema.JobStartParams
	if err := r.decode(&p); err != nil {
		return err
	}
	spec, err := s.startSpec(&p, jobs.ModePTY)
	if err != nil {
		return err
	}
	spec.Window, spec.Unanswered = s.opts.Window, s.opts.Unanswered
	events := s.settings.events
	if p.Events != nil {
		events = p.Events
	}
	l := newLane(s.out, r.id, events, s.settings.encoding)
	l.want.whenSlow, l.want.queries = or(p.WhenSlow, schema.WhenSlowSpool), or(p.Queries, schema.QueriesKeep)
	spec.Asker = r.asker()
	spec.Sink, spec.SinkAnswers = newFeed(s.in, l, s.attendee), len(events) > 0 && l.want.queries == schema.QueriesClient
	if spec.Lease, err = s.leaseOf(p.OnDetach, p.DetachGraceMs); err != nil {
		return err
	}
	if err := s.roomForEvents(); err != nil {
		return err
	}
	j, pending, refused := s.mgr.Start(spec)
	if refused != nil {
		return refused
	}
	s.in.adopt(s, j)
	r.quotes(j)
	respond(r, pending, func(res jobs.StartResult) schema.JobStartResult {
		return schema.JobStartResult{Job: jobInfo(res.Info), Outcome: outcomePtr(res.Outcome)}
	})
	return nil
}

// quotes holds a job that the request has started until the request is answered.
func (r *request) quotes(j *jobs.Job) {
	handle := int64(j.ID())
	r.release, r.made = j.Hold(), &handle
}

// unsentJobs is the number of jobs, beyond maxJobs, that may have output or events that the client has not read yet.
// Each of them keeps its output in memory.
const unsentJobs = 128

// roomForEvents refuses to start another job if the client does not read the output of those that it has.
func (s *Server) roomForEvents() error {
	limit := s.mgr.Limits().MaxJobs + unsentJobs
	if s.out.backlog() <= limit {
		return nil
	}
	return &wireError{schema.KindLimitExceeded, "too many jobs have unsent output; read the server's messages before you start more jobs",
		schema.LimitExceededData{Kind: string(schema.KindLimitExceeded), Limit: "unsentJobs", Max: int64(limit), Retryable: optional(true)}}
}

// startSpec converts the params of a start to the engine's spec.
func (s *Server) startSpec(p *schema.JobStartParams, byDefault jobs.Mode) (jobs.Spec, error) {
	spec := jobs.Spec{
		Command: p.Command, Argv: p.Argv, Shell: or(p.Shell, ""), Cwd: or(p.Cwd, ""), Env: p.Env,
		Profile: string(or(p.Profile, schema.ProfileNameInteractive)),
		Mode:    jobs.Mode(or(p.Mode, "")), Cols: int(or(p.Cols, 0)), Rows: int(or(p.Rows, 0)),
		Name: or(p.Name, ""), Group: or(p.Group, ""), Description: or(p.Description, ""),
		Stderr: jobs.StderrMode(or(p.Stderr, schema.StderrTargetSeparate)), Record: or(p.Record, false),
		Plain: or(p.ShellIntegration, schema.ShellIntegrationModeAuto) == schema.ShellIntegrationModeOff,
	}
	if spec.Mode == "" && byDefault == jobs.ModePipe {
		spec.Mode = jobs.ModePipe
	}
	if err := checkMode(p, spec.Mode); err != nil {
		return spec, err
	}
	if err := setStdio(&spec, p); err != nil {
		return spec, err
	}
	setLimits(&spec, p)
	for i, w := range p.Watch {
		spec.Watches = append(spec.Watches, watchSpec(&w, pointer("/watch", i, "pattern")))
	}
	if p.Wait != nil {
		w, err := s.waitSpec(p.Wait, "/wait")
		if err != nil {
			return spec, err
		}
		spec.Wait = w
	}
	return spec, nil
}

// checkMode refuses members that only the other mode has: if they were ignored silently, the client would miss their
// effect later.
func checkMode(p *schema.JobStartParams, mode jobs.Mode) error {
	refuse := func(member, why string) error {
		return invalidParams(schema.FieldError{Pointer: "/" + member, Message: member + " " + why})
	}
	pipe := mode == jobs.ModePipe
	switch {
	case pipe && p.Cols != nil:
		return refuse("cols", `needs a terminal; start the job with "mode": "pty"`)
	case pipe && p.Rows != nil:
		return refuse("rows", `needs a terminal; start the job with "mode": "pty"`)
	case !pipe && p.Stdin != nil:
		return refuse("stdin", `needs "mode": "pipe"; a terminal is always open for input`)
	case !pipe && p.Stderr != nil:
		return refuse("stderr", `needs "mode": "pipe"; a terminal has one stream`)
	}
	return checkFiles(p, pipe)
}

func (s *Server) jobRun(r *request) error {
	var p schema.JobRunParams
	if err := r.decode(&p); err != nil {
		return err
	}
	spec, err := s.startSpec(&schema.JobStartParams{
		Command: p.Command, Argv: p.Argv, Shell: p.Shell, Cwd: p.Cwd, Env: p.Env, Profile: p.Profile, Mode: p.Mode, Cols: p.Cols, Rows: p.Rows,
		Name: p.Name, Group: p.Group, Description: p.Description, Stdin: p.Stdin, Stderr: p.Stderr, Watch: p.Watch,
		StdoutFile: p.StdoutFile, StderrFile: p.StderrFile, Record: p.Record, KillAfterMs: p.KillAfterMs, Limits: p.Limits,
	}, jobs.ModePipe)
	p.Stdin = nil // setStdio has cleared it only in a copy.
	if err != nil {
		return err
	}
	opts := jobs.RunOptions{
		Timeout: timeout(p.TimeoutMs), Background: or(p.OnTimeout, schema.OnTimeoutKill) == schema.OnTimeoutBackground,
		Drain: milliseconds(p.DrainMs, defaultDrain),
	}
	l := newLane(s.out, r.id, p.Events, s.settings.encoding)
	l.parked = p.Events == nil
	spec.Sink, spec.Asker = newFeed(s.in, l, s.attendee), r.asker()
	if spec.Lease, err = s.leaseOf(p.OnDetach, p.DetachGraceMs); err != nil {
		return err
	}
	if err := s.roomForEvents(); err != nil {
		return err
	}
	j, started, refused := s.mgr.Start(spec)
	if refused != nil {
		return refused
	}
	s.in.adopt(s, j)
	r.quotes(j)
	ran := j.Run(opts)
	events := s.settings.events
	r.await(func() (any, error) {
		if _, err := wait(r, started); err != nil {
			return nil, err
		}
		res, err := wait(r, ran)
		if !r.takePlace(answerMembers+quotedSize(res.Output, nil)+sizeOf(err), false) {
			return nil, errClientGone
		}
		if p.Events == nil && (err == nil && res.Info.Live() || err != nil && opts.Background) {
			// The job goes on, or its background processes do: its events are sent from the answer on.
			if at, ok := leftOff(j, res); ok {
				r.whenAnswered(func() { l.openFromLocked(j, at.Info, events, at.Output) })
			}
		} else {
			l.unpark()
		}
		if err != nil {
			return nil, err
		}
		return s.runResult(j, &p, res), nil
	})
	return nil
}

func (s *Server) runResult(j *jobs.Job, p *schema.JobRunParams, res jobs.RunResult) schema.JobRunResult {
	w := schema.JobRunResult{
		Exit: exit(res.Info.Exit), TimedOut: res.TimedOut, OutputComplete: res.Complete, DurationMs: millis(res.Info.Duration()),
		Job: jobState(res.Info.State), Hint: hint(res.Hint), WaitingForInput: waitingForInput(res.Waiting),
	}
	format := or(p.Format, schema.RunFormatPlain)
	q := quotation{plain: format == schema.RunFormatPlain, maxBytes: s.clampBytes(p.MaxBytes, defaultRunBytes), mark: or(p.Mark, true)}
	for name, r := range res.Output {
		var out rendering
		if format == schema.RunFormatBase64 {
			out = bytesOnly(j, name, r, q.maxBytes)
		} else {
			out = q.quoteRun(j, name, r)
		}
		switch name {
		case jobs.Stdout:
			w.Stdout, w.StdoutBase64 = out.text, out.base64
		case jobs.Stderr:
			w.Stderr, w.StderrBase64 = out.text, out.base64
		case jobs.PTY:
			w.Output, w.OutputBase64 = out.text, out.base64
		}
		if out.truncated != nil {
			if w.Truncated == nil {
				w.Truncated = map[string]schema.Truncated{}
			}
			w.Truncated[string(name)] = *out.truncated
		}
	}
	return w
}

func (s *Server) jobRead(r *request) error {
	var p schema.JobReadParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	format := or(p.Format, schema.ReadFormatText)
	pending := j.Read(jobs.ReadOptions{
		Stream: jobs.Stream(or(p.Stream, "")), Offset: p.Offset, MaxBytes: s.clampBytes(p.MaxBytes, defaultRunBytes),
		Wait: milliseconds(p.WaitMs, 0), Plain: format == schema.ReadFormatPlain, Room: r.roomFor,
	})
	respond(r, pending, func(res jobs.ReadResult) schema.JobReadResult {
		data := res.Data
		if format == schema.ReadFormatPlain {
			data = []byte(jobs.Plain(res.Shown))
		}
		out := textOrBase64(data, format == schema.ReadFormatBase64)
		w := schema.JobReadResult{
			Text: out.text, Base64: out.base64, Offset: res.Offset, NextOffset: res.NextOffset, HasMore: res.HasMore, Job: jobState(res.State),
		}
		if res.Gap != nil {
			w.Gap = &schema.Gap{From: res.Gap.From, To: res.Gap.To}
		}
		return w
	})
	return nil
}

func (s *Server) jobWait(r *request) error {
	var p schema.JobWaitParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	spec, err := s.waitSpec(&schema.Wait{Until: p.Until, From: p.From, TimeoutMs: p.TimeoutMs, MaxBytes: p.MaxBytes, Format: p.Format, Mark: p.Mark, StripEcho: p.StripEcho}, "")
	if err != nil {
		return err
	}
	r.quotes(j)
	pending, refused := j.Wait(spec)
	if refused != nil {
		return refused
	}
	respond(r, pending, func(o jobs.Outcome) schema.JobWaitResult { return schema.JobWaitResult{Outcome: outcome(o)} })
	return nil
}

func (s *Server) jobList(r *request) error {
	var p schema.JobListParams
	if err := r.decode(&p); err != nil {
		return err
	}
	all := s.mgr.All()
	infos, size := listed(all, &p)
	switch {
	case size+int64(len(r.id)) <= smallAnswer:
		r.reply(jobList(infos))
	case r.takePlaceNow():
		res := jobList(infos) // the snapshot at this request's turn
		r.await(func() (any, error) { return res, nil })
	default:
		r.await(func() (any, error) {
			if !r.takePlaceOf(s.places, false) {
				return nil, errClientGone
			}
			infos, _ := listed(all, &p)
			return jobList(infos), nil
		})
	}
	return nil
}

// listed returns the jobs for a list, and roughly the maximum number of bytes of JSON that they take.
func listed(all []*jobs.Job, p *schema.JobListParams) (infos []*jobs.Info, size int64) {
	for _, j := range all {
		info := j.Published()
		if info == nil || p.Live != nil && *p.Live != info.Live() || p.Group != nil && *p.Group != info.Group {
			continue
		}
		infos = append(infos, info)
		size += infoSize(info)
	}
	return infos, size
}

func jobList(infos []*jobs.Info) (res schema.JobListResult) {
	for _, info := range infos {
		res.Jobs = append(res.Jobs, jobInfo(*info))
	}
	return res
}

func (s *Server) jobGet(r *request) error {
	var p schema.JobGetParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	respond(r, j.Info(), func(info jobs.Info) schema.JobGetResult { return schema.JobGetResult{Job: jobInfo(info)} })
	return nil
}

func (s *Server) jobKill(r *request) error {
	var p schema.JobKillParams
	if err := r.decode(&p); err != nil {
		return err
	}
	opts := jobs.KillOptions{Grace: milliseconds(p.GraceMs, defaultKill), NoForce: !or(p.Force, true), Asker: r.asker()}
	if p.Group != nil {
		s.killGroup(r, *p.Group, opts)
		return nil
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	respond(r, j.Kill(opts), func(res jobs.KillResult) schema.JobKillResult {
		k := killReport(res)
		return schema.JobKillResult{Signals: k.Signals, Killed: k.Killed, Survivors: k.Survivors, AlreadyClosed: &k.AlreadyClosed, Job: &k.Job}
	})
	return nil
}

// target checks a request's params, stores them in into, and returns the job to which handle, a member of into, refers.
func (s *Server) target(r *request, into any, handle *json.RawMessage) (*jobs.Job, error) {
	if err := r.decode(into); err != nil {
		return nil, err
	}
	return s.job(*handle)
}

// job returns the job with a handle or a name.
func (s *Server) job(ref json.RawMessage) (*jobs.Job, error) {
	r, err := jobRef(ref)
	if err != nil {
		return nil, err
	}
	j, refused := s.mgr.Lookup(r)
	if refused != nil {
		return nil, refused
	}
	return j, nil
}

func jobRef(ref json.RawMessage) (r jobs.Ref, err error) {
	if len(ref) > 0 && ref[0] == '"' {
		err = json.Unmarshal(ref, &r.Name)
		return r, err
	}
	var n json.Number
	if err := json.Unmarshal(ref, &n); err != nil {
		return r, err
	}
	f, err := n.Float64() // 1.0 and 1e0 are integers too
	r.Handle = jobs.ID(f)
	return r, err
}

// clampBytes returns the limit for the output of one stream: at most as much as an answer with two of them can hold in
// the worst case, in which each byte takes six.
func (s *Server) clampBytes(p *int64, byDefault int) int {
	return int(min(or(p, int64(byDefault)), int64(s.settings.maxMessage/16)))
}

func milliseconds(p *int64, byDefault time.Duration) time.Duration {
	if p == nil {
		return byDefault
	}
	return time.Duration(min(*p, maxMillis)) * time.Millisecond
}

// maxMillis keeps a number of milliseconds within a time.Duration: some 70 years.
const maxMillis = int64(1) << 41

// timeout returns the timeout of a wait. It is negative if there is none.
func timeout(n schema.Nullable[int64]) time.Duration {
	switch {
	case n.Null:
		return -1
	case n.Set:
		return milliseconds(&n.Value, 0)
	}
	return defaultWait
}
