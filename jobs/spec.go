package jobs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/ports"
)

// An ID is a job's handle. Handles count up from 1, and the server never reuses one while it runs.
type ID int64

// A Ref names a job as a client does: by its handle, or by the name that the client chose.
type Ref struct {
	Handle ID // if Name is empty
	Name   string
}

// Mode is the kind of a job's connection: a terminal or pipes.
type Mode string

const (
	ModePTY  Mode = "pty"
	ModePipe Mode = "pipe"
)

// Stream names one of a job's outputs.
type Stream string

const (
	PTY    Stream = "pty"
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// StderrMode is the destination of a pipe job's standard error.
type StderrMode string

const (
	StderrSeparate StderrMode = "separate"
	StderrMerge    StderrMode = "merge" // into stdout, in the order in which the program wrote it
	StderrDiscard  StderrMode = "discard"
)

// A Spec is the content of a start request. The zero value is an interactive shell on a terminal of 80×24.
type Spec struct {
	Asker       Asker
	Command     *string  // run by a shell
	Argv        []string // run without a shell; if Command is nil too, the job is an interactive shell
	Shell       string   // name or path; "" = the default shell
	Cwd         string   // "" = the root directory; a relative path starts there
	Env         map[string]*string
	Profile     string // "" = the usual one
	Mode        Mode   // "" = pty, or pipe if no terminal is available
	Cols, Rows  int    // 0 = 80, 24
	Name        string
	Group       string
	Description string
	OpenStdin   bool // pipe mode: stdin stays open for writes; else /dev/null
	Stderr      StderrMode
	StdinText   *string // pipe mode: stdin is this text
	StdinFile   string  // pipe mode: stdin is this file; this path and those below are relative to Cwd
	StdoutFile  string  // pipe mode: stdout goes to this file, and is no stream
	StderrFile  string  // pipe mode: the same for stderr, if Stderr is separate
	Watches     []WatchSpec
	Wait        *WaitSpec
	Sink        Sink          // nil = no receiver
	Record      bool          // output and typed input are recorded with their times (recording.go)
	KillAfter   time.Duration // the job is killed this long after its start; 0 = no limit
	Limits      JobLimits
	Lease       Lease
	Plain       bool  // an interactive shell gets no integration (exec.go)
	Unanswered  bool  // the job leaves terminal queries of programs to others (queries.go)
	SinkAnswers bool  // the same, until Subscribe changes it
	Window      int64 // most bytes of output ahead of the read cursor (loops.go); 0 = the job waits for no reader

	from *environment // the environment in effect when the start was received
}

// A Lease says who has started a job, and how long the job may live while its owner is away. This package only keeps it:
// the caller knows who is there, and calls [Job.EndAt].
type Lease struct {
	Owner string        // "" = none
	Keep  bool          // the owner's absence does not end the job
	Grace time.Duration // otherwise, how long the owner may be away

	Holder string // which client holds the input (holder.go); "" = none: each of them may type
}

// check returns an error for each fault that can be found before a process is started.
func (s *Spec) check(p *PlatformInfo) *Error {
	if err := s.checkText(); err != nil {
		return err
	}
	if err := s.checkFiles(); err != nil {
		return err
	}
	if err := s.checkStreams(); err != nil {
		return err
	}
	if err := s.checkLimits(p); err != nil {
		return err
	}
	for i := range s.Watches {
		if err := s.Watches[i].compile(); err != nil {
			return err
		}
	}
	return s.Wait.compile()
}

// checkText refuses text that cannot be passed to a program: a NUL byte ends an argument, and an equals sign ends the
// name of a variable.
func (s *Spec) checkText() *Error {
	const nul = "must not contain a NUL character"
	if s.Command != nil && strings.ContainsRune(*s.Command, 0) {
		return Invalid("/command", nul)
	}
	for i, a := range s.Argv {
		if strings.ContainsRune(a, 0) {
			return Invalid("/argv/"+strconv.Itoa(i), nul)
		}
	}
	if strings.ContainsRune(s.Cwd, 0) {
		return Invalid("/cwd", nul)
	}
	if s.Profile != "" && profiles[s.Profile] == nil {
		return Invalid("/profile", "there is no profile %q; there are %s and %s", s.Profile, ProfileAgent, ProfileInteractive)
	}
	for name, value := range s.Env {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return Invalid("/env", "%q cannot be the name of a variable: it must not be empty, nor contain = or NUL", name)
		case value != nil && strings.ContainsRune(*value, 0):
			return Invalid("/env/"+name, nul)
		}
	}
	return nil
}

