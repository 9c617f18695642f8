package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/proc"
)

// A StartResult is a started job and the outcome of its wait, nil if it has none.
type StartResult struct {
	Info    Info
	Outcome *Outcome
}

// A startReq is a start that has not been answered.
type startReq struct{ reply reply[StartResult] }

// launched is a running process and its connections.
type launched struct {
	plan    plan
	proc    process
	outputs []output
	input   input        // nil: none
	term    terminal     // nil: pipe mode
	looker  looker       // nil: no way to detect that it waits for input
	shell   *shellLaunch // nil: no integration
	noShell string       // why there is no integration
}

type output struct {
	name Stream
	src  source
}

// A plan is a resolved spec: the program to start, its directory, environment and limits.
type plan struct {
	path   string
	argv   []string
	shell  string // the path of the shell that runs the command or is the job; "" = none
	env    []string
	dir    string          // the directory's path as the job gets it
	at     *proc.Directory // the directory dir; nil only in tests
	mode   Mode
	reason string // why the mode is not the usual one
	cols   int
	rows   int
	limits keeper.Limits
	may    func(command string) bool // reports whether a command may be suggested; nil: any
}

// starting makes the process of a job, and answers the start request.
type starting struct {
	j     *Job
	place string // the path of the job's directory when it started

	heldUp    atomic.Bool // run waits for the login shell or a person (start_held.go)
	begin     *startReq
	unstarted *Error // the error of a failed start; also read after the mail is closed
}

// start makes the process. The search for directories and commands takes as long as the file system needs. Meanwhile,
// requests for the job wait in the mail, even a cancel of the start: when it is handled, only the wait in the start
// request is left to cancel. A cancel, a kill or the server's end interrupts the start only while it waits for the
// login shell or a person (start_held.go).
func (s *starting) start() {
	l, err := s.prepare()
	if err != nil {
		s.j.actor.lock.Lock()
		defer s.j.actor.lock.Unlock()
		s.startFailed(err)
		return
	}
	s.j.actor.turn(func() { s.onStarted(l) })
	l.proc.Notify(s.j.actor.attend)
}

// prepare plans and launches the job. It holds the job's directory open from its check to the launch, and no longer.
func (s *starting) prepare() (*launched, *Error) {
	if err := s.awaitLogin(); err != nil {
		return nil, err
	}
	if err := s.j.mgr.refuseUnasked(ActionStart, 0); err != nil {
		return nil, err
	}
	p, err := s.j.mgr.system.plan(&s.j.spec)
	if err != nil {
		return nil, err
	}
	defer p.at.Close()
	if err := s.j.asking.allowStart(p); err != nil {
		return nil, err
	}
	return s.j.mgr.system.launch(&s.j.spec, p)
}

func (s *starting) startFailed(err *Error) {
	s.j.st.status, s.unstarted = StatusFailed, err
	s.j.actor.quit.Store(true)
	s.j.spec.forgetWatches()
	s.j.mgr.registry.forget(s.j)
	close(s.j.vacant)
	close(s.j.ended)
	s.begin.reply.fail(err)
}

// onStarted makes the launched process a running job.
func (s *starting) onStarted(l *launched) {
	s.j.mgr.registry.started(s.j)
	s.attach(l)
	s.j.spec.forgetText()
	s.j.st.status = StatusRunning
	for _, w := range s.j.spec.Watches {
		s.j.waits.addWatch(w, nil)
	}
	s.j.spec.Watches = nil
	s.j.publish()
	s.j.files.record(time.Now())
	s.j.sink.Started(s.j, s.j.snapshot())
	for _, st := range s.j.output.streams {
		s.j.output.loops.Add(1)
		go s.j.output.readLoop(st)
	}
	s.answerStart()
}

