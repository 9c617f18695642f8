package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

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

// resolve makes the plan of a spec: it finds the directory and the program, and sets the defaults. The caller must
// close the directory of the plan.
func (m *services) resolve(s *Spec) (plan, *Error) {
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
