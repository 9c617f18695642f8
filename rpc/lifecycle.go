package rpc

import (
	"slices"
	"sync"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/jobs/stored"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/screen"
)

// protocolVersion is the version that this server speaks.
const protocolVersion = "1"

// A lifeState is the stage of a connection's life.
type lifeState int

const (
	lifeCreated lifeState = iota
	lifeInitialized
	lifeShuttingDown
	lifeShutDown
)

// lifecycle guards the order of a client's requests. The reading goroutine reads it, and the goroutine that performs a
// shutdown changes it.
type lifecycle struct {
	mu    sync.Mutex
	state lifeState
	ended bool // the connection is over; no new requests are accepted
}

func (l *lifecycle) initialized() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != lifeCreated
}

// admits returns an error if a method may not be called now.
func (l *lifecycle) admits(method string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state == lifeShutDown:
		return wireErrorf(schema.KindInvalidRequest, "the server is shut down; send the notification exit")
	case l.ended || l.state == lifeShuttingDown:
		return wireErrorf(schema.KindShuttingDown, "the server is shutting down and accepts no more requests")
	case l.state == lifeCreated && method != "initialize":
		return &wireError{kind: schema.KindNotInitialized, message: "send initialize first"}
	case l.state == lifeInitialized && method == "initialize":
		return wireErrorf(schema.KindInvalidRequest, "initialize was already answered; send it only once")
	}
	return nil
}

func (l *lifecycle) move(s lifeState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
}

// end marks the connection as over: no new requests are accepted.
func (l *lifecycle) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// isShutDown reports whether shutdown is complete.
func (l *lifecycle) isShutDown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == lifeShutDown
}

// settings are the settings of the connection, from initialize.
type settings struct {
	events     []schema.EventName
	encoding   schema.Encoding
	maxMessage int
}

// sharedEvents are the same for a client that knows of sessions.
var sharedEvents = append(slices.Clip(slices.Clone(defaultEvents)), schema.EventNameInputChanged)

func defaultSettings() settings {
	return settings{events: defaultEvents, encoding: schema.EncodingText, maxMessage: defaultMaxMessage}
}

// defaultEvents are the events that a client gets by default.
var defaultEvents = []schema.EventName{
	schema.EventNameStarted, schema.EventNameOutput, schema.EventNamePatternMatched,
	schema.EventNameWatchRemoved, schema.EventNameStateChanged, schema.EventNameCommandFinished, schema.EventNameExited, schema.EventNameClosed,
}

func (s *Server) initialize(r *request) error {
	var p schema.InitializeParams
	if err := r.wellFormed(); err != nil {
		return err
	}
	ignored, err := schema.DecodeInitialize(r.params, s.in.shared, &p)
	if err != nil {
		return err
	}
	if v := or(p.ProtocolVersion, protocolVersion); v != protocolVersion {
		return &wireError{schema.KindUnsupportedVersion, "this server does not speak version " + clip(v, 50) + " of the protocol; it speaks " + protocolVersion,
			schema.UnsupportedVersionData{Kind: string(schema.KindUnsupportedVersion), Supported: []string{protocolVersion}}}
	}
	first, attached, err := s.join(&p)
	if err != nil {
		return err
	}
	s.configure(&p)
	s.life.move(lifeInitialized)
	result := s.initializeResult()
	result.Warnings = append(s.warnings(ignored), s.unused(&p, first)...)
	s.listen(&p, &result.Limits)
	if !s.in.shared {
		r.reply(result)
		return nil
	}
	result.Session = s.in.attached(s, attached)
	if p.Session == nil || len(p.Session.Resume) == 0 {
		r.whenAnswered(s.out.metLocked)
		r.reply(result)
		return nil
	}
	resumed := r.resume(p.Session.Resume)
	r.await(func() (any, error) {
		result.Session.Resumed = resumed()
		return result, nil
	})
	return nil
}

