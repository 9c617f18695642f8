package jobs

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/ports"
	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/store"
)

// Limits bound the resources that jobs may take. Zero values mean the defaults.
type Limits struct {
	MaxJobs         int           // live at the same time; 512
	SpoolMemory     int           // bytes of output in memory per stream; 256 KiB beside a file, 4 MiB without
	SpoolDisk       int64         // bytes of output in a stream's file: the first eighth, and the newest; 64 MiB
	SpoolTotal      int64         // bytes in all files; 2 GiB
	InputQueueBytes int64         // bytes of queued input per job; 1 MiB
	ShutdownGrace   time.Duration // between TERM and KILL when the server ends; DefaultGrace, and none if negative
	KeepJobs        int           // closed jobs that are remembered; 100
	JobTimeout      time.Duration // a job is ended after this time, regardless of its start request; 0: none
}

// DefaultGrace is the time between TERM and KILL if no other is set.
const DefaultGrace = 2 * time.Second

// withDefaults returns the limits in effect. Without files there are no limits on files.
func (l Limits) withDefaults(inFiles bool) Limits {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&l.MaxJobs, 512)
	if inFiles {
		set(&l.SpoolMemory, 256<<10)
	}
	set(&l.SpoolMemory, 4<<20)
	set(&l.KeepJobs, 100)
	if l.SpoolDisk == 0 {
		l.SpoolDisk = 64 << 20
	}
	if l.SpoolTotal == 0 {
		l.SpoolTotal = 2 << 30
	}
	if !inFiles {
		l.SpoolDisk, l.SpoolTotal = 0, 0
	}
	if l.InputQueueBytes == 0 {
		l.InputQueueBytes = 1 << 20
	}
	if l.ShutdownGrace == 0 {
		l.ShutdownGrace = DefaultGrace
	}
	l.ShutdownGrace = max(l.ShutdownGrace, 0)
	return l
}

// Options configure a Manager.
type Options struct {
	Root        string   // the base of relative directories; "" = the process's own
	AllowedDirs []string // a job's cwd must lie in one; none = no restriction
	Env         EnvPolicy
	Login       time.Duration // the time limit for asking the login shell for its environment; 0: it is not asked
	Limits      Limits
	Persist     *Persist // nil: output is kept in memory only
	Secrets     SecretPolicy
	Commands    CommandPolicy
	Confirm     ConfirmPolicy
	Log         *slog.Logger
	Version     string // of this program, for programs that query their terminal

	// WithoutKeepers runs jobs on Linux as on macOS, without keepers. It is for tests of that.
	WithoutKeepers bool
}

// An EnvPolicy selects the variables of the server's own environment that jobs get.
type EnvPolicy = proc.EnvPolicy

// A Manager holds the jobs of one server.
type Manager struct {
	log      *slog.Logger
	own      ownFacts
	system   system       // dependencies that tests replace
	settings settings     // set by Configure under the registry's mu; immutable from the first Start on
	env      *environment // the environment that jobs inherit; env/set replaces it under the registry's mu
	registry registry
	end      serverEnd

	versions shellVersions // the versions that shells have reported
	searches searches
	confirms confirms
	vault    vault

	patternBytes atomic.Int64 // the size of all patterns that are searched for
}

// ownFacts are facts about the server, fixed when it starts.
type ownFacts struct {
	environment []string
	began       time.Time
	version     string
}

// settings are the values that Configure sets.
type settings struct {
	root        string // "": it is not known, and noRoot is the reason
	noRoot      error
	allowedDirs []string          // as the client names them
	allowed     []*proc.Directory // the same directories, opened
	limits      Limits
	archive     *archive // nil: output is kept in memory only
	noArchive   string   // why there is no archive, if files were wanted
	secrets     SecretPolicy
	commands    CommandPolicy
	confirm     ConfirmPolicy
}

// system is the set of functions and services that jobs are built on. Tests replace some of them.
type system struct {
	keepers         starter
	platform        PlatformInfo
	plan            func(*Spec) (plan, *Error)
	launch          func(*Spec, plan) (*launched, *Error)
	createRecording func(*store.Folder) (recordingDisk, error)
	askTime         time.Duration // the time limit for a shell to answer a query
	lookPorts       func(w *ports.Watch, p process, leader int) (ports.Found, bool)
	terminals       terminals
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

// A listing is the state that the registry keeps with a job.
type listing struct {
	namesake  *Job  // the job that had the name before
	textBytes int64 // length of its stdin text
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
	m.system.launch, m.system.plan = m.launchReal, m.resolve
	if err := m.Configure(o); err != nil {
		return nil, err
	}
	m.system.keepers.Warm()
	return m, nil
}

// newManager returns a manager that cannot start jobs yet.
func newManager(log *slog.Logger) *Manager {
	m := &Manager{
		log: log, own: ownFacts{environment: os.Environ(), began: time.Now()}, settings: settings{limits: Limits{}.withDefaults(false)},
		system:   system{terminals: terminals{counts: proc.TerminalCounts}, askTime: askTime, lookPorts: lookPorts, createRecording: createRecording},
		end:      serverEnd{begun: make(chan struct{})},
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
	go j.actor.run()
	return j, pend(j, r), nil
}

// admitJob checks a spec and registers a job for it.
func (m *Manager) admitJob(spec Spec) (*Job, *Error) {
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

func (m *Manager) register(spec Spec) (*Job, *Error) {
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
	m.registry.jobs[j.id] = j
	m.registry.live++
	j.listed.textBytes = spec.textBytes()
	m.registry.texts += j.listed.textBytes
	if spec.Name != "" {
		j.listed.namesake = m.registry.byName[spec.Name]
		m.registry.names[spec.Name], m.registry.byName[spec.Name] = j, j
	}
	return j, nil
}

// releaseName releases a job's name.
func (r *registry) releaseName(j *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropName(j)
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