// streams returns the streams that the job will have.
func (s *Spec) streams() []Stream {
	switch {
	case s.Mode != ModePipe:
		return []Stream{PTY}
	}
	return s.pipeStreams()
}

// streamNames lists streams for use in a sentence.
func streamNames(streams []Stream) string {
	if len(streams) == 0 {
		return "none, because all its output goes to files"
	}
	all := make([]string, len(streams))
	for i, s := range streams {
		all[i] = string(s)
	}
	return strings.Join(all, " and ")
}

// checkStreams refuses a pattern on a stream that the job will not have, since it would never match. It refuses offsets
// of such streams and conditions on commands as well.
func (s *Spec) checkStreams() *Error {
	check := func(w WatchSpec) *Error {
		if err := w.checkScreen(s.Mode != ModePipe); err != nil {
			return err
		}
		if len(s.streams()) == 0 {
			return Invalid(w.Pointer, noStreams)
		}
		if w.Stream == "" || slices.Contains(s.streams(), w.Stream) {
			return nil
		}
		return Invalid(w.sibling("stream"), "this job will have no stream %q; it will have %s", w.Stream, streamNames(s.streams()))
	}
	for _, w := range s.Watches {
		if err := check(w); err != nil {
			return err
		}
	}
	if s.Wait == nil {
		return nil
	}
	if err := s.Wait.checkScreen(s.Mode != ModePipe); err != nil {
		return err
	}
	if from := s.Wait.From; from.Kind == FromOffset && hasKey(from.Offsets, "") && len(s.streams()) > 1 {
		return from.ambiguous(s.streams())
	}
	for name := range s.Wait.From.Offsets {
		if name != "" && !slices.Contains(s.streams(), name) {
			return Invalid(s.Wait.From.Pointer+"/"+string(name), "this job will have no stream %q; it will have %s", name, streamNames(s.streams()))
		}
	}
	for i, c := range s.Wait.Until {
		if c.Kind == UntilCommand {
			return Invalid(fmt.Sprintf("/wait/until/%d/command", i), "a job that is being started has not run any command; wait with job/exec, or for the id in its answer")
		}
		if c.Kind != UntilPattern {
			continue
		}
		if err := check(c.Watch); err != nil {
			return err
		}
	}
	return nil
}

// A WatchSpec is a pattern. Each match is an event.
type WatchSpec struct {
	Pattern, Flags string
	Raw            bool   // match the raw bytes; else the output without its escape sequences
	Screen         bool   // match the screen of the terminal
	Stream         Stream // "" = every stream
	Once           bool
	Pointer        string // its JSON pointer in params, for errors

	compiled *match.Pattern // until a watch or a wait takes it over
	room     *patternRoom   // the counted cost of compiled, if no request holds it
}

// sibling returns the JSON pointer of another member of the watch in params.
func (w *WatchSpec) sibling(member string) string {
	return strings.TrimSuffix(w.Pointer, "pattern") + member
}

// A ConditionKind is the kind of event that a condition waits for.
type ConditionKind string

const (
	UntilExit    ConditionKind = "exit"
	UntilClosed  ConditionKind = "closed"
	UntilPattern ConditionKind = "pattern"
	UntilQuiet   ConditionKind = "quietMs"
	UntilBytes   ConditionKind = "bytes"
	UntilInput   ConditionKind = "input"
	UntilCommand ConditionKind = "command"
)