// join makes a connection a client of its session. It reports whether it is the first one, which configures the session.
func (s *Server) join(p *schema.InitializeParams) (first bool, attached schema.SessionAttached, err error) {
	if !s.in.shared {
		s.attendee.role, s.attendee.person, s.attendee.confirms = schema.SessionRoleOwner, true, true
		s.in.clients = []*Server{s}
		return true, "", s.configureJobs(p)
	}
	return s.in.join(s, p)
}

// unused returns a warning if the options of a client that has joined a session do not count, since those of the first one
// do.
func (s *Server) unused(p *schema.InitializeParams, first bool) []schema.Warning {
	if first || p.Options == nil && p.RootDirectory == nil && p.AllowedDirectories == nil {
		return nil
	}
	return []schema.Warning{{Pointer: "/options", Message: "the session was set up by its first client: of rootDirectory, allowedDirectories and options, only events, encoding and the limits of this connection count; policy and limits of the result are those in effect"}}
}

// warnings returns a warning for each param of initialize that was ignored.
func (s *Server) warnings(ignored []schema.FieldError) (told []schema.Warning) {
	for _, f := range ignored {
		s.log.Warn("initialize has an unknown member", "pointer", f.Pointer, "what", f.Message)
		told = append(told, schema.Warning{Pointer: f.Pointer, Message: f.Message, DidYouMean: optional(f.DidYouMean)})
	}
	return told
}

// configureJobs sets up the manager according to the client's params.
func (s *Server) configureJobs(p *schema.InitializeParams) error {
	o := or(p.Options, schema.Options{})
	limits := or(o.Limits, schema.LimitOptions{})
	env := or(o.Env, schema.EnvOptions{})
	return s.mgr.Configure(jobs.Options{
		Root:        or(p.RootDirectory, ""),
		AllowedDirs: p.AllowedDirectories,
		Env: jobs.EnvPolicy{
			Inherit: string(or(env.Inherit, schema.EnvInheritCore)), Include: env.Include, Exclude: env.Exclude, Set: env.Set,
		},
		Login: login(env.Login),
		Limits: jobs.Limits{
			MaxJobs:         int(or(limits.MaxJobs, 0)),
			SpoolMemory:     int(or(limits.SpoolMemoryBytes, 0)),
			SpoolDisk:       or(limits.SpoolDiskBytes, 0),
			SpoolTotal:      or(limits.SpoolTotalBytes, 0),
			InputQueueBytes: or(limits.InputQueueBytes, 0),
			ShutdownGrace:   grace(limits.ShutdownGraceMs),
			JobTimeout:      milliseconds(limits.JobTimeoutMs, 0),
			KeepJobs:        int(or(or(o.Persist, schema.PersistOptions{}).KeepJobs, 0)),
		},
		Persist: s.persist(or(o.Persist, schema.PersistOptions{})),
		Secrets: jobs.SecretPolicy{
			Ask:        s.in.shared || or(or(p.Capabilities, schema.ClientCapabilities{}).Secret, false), // A later client may have a person.
			Asks:       s.in.asksSecrets(),
			ClientOnly: or(o.SecretInput, schema.SecretInputAny) == schema.SecretInputClientOnly,
		},
		Confirm:  s.confirmPolicy(p),
		Commands: jobs.CommandPolicy{Allow: o.AllowCommands, Deny: o.DenyCommands, Aliases: o.Aliases},
	})
}

