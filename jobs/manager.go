package jobs

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A Manager holds the jobs of one server.
type Manager struct {
	services

	env      *environment // the environment that jobs inherit; env/set replaces it under the registry's mu
	registry registry
	launch   func(*Spec, plan) (*launched, *Error) // tests replace it

	versions shellVersions // the versions that shells have reported
	searches searches
}

// A registry holds the jobs of a server, by handle and by name.
type registry struct {
	mu     sync.Mutex // guards the fields below; never held during a call into a job
	last   ID
	jobs   map[ID]*Job
	names  map[string]*Job // the live or starting job with the name
	byName map[string]*Job // the job started last with the name
	closed []*Job          // in the order in which they closed
	live   int
	texts  int64 // bytes of the stdin texts of live jobs
}

// makePoller creates Go's network poller. NewManager calls it before it opens anything: Go creates its poller from two
// descriptors when it first needs it, such as for a timer, and ends the process if no descriptors are free.
func makePoller() { time.AfterFunc(time.Hour, func() {}).Stop() }

// NewManager returns a manager with one keeper ready. The caller must close it.
func NewManager(o Options) (*Manager, error) {
	makePoller()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := newManager(o.Log)
	m.log = m.CleanLog(o.Log)
	o.Log = m.log
	m.settings.root, m.settings.noRoot = os.Getwd()
	m.system.keepers, m.system.platform, m.own.version = newStarter(o), platformOf(o), o.Version
	m.launch, m.system.plan = m.launchReal, m.resolve
	if err := m.Configure(o); err != nil {
		return nil, err
	}
	m.system.keepers.Warm()
	return m, nil
}

// newManager returns a manager that cannot start jobs yet.
func newManager(log *slog.Logger) *Manager {
	m := &Manager{
		services: services{
			log: log, own: ownFacts{environment: os.Environ(), began: time.Now()}, settings: settings{limits: Limits{}.withDefaults(false)},
			system: system{terminals: terminals{counts: proc.TerminalCounts}, askTime: askTime, lookPorts: lookPorts, createRecording: createRecording},
			end:    serverEnd{begun: make(chan struct{})},
		},
		searches: newSearches(),
		registry: registry{jobs: map[ID]*Job{}, names: map[string]*Job{}, byName: map[string]*Job{}},
	}
	m.env = m.newEnvironment(Options{})
	return m
}

// Configure replaces all options except the log and the version. It must be called before the first Start. It returns a
// *Error if a directory cannot be used.
func (m *Manager) Configure(o Options) error {
	if err := checkRoot(o.Root); err != nil {
		return err
	}
	allowed, err := openAllowed(o.AllowedDirs)
	if err != nil {
		return err
	}
	// Last, since it creates directories.
	a, why, err := openArchive(o.Persist, o.Limits.withDefaults(true), m.log)
	if err != nil {
		closeDirectories(allowed)
		return err
	}
	env := m.newEnvironment(o)
	m.registry.mu.Lock() // Shutdown may come at any time
	defer m.registry.mu.Unlock()
	closeDirectories(m.settings.allowed)
	if m.settings.archive != nil {
		m.settings.archive.put(errand{what: errandClose})
	}
	set := settings{
		root: m.settings.root, noRoot: m.settings.noRoot,
		allowedDirs: o.AllowedDirs, allowed: allowed,
		limits: o.Limits.withDefaults(a != nil), secrets: o.Secrets, commands: o.Commands, confirm: o.Confirm,
		archive: a, noArchive: why,
	}
	if o.Root != "" {
		set.root, set.noRoot = o.Root, nil
	}
	m.settings, m.env = set, env
	return nil
}

// checkRoot refuses a root directory that cannot be used. "" is the directory in which the server was started. If that
// is gone, only the jobs that need it are refused.
func checkRoot(root string) error {
	if root == "" {
		return nil
	}
	if !filepath.IsAbs(root) {
		return Invalid("/rootDirectory", "the root directory %q must be absolute", root)
	}
	if fi, err := os.Stat(root); err != nil || !fi.IsDir() {
		e := errorf(CodeBadWorkingDirectory, "root directory %s does not exist or is not a directory", root)
		e.Path = root
		return e
	}
	return nil
}

// StateDirectory returns the directory under which output is kept; "" = in memory only.
func (m *Manager) StateDirectory() string {
	if m.settings.archive == nil {
		return ""
	}
	return m.settings.archive.state
}

// StateDirectoryError returns why there is no state directory although one was wanted, and what to do. It returns "" if
// there is no such problem.
func (m *Manager) StateDirectoryError() string { return m.settings.noArchive }