// Conditions returns the kinds of conditions that a wait can have on this system.
func Conditions() []ConditionKind {
	all := []ConditionKind{UntilExit, UntilClosed, UntilPattern, UntilInput, UntilQuiet, UntilBytes}
	if len(ShellIntegration()) > 0 {
		all = append(all, UntilCommand)
	}
	return append(all, portConditions()...)
}

// A Condition is one thing to wait for.
type Condition struct {
	Kind  ConditionKind
	Watch WatchSpec      // pattern
	Quiet time.Duration  // quietMs
	Bytes int64          // bytes
	Input InputCondition // input
	Port  uint16         // port; 0 = any

	Command int64 // command: its ShellCommand.ID

	// AfterInput makes a pattern skip the echo of the last typed input. nil: true for the wait of a write, false for
	// any other wait.
	AfterInput *bool
}

// Origin is the position in the output at which a wait begins.
type Origin struct {
	Kind    OriginKind
	Offsets map[Stream]int64 // for FromOffset; the key "" means the only stream
	Pointer string           // its JSON pointer in params, for errors
}

// ambiguous returns the error for one offset that is given for several streams.
func (o Origin) ambiguous(streams []Stream) *Error {
	return Invalid(o.Pointer, "this job has the streams %s: give an offset for each, as {\"stdout\": 0, \"stderr\": 0}", streamNames(streams))
}

// An OriginKind is one of the ways to specify an Origin.
type OriginKind int

const (
	FromDefault OriginKind = iota // FromStart in a start, FromNow in a write, else FromUnread
	FromStart
	FromNow
	FromUnread
	FromOffset
)

// A WaitSpec is a list of conditions. The first that holds ends the wait.
type WaitSpec struct {
	Until    []Condition
	From     Origin
	Timeout  time.Duration // < 0 = none
	MaxBytes int
	Plain    bool   // the output's format: plain, else text
	Screen   bool   // return the screen of the terminal instead of the output
	Pointer  string // its JSON pointer in params, for errors

	StripEcho bool // the output is returned without the echo; see Outcome.Echo
	Unmarked  bool // truncated output has no mark between head and tail
}

// An InputCondition says which waits for input count.
type InputCondition struct {
	MinConfidence Confidence
	Kinds         []InputKind // nil: all
	Listening     bool        // also accept the state Listening
}

func (c *InputCondition) accepts(w *WaitingForInput) bool {
	return rank(w.Confidence) >= rank(c.MinConfidence) && (c.Listening || w.State == inputwait.Reading) &&
		(len(c.Kinds) == 0 || slices.Contains(c.Kinds, w.Kind))
}

// A LimitName names a limit of a job.
type LimitName string

const (
	LimitProcesses   LimitName = "processes"
	LimitMemoryBytes LimitName = "memoryBytes"
	LimitCPUMs       LimitName = "cpuMs"
	LimitOpenFiles   LimitName = "openFiles"
	LimitOutputBytes LimitName = "outputBytes"
)

// JobLimits are the limits of a job. Zero means no limit.
type JobLimits struct {
	Processes   int64 // alive at the same time
	MemoryBytes int64
	CPUMs       int64
	OpenFiles   int64
	OutputBytes int64 // of all streams together
}

// A LimitKind describes how this system enforces a limit.
type LimitKind struct {
	Name LimitName
	By   string // server or rlimit
	Per  string // process or job
	Ends bool   // a job that exceeds the limit is ended; else the program is refused more
	Why  string // a description of its accuracy, for people
}

// A LimitInfo is a limit in effect.
type LimitInfo struct {
	LimitKind
	Max int64
}