// configure sets up the connection.
func (s *Server) configure(p *schema.InitializeParams) {
	o := or(p.Options, schema.Options{})
	limits := or(o.Limits, schema.LimitOptions{})
	if p.ClientInfo != nil {
		s.log.Info("client", "name", or(p.ClientInfo.Name, ""), "version", or(p.ClientInfo.Version, ""), "processId", p.ProcessID.Value)
	}
	s.settings.encoding = or(o.Encoding, schema.EncodingText)
	s.out.window.Store(or(limits.WindowBytes, defaultWindow))
	s.out.screenEvery.Store(int64(milliseconds(limits.ScreenIntervalMs, defaultScreenInterval)))
	s.out.acks.Store(or(or(p.Capabilities, schema.ClientCapabilities{}).Ack, false))
	s.settings.events = s.attendee.defaultEvents()
	if o.Events != nil {
		s.settings.events = nil
		for _, e := range o.Events {
			s.settings.events = append(s.settings.events, schema.EventName(e))
		}
	}
	if limits.MaxMessageBytes != nil {
		s.settings.maxMessage = int(*limits.MaxMessageBytes)
		s.maxMessage.Store(*limits.MaxMessageBytes)
		s.out.limit.Store(*limits.MaxMessageBytes)
		s.stream.frames.SetMax(s.settings.maxMessage)
	}
}

// login returns the time limit for asking the login shell; 0: it is not asked.
func login(o *schema.LoginOptions) time.Duration {
	if o == nil {
		return 0
	}
	return milliseconds(o.TimeoutMs, defaultLogin)
}

// persist returns the settings for storing output; nil: it is kept in memory only.
func (s *Server) persist(o schema.PersistOptions) *jobs.Persist {
	if or(o.Mode, schema.PersistModeFiles) == schema.PersistModeMemory {
		return nil
	}
	return &jobs.Persist{
		Directory: or(o.Directory, ""), TrustPath: or(o.TrustPath, false), Session: s.in.id, Encode: infoFile, Reader: StoredInfo{},
		Keep: stored.Retention{
			Jobs: int(or(o.KeepJobs, 0)), Age: time.Duration(or(o.KeepDays, 0)) * 24 * time.Hour, Bytes: or(o.KeepBytes, 0),
		},
		Temporary: or(o.DeleteOnExit, false),
	}
}

// grace returns 0 for the default, and a negative value for none.
func grace(ms *int64) time.Duration {
	if ms != nil && *ms == 0 {
		return -1
	}
	return milliseconds(ms, 0)
}

func (s *Server) initializeResult() schema.InitializeResult {
	l := s.mgr.Limits()
	return schema.InitializeResult{
		ProtocolVersion: protocolVersion,
		ServerInfo:      schema.ServerInfo{Name: "shelld", Version: s.opts.Version},
		SessionID:       s.in.id,
		StateDirectory:  optional(s.mgr.StateDirectory()),

		StateDirectoryError: optional(s.mgr.StateDirectoryError()),
		Capabilities:        s.capabilities(),
		Platform:            s.platform(),
		Policy:              s.policy(),
		Limits: schema.Limits{
			MaxJobs: int64(l.MaxJobs), MaxMessageBytes: int64(s.settings.maxMessage), SpoolMemoryBytes: int64(l.SpoolMemory),
			SpoolDiskBytes: l.SpoolDisk, SpoolTotalBytes: l.SpoolTotal, InputQueueBytes: l.InputQueueBytes, ShutdownGraceMs: millis(l.ShutdownGrace),
			JobTimeoutMs: optional(millis(l.JobTimeout)), WindowBytes: optional(s.out.window.Load()),
			ScreenIntervalMs: optional(millis(time.Duration(s.out.screenEvery.Load()))),
		},
	}
}

// policy returns the restrictions in effect.
func (s *Server) policy() *schema.Policy {
	h := s.mgr.Policy()
	p := &schema.Policy{
		RootDirectory: optional(s.mgr.Root()), AllowedDirectories: optional(int64(h.Directories)), DenyCommands: optional(int64(len(h.Commands.Deny))),
		Confirm: schema.ConfirmInEffect{
			Start: schema.ConfirmVerdict(h.Confirm.InEffect(jobs.ActionStart)),
			Write: schema.ConfirmVerdict(h.Confirm.InEffect(jobs.ActionWrite)),
			Kill:  schema.ConfirmVerdict(h.Confirm.InEffect(jobs.ActionKill)),
		},
		SecretInput: schema.SecretInputAny,
	}
	if allow := h.Commands.Allow; allow != nil {
		n := int64(len(allow))
		p.AllowCommands = &n
	}
	if h.Secrets.ClientOnly {
		p.SecretInput = schema.SecretInputClientOnly
	}
	return p
}