// Limits returns the effective limits.
func (m *Manager) Limits() Limits { return m.settings.limits }

// Root returns the base of relative directories. It is "" if the base cannot be determined, such as when the directory
// in which the server was started is deleted.
func (m *Manager) Root() string { return m.settings.root }

// Start begins a job. The job's handle and name are reserved when Start returns, so that requests that use them may
// follow at once. Those requests take effect once the job has started.
func (m *Manager) Start(spec Spec) (*Job, Pending[StartResult], *Error) {
	spec.Command = m.settings.commands.expand(spec.Command)
	room, err := m.admitPatterns(&spec)
	if err != nil {
		return nil, Pending[StartResult]{}, err
	}
	j, err := m.admitJob(spec)
	if err != nil {
		room.giveBack()
		spec.forgetWatches()
		return nil, Pending[StartResult]{}, err
	}
	j.hide("")
	r := newReply[StartResult]()
	r.room = room
	j.starting.begin = &startReq{reply: r}
	go j.run()
	return &j.Job, pend(&j.base, r), nil
}

// admitJob checks a spec and registers a job for it.
func (m *Manager) admitJob(spec Spec) (*actor, *Error) {
	if err := spec.check(&m.system.platform); err != nil {
		return nil, err
	}
	if err := m.checkRecord(&spec); err != nil {
		return nil, err
	}
	return m.register(spec)
}

// maxTexts bounds the memory that live jobs hold as stdin text. The text is a file in memory.
const maxTexts = 256 << 20

func (m *Manager) register(spec Spec) (*actor, *Error) {
	m.registry.mu.Lock()
	defer m.registry.mu.Unlock()
	switch holder := m.registry.names[spec.Name]; {
	case isClosed(m.end.begun):
		return nil, errClosedServer()
	case m.registry.live >= m.settings.limits.MaxJobs:
		e := errorf(CodeLimitExceeded, "%d jobs are live, as many as limits.maxJobs allows; end one first, or raise the limit in initialize", m.registry.live)
		e.Limit, e.Max, e.Retryable = "maxJobs", int64(m.settings.limits.MaxJobs), true
		return nil, e
	case m.registry.texts+spec.textBytes() > maxTexts:
		e := errorf(CodeLimitExceeded, "the stdin texts of live jobs would take more than %d bytes; end a job first, or give a file", maxTexts)
		e.Limit, e.Max, e.Retryable = "stdinTextBytes", maxTexts, true
		return nil, e
	case spec.Name != "" && holder != nil:
		e := errorf(CodeNameInUse, "the name %q belongs to job %d, which is running; choose another name, or end that job first", spec.Name, holder.id)
		e.Handle, e.Name = holder.id, spec.Name
		return nil, e
	}
	m.registry.last++
	spec.from = m.env
	j := newJob(m, m.registry.last, spec)
	m.registry.jobs[j.id] = &j.Job
	m.registry.live++
	j.listed.textBytes = spec.textBytes()
	m.registry.texts += j.listed.textBytes
	if spec.Name != "" {
		j.listed.namesake = m.registry.byName[spec.Name]
		m.registry.names[spec.Name], m.registry.byName[spec.Name] = &j.Job, &j.Job
	}
	return j, nil
}

// releaseName releases a job's name.
func (m *Manager) releaseName(j *Job) {
	m.registry.mu.Lock()
	defer m.registry.mu.Unlock()
	m.registry.dropName(j)
}

func (r *registry) dropName(j *Job) {
	if r.names[j.spec.Name] == j {
		delete(r.names, j.spec.Name)
	}
}

// forget removes a job that failed to start. Its name refers again to the job that had it before.
func (r *registry) forget(j *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live--
	r.texts -= j.listed.textBytes
	r.drop(j)
	if old := j.listed.namesake; old != nil && r.jobs[old.id] == old && r.byName[j.spec.Name] == nil {
		r.byName[j.spec.Name] = old
	}
}

// started releases state that only a failed start would need.
func (r *registry) started(j *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j.listed.namesake = nil
}

func (r *registry) drop(j *Job) {
	r.dropName(j)
	delete(r.jobs, j.id)
	if r.byName[j.spec.Name] == j {
		delete(r.byName, j.spec.Name)
	}
}

// retire marks a job as closed. It forgets the oldest closed jobs if there are more than KeepJobs.
func (m *Manager) retire(j *Job) {
	m.registry.mu.Lock()
	defer m.registry.mu.Unlock()
	m.registry.live--
	m.registry.texts -= j.listed.textBytes
	m.registry.closed = append(m.registry.closed, j)
	for len(m.registry.closed) > m.settings.limits.KeepJobs {
		old := m.registry.closed[0]
		m.registry.closed = slices.Delete(m.registry.closed, 0, 1)
		m.registry.drop(old)
		old.post(quitMsg{discard: true})
	}
}