// limitKinds lists all limits, each with the field that holds it.
var limitKinds = []struct {
	LimitKind
	of func(*JobLimits) *int64
}{
	{LimitKind{LimitProcesses, "server", "job", true,
		"the keeper counts several times a second, because the system's own limit is per user; shorter-lived processes are not counted"},
		func(l *JobLimits) *int64 { return &l.Processes }},
	{LimitKind{LimitMemoryBytes, "rlimit", "process", false,
		"RLIMIT_DATA: private memory that the process may write to; shared memory is not counted"},
		func(l *JobLimits) *int64 { return &l.MemoryBytes }},
	{LimitKind{LimitCPUMs, "rlimit", "process", true,
		"RLIMIT_CPU: whole seconds, rounded up; SIGXCPU, and SIGKILL a second later. It ends the process; if that is the leader, it ends the job"},
		func(l *JobLimits) *int64 { return &l.CPUMs }},
	{LimitKind{LimitOpenFiles, "rlimit", "process", false,
		"RLIMIT_NOFILE: no descriptor has this number or a higher one"},
		func(l *JobLimits) *int64 { return &l.OpenFiles }},
	{LimitKind{LimitOutputBytes, "server", "job", true,
		"exact: output beyond it is discarded"},
		func(l *JobLimits) *int64 { return &l.OutputBytes }},
}

// limits reports whether other limits than that of output are enforced, which needs a keeper.
func (p *PlatformInfo) limits() bool { return p.Tree == treeKeeper }

// checkLimits refuses limits that cannot be enforced.
func (s *Spec) checkLimits(p *PlatformInfo) *Error {
	for _, k := range limitKinds {
		if *k.of(&s.Limits) > 0 && !p.limits() && k.Name != LimitOutputBytes {
			e := errorf(CodeUnsupported, "limit %s is not supported on this system; capabilities.limits lists the supported ones", k.Name)
			e.Name, e.Pointer = string(k.Name), "/limits/"+string(k.Name)
			return e
		}
	}
	return nil
}

// maxLimitMs keeps a number of milliseconds within a time.Duration; 73 years.
const maxLimitMs = int64(1) << 41

// kept returns the limits that the keeper enforces.
func (l JobLimits) kept() keeper.Limits {
	return keeper.Fit(keeper.Limits{
		OpenFiles: l.OpenFiles, Memory: l.MemoryBytes, Processes: l.Processes,
		CPU: time.Duration(min(l.CPUMs, maxLimitMs)) * time.Millisecond,
	})
}

// inEffect returns the limits in effect, by name.
func (l JobLimits) inEffect() (all []LimitInfo) {
	k := l.kept()
	l.OpenFiles, l.MemoryBytes, l.CPUMs = k.OpenFiles, k.Memory, k.CPU.Milliseconds()
	for _, kind := range limitKinds {
		if n := *kind.of(&l); n > 0 {
			all = append(all, LimitInfo{kind.LimitKind, n})
		}
	}
	return all
}

// LimitKinds returns the limits that the manager can enforce.
func (m *services) LimitKinds() (all []LimitKind) {
	for _, k := range limitKinds {
		if m.system.platform.limits() || k.Name == LimitOutputBytes {
			all = append(all, k.LimitKind)
		}
	}
	return all
}

// UntilPort waits until a process of the job listens on a TCP port.
const UntilPort ConditionKind = "port"

// portConditions returns the port conditions that this system supports.
func portConditions() []ConditionKind {
	if ports.Supported() {
		return []ConditionKind{UntilPort}
	}
	return nil
}

// compile compiles a watch's pattern. It returns a *Error if the pattern is not valid.
func (w *WatchSpec) compile() *Error {
	p, err := match.Compile(w.Pattern, w.Flags)
	if err == nil {
		w.compiled = p
		return nil
	}
	se, ok := err.(*match.SyntaxError)
	if !ok { // the error is in the flags
		return Invalid(w.sibling("flags"), "%v", err)
	}
	e := errorf(CodeInvalidPattern, "the pattern is not an ECMAScript regular expression: %s", se.Message)
	e.Pattern, e.Pointer, e.Position = w.Pattern, w.Pointer, &se.Pos
	return e
}

func (w *WaitSpec) compile() *Error {
	if w == nil {
		return nil
	}
	for i := range w.Until {
		if c := &w.Until[i]; c.Kind == UntilPattern {
			if err := c.Watch.compile(); err != nil {
				return err
			}
		}
	}
	return nil
}

