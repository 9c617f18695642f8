package jobs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shelld/jobs/internal/match"
)

// An ID is a job's handle: counted up from 1 and never reused in a server's life.
type ID int64

// A Ref names a job as a client does: by handle, or by the name it chose.
type Ref struct {
	Handle ID // if Name is empty
	Name   string
}

// Mode is how a job is connected.
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

// StderrMode says where a pipe job's standard error goes.
type StderrMode string

const (
	StderrSeparate StderrMode = "separate"
	StderrMerge    StderrMode = "merge" // into stdout, in true order
	StderrDiscard  StderrMode = "discard"
)

// A Spec is what a start asks for. The zero value is an interactive shell on a
// terminal of 80×24.
type Spec struct {
	Asker       Asker
	Command     *string  // run by a shell
	Argv        []string // run without one; with neither, an interactive shell
	Shell       string   // name or path; "" = the default shell
	Cwd         string   // "" = the root directory; relative paths count from it
	Env         map[string]*string
	Profile     string // "" = the usual one
	Mode        Mode   // "" = pty, and pipe where no terminal can be had
	Cols, Rows  int    // 0 = 80, 24
	Name        string
	Group       string
	Description string
	OpenStdin   bool // pipe mode: stdin stays open for writes; else /dev/null
	Stderr      StderrMode
	StdinText   *string // pipe mode: stdin is this text
	StdinFile   string  // pipe mode: stdin is this file, which counts from Cwd as those below
	StdoutFile  string  // pipe mode: stdout goes there, and is no stream
	StderrFile  string  // pipe mode: the same for stderr, where Stderr is separate
	Watches     []WatchSpec
	Wait        *WaitSpec
	Sink        Sink          // nil = nobody listens
	Record      bool          // what it shows and is typed is kept with its times (recording.go)
	KillAfter   time.Duration // from the start on; 0 = no such time
	Limits      JobLimits
	Plain       bool  // an interactive shell gets no integration (exec.go)
	Unanswered  bool  // somebody else answers what programs ask the terminal (queries.go)
	SinkAnswers bool  // the same, as long as Subscribe does not say otherwise
	Window      int64 // how far output may be ahead of the read cursor (hold.go); 0 = the job waits for no reader

	from *environment // what was in effect when the start was read
}

// check refuses what can be seen to be wrong before anything is started.
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

// checkText refuses what no program can be given: a NUL byte ends an argument, and a
// variable's name ends at the equals sign.
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

// streams are the outputs that the job will have.
func (s *Spec) streams() []Stream {
	switch {
	case s.Mode != ModePipe:
		return []Stream{PTY}
	}
	return s.pipeStreams()
}

// names is a list of streams in a sentence.
func names(streams []Stream) string {
	if len(streams) == 0 {
		return "none, since all that it writes goes to files"
	}
	all := make([]string, len(streams))
	for i, s := range streams {
		all[i] = string(s)
	}
	return strings.Join(all, " and ")
}

// checkStreams refuses a pattern on a stream that the job will not have: it would
// never match.
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
		return Invalid(w.sibling("stream"), "this job will have no stream %q; it will have %s", w.Stream, names(s.streams()))
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
			return Invalid(s.Wait.From.Pointer+"/"+string(name), "this job will have no stream %q; it will have %s", name, names(s.streams()))
		}
	}
	for i, c := range s.Wait.Until {
		if c.Kind == UntilCommand {
			return Invalid(fmt.Sprintf("/wait/until/%d/command", i), "a job that is being started has run no command; wait for one with job/exec, or with the id that its answer has")
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

// A WatchSpec is a pattern whose every match is an event.
type WatchSpec struct {
	Pattern, Flags string
	Raw            bool   // match the raw bytes; else with escape sequences removed
	Screen         bool   // match what the terminal shows
	Stream         Stream // "" = each
	Once           bool
	Pointer        string // where it stands in params, for errors

	compiled *match.Pattern // until somebody looks for it
	room     *patternRoom   // of compiled, where no request has it
}

// sibling is where another member of the watch stands in params.
func (w *WatchSpec) sibling(member string) string {
	return strings.TrimSuffix(w.Pointer, "pattern") + member
}

// A ConditionKind is what a condition waits for.
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

// Conditions are the kinds that a wait can be armed with here.
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

	// AfterInput says for a pattern whether the echo of what was typed last does not
	// match; nil: as the wait of a write does, and no other.
	AfterInput *bool
}

// Origin says from where a wait looks at the output.
type Origin struct {
	Kind    OriginKind
	Offsets map[Stream]int64 // for FromOffset; the key "" means the only stream
	Pointer string           // where it stands in params, for errors
}

// ambiguous refuses one offset for several streams.
func (o Origin) ambiguous(streams []Stream) *Error {
	return Invalid(o.Pointer, "this job has the streams %s: give an offset for each, as {\"stdout\": 0, \"stderr\": 0}", names(streams))
}

// An OriginKind is one of the ways to say where a wait begins.
type OriginKind int

const (
	FromDefault OriginKind = iota // start in a start, now in a write, else unread
	FromStart
	FromNow
	FromUnread
	FromOffset
)

// A WaitSpec is a list of conditions, of which the first to hold ends the wait.
type WaitSpec struct {
	Until    []Condition
	From     Origin
	Timeout  time.Duration // < 0 = none
	MaxBytes int
	Plain    bool   // the output's format: plain, else text
	Screen   bool   // what the terminal shows in place of the output
	Pointer  string // where it stands in params, for errors

	StripEcho bool // the output is told without the echo; see Outcome.Echo
	Unmarked  bool // output that is cut has no mark between head and tail
}