// remove removes a closed job.
func (r *registry) remove(j *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = slices.DeleteFunc(r.closed, func(c *Job) bool { return c == j })
	r.drop(j)
}

// hadStarted reports whether there has been a job with this handle.
func (r *registry) hadStarted(id ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return id <= r.last
}

// Knows reports whether a job is known.
func (m *Manager) Knows(id ID) bool {
	m.registry.mu.Lock()
	defer m.registry.mu.Unlock()
	return m.registry.jobs[id] != nil
}

// Lookup returns a job. If there is none, it returns a *Error that lists the live jobs.
func (m *Manager) Lookup(r Ref) (*Job, *Error) {
	m.registry.mu.Lock()
	j, last := m.registry.jobs[r.Handle], m.registry.last
	if r.Name != "" {
		j = m.registry.byName[r.Name]
	}
	m.registry.mu.Unlock()
	if j != nil {
		return j, nil
	}
	var e *Error
	switch {
	case r.Name != "":
		e = errorf(CodeJobNotFound, "there is no job %q; data.jobs has the live jobs, and job/list also the closed ones", r.Name)
	case r.Handle <= last:
		e = errorf(CodeJobNotFound, "there is no job %d any more: it was removed, or forgotten beyond keepJobs, or its start failed; job/list has the known jobs", r.Handle)
	default:
		e = errorf(CodeJobNotFound, "there never was a job %d; data.jobs has the live jobs, and job/list also the closed ones", r.Handle)
	}
	e.Handle, e.Name = r.Handle, r.Name
	for _, j := range m.All() {
		if info := j.Published(); info != nil && info.Live() {
			e.Live = append(e.Live, *info)
		}
	}
	return nil, e
}

// All returns the known jobs, oldest first.
func (m *Manager) All() []*Job {
	m.registry.mu.Lock()
	defer m.registry.mu.Unlock()
	all := make([]*Job, 0, len(m.registry.jobs))
	for _, j := range m.registry.jobs {
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *Job) int { return int(a.id - b.id) })
	return all
}

// checkRecord returns an error if a recording is wanted but cannot be stored anywhere.
func (m *Manager) checkRecord(s *Spec) *Error {
	if !s.Record || m.settings.archive != nil {
		return nil
	}
	e := errorf(CodeUnsupported, "recording needs output files, and this server keeps output only in memory; change options.persist of initialize, or leave record out")
	e.Name, e.Pointer = "record", "/record"
	return e
}

// Stats describe the resources that a Manager's jobs use. Figures are in bytes if no other unit is given.
type Stats struct {
	Live, Known int   // jobs
	Memory      int64 // of all stored output
	Disk        int64 // in all output files
	Dropped     int64 // output of these jobs that can no longer be read
	Jobs        []JobStats
}

// JobStats are the Stats of one job that has started.
type JobStats struct {
	Job     *Job
	Status  Status // as of its last change
	Input   int64  // accepted input that the kernel has not taken yet
	Streams []StreamStats
}

// StreamStats are the Stats of one stream.
type StreamStats struct {
	Name    Stream
	End     int64 // output so far
	Memory  int64
	Dropped int64
	Held    bool // the program's writes wait for a consumer of its output (loops.go)
}

// Stats returns figures for every known job, oldest first. It does not wait for job loops. It may wait for a read of
// stored output if the disk stalls.
func (m *Manager) Stats() (s Stats) {
	all := m.All()
	m.registry.mu.Lock()
	s.Live, s.Known = m.registry.live, len(m.registry.jobs)
	m.registry.mu.Unlock()
	if m.settings.archive != nil {
		s.Disk = m.settings.archive.total.Used()
	}
	for _, j := range all {
		s.Add(j)
	}
	return s
}

// Add adds the figures of one more job, which the Manager may have forgotten.
func (s *Stats) Add(j *Job) {
	p := j.public.Load()
	if p == nil {
		return // the job has no output yet
	}
	js := JobStats{Job: j, Status: p.Status, Input: j.queued.Load()}
	for _, st := range j.output.streams {
		u := st.spool.Usage()
		js.Streams = append(js.Streams, StreamStats{Name: st.name, End: st.spool.End(), Memory: u.Memory, Dropped: u.Dropped, Held: st.isHeld.Load()})
		s.Memory += u.Memory
		s.Dropped += u.Dropped
	}
	s.Jobs = append(s.Jobs, js)
}