func (s *starting) attach(l *launched) {
	s.j.proc, s.j.ending.facts, s.j.input.to, s.j.term = l.proc, l.proc.Events(), l.input, l.term
	s.j.process.Store(&processHandle{l.proc})
	s.j.waiting.watch.looker = l.looker
	// -1: the job is probed even if it never prints anything.
	s.j.waiting.watch.seen.output, s.j.waiting.secret.seen.output = -1, -1
	now := time.Now()
	if a := s.j.mgr.settings.archive; a != nil {
		s.j.files.folder = a.folder(s.j.id)
	}
	for _, o := range l.outputs {
		s.j.output.streams = append(s.j.output.streams, &stream{name: o.name, src: o.src, base: now, spool: s.j.files.openSpool(o.name), done: make(chan struct{}), room: make(chan struct{}, 1)})
	}
	for _, st := range s.j.output.streams {
		st.reader.window.Store(s.j.spec.Window)
	}
	s.j.shell.none = l.noShell
	if l.shell != nil {
		s.j.shell.watch, s.j.output.streams[0].marks = l.shell.watch, l.shell.reader
		s.j.output.loops.Add(1)
		go s.j.shell.feedLoop(s.j.shell.watch)
	}
	if s.j.input.to != nil {
		s.j.output.loops.Add(1)
		go s.j.input.writeLoop(s.j.input.to, s.j.term)
	}
	s.j.starting.place = l.plan.place()
	s.j.info = Info{
		Description: s.j.spec.Description, Group: s.j.spec.Group, Command: s.j.spec.Command,
		Argv: l.plan.argv, Shell: l.plan.shell, Cwd: l.plan.dir, Mode: l.plan.mode, ModeReason: l.plan.reason,
		PID: l.proc.PID(), StartedAt: now,
	}
	if s.j.shell.watch != nil {
		s.j.info.Integration = string(s.j.shell.watch.kind)
		s.j.redaction.launched = proc.JoinArguments(l.shell.Argv)
		s.j.redaction.wanted = proc.JoinArguments(l.plan.argv)
	}
	s.j.limits.begin()
	if s.j.files.folder != nil {
		s.j.info.OutputDirectory = s.j.files.folder.Path()
	}
	if l.term != nil {
		s.j.info.Cols, s.j.info.Rows = l.plan.cols, l.plan.rows
		s.j.display.sizes.Note(0, l.plan.cols, l.plan.rows)
		s.j.display.begin()
	}
	s.j.files.beginRecording(l.plan.env)
}

func (s *starting) answerStart() {
	b := s.begin
	spec := s.j.spec.Wait
	s.j.spec.Wait = nil
	if spec == nil {
		b.reply.ok(StartResult{Info: s.j.snapshot()})
		return
	}
	from, err := s.j.waits.origin(spec, FromStart)
	if err != nil {
		// The job already runs. If it ran on after this error, it would have no owner.
		s.j.ending.end(ReasonKilled, KillOptions{})
		b.reply.fail(err)
		return
	}
	s.j.waits.arm(&wait{
		spec: spec, from: from, tok: b.reply.tok,
		done:  func(o Outcome) { b.reply.ok(StartResult{s.j.snapshot(), &o}) },
		abort: func(e *Error) { b.reply.fail(e) },
	})
}

// resolve makes the plan of a spec: it finds the directory and the program, and sets the defaults. The caller must
// close the directory of the plan.
func (m *Manager) resolve(s *Spec) (plan, *Error) {
	p := plan{mode: s.Mode, cols: s.Cols, rows: s.Rows, limits: s.Limits.kept(), may: m.settings.commands.mayRun}
	var err *Error
	if p.at, p.dir, err = m.directory(s.Cwd); err != nil {
		return p, err
	}
	if p.mode == "" {
		p.mode = ModePTY
	}
	if p.cols == 0 {
		p.cols = 80
	}
	if p.rows == 0 {
		p.rows = 24
	}
	p.env = s.environ(p.mode, p.dir)
	missing := p.findProgram(s)
	if err = m.permit(s, p); err == nil { // A refused client must not learn whether the program exists.
		err = missing
	}
	if err != nil {
		p.at.Close()
	}
	return p, err
}

