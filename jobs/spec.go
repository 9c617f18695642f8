package jobs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shelld/jobs/internal/match"
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
	Plain       bool  // an interactive shell gets no integration (exec.go)
	Unanswered  bool  // the job leaves terminal queries of programs to others (queries.go)
	SinkAnswers bool  // the same, until Subscribe changes it
	Window      int64 // most bytes of output ahead of the read cursor (hold.go); 0 = the job waits for no reader

	from *environment // the environment in effect when the start was received
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