// capabilities returns the features that this server really has on this machine.
func (s *Server) capabilities() schema.Capabilities {
	p := s.mgr.Platform()
	c := schema.Capabilities{
		Framings:    []string{"header", "line"},
		Encodings:   []schema.Encoding{schema.EncodingText, schema.EncodingBase64},
		ReadFormats: []string{"text", "plain", "base64"},
		WaitFormats: []string{"plain", "text"},
		Keys:        screen.KeyNames(),
		TreeControl: schema.TreeControl{
			Kind: schema.TreeControlKind(p.Tree), Reaches: p.Reaches, SurvivesServer: p.SurvivesServer, NotReached: p.NotReached,
		},
		InputDetection: inputDetection(s.mgr),
		Ack:            true,
		Levels: schema.Map[schema.LevelSupport]{
			"core": schema.LevelSupportPartial, "trees": schema.LevelSupportPartial, "terminal": schema.LevelSupportPartial,
			"store": schema.LevelSupportPartial, "policy": schema.LevelSupportPartial,
		},
	}
	c.Signals = jobs.Signals()
	c.Profiles = jobs.Profiles()
	c.LoginEnvironment = optional(jobs.AsksLogin)
	c.Queries = answered(p.Modes)
	c.Limits = limitSupport(s.mgr)
	for _, m := range p.Modes {
		c.Modes = append(c.Modes, schema.Mode(m))
	}
	for _, m := range requests() {
		if s.in.shared || !m.shared {
			c.Methods = append(c.Methods, m.name)
		}
	}
	for name := range notifications {
		if s.in.shared || !ofSessions[name] {
			c.Methods = append(c.Methods, name)
		}
	}
	slices.Sort(c.Methods)
	for _, e := range defaultEvents {
		c.Events = append(c.Events, string(e))
	}
	c.Events = append(c.Events, string(schema.EventNameWaitingForInput))
	if slices.Contains(p.Modes, jobs.ModePTY) {
		c.WaitFormats = append(c.WaitFormats, string(schema.WaitFormatScreen))
		c.Events = append(c.Events, string(schema.EventNameScreenChanged))
		for _, f := range screenFormats {
			c.Screen.Formats = append(c.Screen.Formats, string(f))
		}
		sees := c.InputDetection.Tier == schema.InputDetectionTierExact || c.InputDetection.Tier == schema.InputDetectionTierLikely
		c.Secret, c.SecretInput = optional(sees), optional(true)
	}
	if s.in.shared {
		c.Events = append(c.Events, string(schema.EventNameInputChanged))
		c.Sessions = sessionSupport()
		c.Levels["sessions"] = schema.LevelSupportPartial
	}
	c.CommandPolicy, c.Confirm, c.Search = optional(true), true, optional(true)
	c.ShellIntegration = append([]string{}, jobs.ShellIntegration()...)
	c.Recordings = optional(s.mgr.StateDirectory() != "")
	for _, k := range jobs.Conditions() {
		c.Conditions = append(c.Conditions, string(k))
	}
	return c
}

// shutdown ends every job, and answers when they have ended.
func (s *Server) shutdown(r *request) error {
	var p schema.ShutdownParams
	if err := r.decode(&p); err != nil {
		return err
	}
	if s.in.shared {
		s.leave(r)
		return nil
	}
	s.life.move(lifeShuttingDown)
	s.out.withdrawAll()
	r.await(func() (any, error) {
		s.mgr.Shutdown()
		s.settle(1) // 1: this request
		s.life.move(lifeShutDown)
		return schema.ShutdownResult{}, nil
	})
	return nil
}