func (p *plan) findProgram(s *Spec) (err *Error) {
	if len(s.Argv) == 0 {
		return p.useShell(s)
	}
	p.argv = s.Argv
	p.path, err = p.lookPath(s.Argv[0])
	return err
}

// place returns the real path of the job's directory, if it is known. Relative names are resolved in the real
// directory, which may differ from the one that the spelling of its path suggests.
func (p *plan) place() string {
	if p.at != nil && p.at.Real() != "" {
		return p.at.Real()
	}
	return p.dir
}

// environ returns the environment of a job for a mode and a directory.
func (s *Spec) environ(mode Mode, dir string) []string {
	return proc.Environ(s.from.forJob(s, mode, dir))
}

func (p *plan) useShell(s *Spec) *Error {
	var sh proc.Shell
	var err error
	if s.Shell == "" {
		sh, err = proc.DefaultShell(p.env)
	} else {
		sh, err = proc.ShellFor(s.Shell, p.place(), p.env)
	}
	if err != nil {
		p.shell = cmp.Or(s.Shell, "sh") // permit parses the command line in this shell's syntax
		e := p.lookError(s.Shell, err)
		if e.Code == CodeCommandNotFound {
			e.Message = fmt.Sprintf("there is no shell %q; name one that is installed, or leave shell out for the default", s.Shell)
		}
		return e
	}
	p.path, p.shell, p.argv = sh.Path, sh.Path, []string{sh.Name}
	if s.Command != nil {
		p.argv = append(append(p.argv, sh.Args...), *s.Command)
	}
	return nil
}

func (p *plan) lookPath(name string) (string, *Error) {
	path, err := proc.LookPath(name, p.place(), p.env)
	if err != nil {
		return "", p.lookError(name, err)
	}
	return path, nil
}

// lookError returns the error for a command that cannot be run.
func (p *plan) lookError(name string, err error) *Error {
	var le *proc.LookError
	path := ""
	if errors.As(err, &le) {
		path = le.Path
	}
	if path != "" && !errors.Is(err, fs.ErrNotExist) {
		e := errorf(CodePermissionDenied, "%s cannot be run (%s); make it an executable file, or name another command", path, errnoText(err))
		e.Path, e.Errno = path, errnoText(err)
		return e
	}
	e := errorf(CodeCommandNotFound, "there is no command %q; check the spelling, or the PATH that the job gets", name)
	e.Command, e.Suggestions = name, proc.Suggest(name, p.env, p.may)
	switch {
	case len(e.Suggestions) > 0:
		e.Message = "there is no command \"" + name + "\"; did you mean " + strings.Join(e.Suggestions, " or ") + "?"
	case strings.Contains(name, "/"): // PATH is not searched.
		e.Message = fmt.Sprintf("there is no file %q; check the path (a relative one starts in %s)", name, p.place())
	}
	return e
}

// errnoText returns the system's text for an error, without the text that Go adds.
func errnoText(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or directory"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error() // The caller reports the path itself.
	}
	return err.Error()
}

// launchReal starts a plan on a terminal or pipes. If the spec names no mode and needs no screen, it falls back to
// pipes if no terminal is available.
func (m *Manager) launchReal(s *Spec, p plan) (*launched, *Error) {
	if p.mode == ModePTY {
		l, err := m.launchPTY(s, p)
		if err == nil || err.Code != CodePTYUnavailable || s.Mode != "" || s.needsScreen() {
			return l, err
		}
		p.mode, p.reason, p.cols, p.rows = ModePipe, err.Message, 0, 0
		p.env = s.environ(p.mode, p.dir)
	}
	return m.launchPipes(s, p)
}