const noScreen = "a job on pipes has no screen; start it in pty mode, or "

// checkScreen refuses a pattern on the screen if the job has no screen.
func (w *WatchSpec) checkScreen(has bool) *Error {
	if w.Screen && !has {
		return Invalid(w.sibling("on"), noScreen+"match on plain or raw")
	}
	return nil
}

// checkScreen does the same for a wait, whose result may be the screen too.
func (s *WaitSpec) checkScreen(has bool) *Error {
	if s.Screen && !has {
		return Invalid(s.Pointer+"/format", noScreen+"ask for plain or text")
	}
	for _, c := range s.Until {
		if err := c.Watch.checkScreen(has); err != nil {
			return err
		}
		if c.Watch.Screen && c.AfterInput != nil && *c.AfterInput {
			return Invalid(c.Watch.sibling("afterInput"), "the screen also shows typed input, so afterInput cannot be true with it; leave it out")
		}
	}
	return nil
}

// needsScreen reports whether a start needs a screen, which jobs on pipes do not have.
func (s *Spec) needsScreen() bool {
	onScreen := func(w WatchSpec) bool { return w.Screen }
	return slices.ContainsFunc(s.Watches, onScreen) ||
		s.Wait != nil && (s.Wait.Screen || slices.ContainsFunc(s.Wait.Until, func(c Condition) bool { return c.Watch.Screen }))
}

func hasKey(m map[Stream]int64, k Stream) bool {
	_, ok := m[k]
	return ok
}

// noStreams is the error text for a job without streams: all its output goes to files.
const noStreams = "this job has no streams: all its output goes to files; read those"

// checkFiles refuses invalid file names.
func (s *Spec) checkFiles() *Error {
	for pointer, name := range map[string]string{"/stdin/file": s.StdinFile, "/stdoutFile": s.StdoutFile, "/stderrFile": s.StderrFile} {
		if strings.ContainsRune(name, 0) {
			return Invalid(pointer, "must not contain a NUL character")
		}
	}
	return nil
}

// pipeStreams returns the streams of a pipe job: the outputs that are not merged, discarded or sent to a file.
func (s *Spec) pipeStreams() (all []Stream) {
	if s.StdoutFile == "" {
		all = append(all, Stdout)
	}
	if s.Stderr != StderrMerge && s.Stderr != StderrDiscard && s.StderrFile == "" {
		all = append(all, Stderr)
	}
	return all
}

// errorStream returns the stream with the job's own error messages; "" if there is none.
func (s *Spec) errorStream(mode Mode) Stream {
	switch {
	case mode == ModePTY:
		return PTY
	case s.Stderr == StderrMerge && s.StdoutFile == "":
		return Stdout
	case slices.Contains(s.pipeStreams(), Stderr):
		return Stderr
	}
	return ""
}

// forgetText releases the text for stdin, which the job has by now: it may be as long as a message, and a job's spec is
// kept as long as its output. It also clears the asker.
func (s *Spec) forgetText() {
	if s.StdinText != nil {
		s.StdinText = new(string)
	}
	s.Asker = Asker{}
}

// textBytes returns the size of the text for stdin in memory, in bytes.
func (s *Spec) textBytes() int64 {
	if s.StdinText == nil {
		return 0
	}
	return int64(len(*s.StdinText))
}

// An Asker identifies, for the caller, the request for which a person may have to be asked. This package does not
// interpret it.
type Asker struct {
	Request string
	Client  string // an answer "always" to a request of one client does not count for those of another; without NUL
}

// TakeOptions say which client takes the input of a job, and from which holders.
type TakeOptions struct {
	Owner string
	Force bool // from any holder
	// Away reports whether a holder is away: then the input may be taken without Force. It is called in a turn.
	Away       func(holder string) bool
	Cols, Rows int // the new size of the terminal; 0: unchanged
}

// isOthers reports whether input of an owner must not be typed while another one is the holder.
func isOthers(owner, holder string) bool { return owner != "" && holder != "" && owner != holder }
