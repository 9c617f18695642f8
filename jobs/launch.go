package jobs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

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

// launchReal starts a plan on a terminal or pipes. If the spec names no mode and needs no screen, it falls back to
// pipes if no terminal is available.
func (m *services) launchReal(s *Spec, p plan) (*launched, *Error) {
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

func (m *services) launchPTY(s *Spec, p plan) (*launched, *Error) {
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

func (m *services) launchPipes(s *Spec, p plan) (*launched, *Error) {
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

// kept is a process that has a keeper.
type kept interface{ Process() int }

// newLooker returns a looker that probes the job of p by its input t.
func newLooker(p process, t inputwait.Target) looker {
	t.Leader = p.PID()
	if k, ok := p.(kept); ok {
		t.Root = k.Process()
	}
	return inputwait.New(t)
}

// pipeInput returns the stdin of the job together with its outputs; nil if the server does not write to the
// stdin.
func (c *stdio) pipeInput() *proc.PipeInput {
	sink, ok := c.input.(*proc.Sink)
	if !ok || sink == nil {
		return nil
	}
	var sources []*proc.Source
	for _, o := range c.outputs {
		if s, ok := o.src.(*proc.Source); ok {
			sources = append(sources, s)
		}
	}
	return proc.NewPipeInput(sink, sources...)
}

// InputDetection returns the highest confidence that input detection can reach on this system, and the reason
// for it. It examines a keeper, as it would the process of a job; if there is no keeper yet, it examines the
// process of the server.
func (m *services) InputDetection() (tier Confidence, why string) {
	pid := os.Getpid()
	if s, ok := m.system.keepers.(interface{ SomeKeeper() int }); ok {
		if k := s.SomeKeeper(); k != 0 {
			pid = k
		}
	}
	return inputwait.Examine(pid)
}