func (m *Manager) launchPTY(s *Spec, p plan) (*launched, *Error) {
	t, slave, err := m.openTerminal(p.cols, p.rows)
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	given := p
	shell, why := m.integrate(s, p)
	if shell != nil {
		given = shell.apply(p)
	}
	k, kerr := m.system.keepers.Start(keeper.Command{Path: p.path, Argv: given.argv, Env: given.env, Dir: p.dir, Directory: p.at.File(), Limits: p.limits, Terminal: slave})
	if kerr != nil {
		_ = t.Close() // No program has used it.
		if shell != nil {
			shell.watch.files.Close()
		}
		return nil, startError(p, kerr)
	}
	l := &launched{plan: p, proc: k, term: t, shell: shell, noShell: why, input: t.Sink(), outputs: []output{{PTY, t.Source()}}}
	l.looker = newLooker(k, inputwait.Target{Input: t, Terminal: t})
	return l, nil
}

func (m *Manager) launchPipes(s *Spec, p plan) (*launched, *Error) {
	c, refused := m.openStdio(s, p.place())
	if refused != nil {
		return nil, refused
	}
	defer c.closeTheirs()
	k, err := m.system.keepers.Start(keeper.Command{
		Path: p.path, Argv: p.argv, Env: p.env, Dir: p.dir, Directory: p.at.File(), Limits: p.limits,
		Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr,
	})
	if err != nil {
		c.closeOurs()
		return nil, startError(p, err)
	}
	l := &launched{plan: p, proc: k, outputs: c.outputs, input: c.input}
	if in := c.pipeInput(); in != nil {
		l.looker = newLooker(k, inputwait.Target{Input: in, Outputs: in.Outputs()})
	}
	return l, nil
}

func isResource(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN}, func(e error) bool { return errors.Is(err, e) })
}

func resourceError(what string, err error) *Error {
	e := errorf(CodeResourceUnavailable, "the system lacks resources for %s (%s); end some jobs and try again", what, errnoText(err))
	e.Retryable, e.Errno = true, errnoText(err)
	return e
}

// startError turns the stage and errno of a failed start into the error for the client.
func startError(p plan, err error) *Error {
	var se *keeper.StartError
	if !errors.As(err, &se) {
		return errorf(CodeInternal, "the job could not be started: %v", err)
	}
	switch {
	case isResource(err):
		return resourceError("another process", err)
	case se.Stage == keeper.StageLimits:
		e := errorf(CodeUnsupported, "the limits of the job cannot be set (%s); ask for lower limits, or for none", errnoText(err))
		e.Name, e.Pointer, e.Errno = "limits", "/limits", errnoText(err)
		return e
	case se.Stage == keeper.StageChdir:
		return badDirectory(p.dir, err)
	case se.Stage == keeper.StageExec && se.MissingInterpreter != "":
		e := errorf(CodeCommandNotFound, "%s needs the interpreter %s, which does not exist; install it or change the first line of the file", p.path, se.MissingInterpreter)
		e.Command, e.Path, e.Errno = se.MissingInterpreter, p.path, errnoText(err)
		return e
	case errors.Is(err, syscall.E2BIG):
		return tooLong(p)
	case se.Stage == keeper.StageKeeper && se.Killed:
		return errorf(CodeInternal, "the job's keeper process was killed while starting %s; the job was cleaned up; make sure nothing kills processes named shelld-keeper", p.path)
	case se.Stage == keeper.StageKeeper:
		return errorf(CodeInternal, "the job's keeper process cannot be run (%v); make sure that /proc is mounted and the server's executable still exists", err)
	case errors.Is(err, syscall.ENOENT):
		return p.lookError(p.argv[0], &proc.LookError{Name: p.argv[0], Err: fs.ErrNotExist})
	case errors.Is(err, syscall.ENOEXEC):
		e := errorf(CodePermissionDenied, "%s cannot be run (%s); if it is a script, begin it with a #! line or run it through a shell; if it is a program, it is for another machine", p.path, errnoText(err))
		e.Path, e.Errno = p.path, errnoText(err)
		return e
	case se.Stage == keeper.StageExec:
		e := errorf(CodePermissionDenied, "%s cannot be run (%s); make it an executable file for this machine, or name another command", p.path, errnoText(err))
		e.Path, e.Errno = p.path, errnoText(err)
		return e
	}
	return errorf(CodeInternal, "the job could not be started: %v", err)
}
