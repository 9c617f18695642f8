package jobs

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"shelld/jobs/internal/proc"
)

// A shell with integration is asked for its environment, and has it changed, by code that it
// runs between two commands, where nobody sees it. What it answers it writes into memory that
// has no name (shellFiles.scratch).

// A shellTask is such a piece of code.
type shellTask struct {
	code string
	tok  *token                     // of who asks
	done func(exit int, err *Error) // in a turn
}

// askShell has a shell run code before the commands that wait for it. One that runs something
// already refuses: it may do so for days.
func (j *Job) askShell(code string, tok *token, done func(int, *Error)) {
	s := j.shell
	switch {
	case s.phase == shellRunning:
		done(0, j.busy("is running %s", j.nowRuns()))
	case s.typing:
		done(0, j.busy("is reading a command that is being typed"))
	case len(s.tasks) >= mostExecs:
		done(0, j.busy("has %d questions waiting for it already", len(s.tasks)))
	default:
		s.tasks = append(s.tasks, &shellTask{code, tok, done})
	}
}

// shellRan takes it that the code has run.
func (j *Job) shellRan(exit int) {
	s := j.shell
	if s.takeUp(); s.phase != shellHidden {
		return
	}
	s.phase = shellReady
	if len(s.tasks) > 0 { // else they were given up
		t := s.tasks[0]
		s.tasks = s.tasks[1:]
		t.done(exit, nil)
	}
}

// cancelTask withdraws one. Code that the shell has already runs.
func (j *Job) cancelTask(tok *token) bool {
	s := j.shell
	if s == nil {
		return false
	}
	i := slices.IndexFunc(s.tasks, func(t *shellTask) bool { return t.tok == tok })
	if i < 0 || i == 0 && s.has(shellHidden) {
		return false
	}
	t := s.tasks[i]
	s.tasks = slices.Delete(s.tasks, i, i+1)
	t.done(0, j.canceled())
	return true
}

// failTasks answers those that wait.
func (j *Job) failTasks(why func() *Error) {
	tasks := j.shell.tasks
	j.shell.tasks = nil
	for _, t := range tasks {
		t.done(0, why())
	}
}

// Variables asks for the environment of the job, in its turn: of a shell with integration as
// it is now, of any other job as it was started with.
func (j *Job) Variables() Pending[[]Variable] {
	r := newReply[[]Variable]()
	j.ask(variablesMsg{r})
	return pend(j, r)
}

func (j *Job) onVariables(m variablesMsg) {
	if j.st.exit != nil || j.integrated() != nil {
		e := j.spec.from
		m.reply.ok(e.told(e.forJob(&j.spec, j.info.Mode, j.info.Cwd), &j.redaction))
		return
	}
	f := j.shell.files
	j.askShell(j.shell.kind.DumpEnvironment(f.scratchPath), m.tok, func(exit int, err *Error) {
		var text []byte
		if err == nil {
			text, err = f.takeScratch()
		}
		switch {
		case err != nil:
			m.reply.fail(err)
		case exit != 0 || len(text) == 0:
			m.reply.fail(errorf(CodeInternal, "the shell of job %d could not tell its environment (status %d)", j.id, exit))
		default:
			m.reply.ok(j.shellVariables(text))
		}
	})
}

// takeScratch returns what the shell has written, and forgets it.
func (f *shellFiles) takeScratch() ([]byte, *Error) {
	text, err := io.ReadAll(io.NewSectionReader(f.scratch, 0, maxScratch))
	if err == nil {
		err = f.scratch.Truncate(0)
	}
	if err != nil {
		return nil, errorf(CodeInternal, "what the shell has told of its environment cannot be read: %v", err)
	}
	return text, nil
}

// maxScratch bounds it: no program can be started with more than some megabytes.
const maxScratch = 8 << 20

// shellVariables are NAME=value with a NUL behind each, with where they come from: of what is
// as it was when the job started, as then.
func (j *Job) shellVariables(text []byte) []Variable {
	e := j.spec.from
	before := map[string]proc.Variable{}
	for _, v := range e.forJob(&j.spec, j.info.Mode, j.info.Cwd) {
		before[v.Name] = v
	}
	var vars []proc.Variable
	for entry := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		name, value, ok := strings.Cut(strings.ToValidUTF8(string(entry), "\ufffd"), "=")
		if !ok || name == "" {
			continue
		}
		v := proc.Variable{Name: name, Value: value, Source: proc.FromShell}
		if old, was := before[name]; was && old.Value == value {
			v = old
		}
		vars = append(vars, v)
	}
	all := e.told(vars, &j.redaction)
	for i := range all {
		if j.shell.secrets[all[i].Name] {
			all[i].Secret, all[i].Value = true, ""
		}
	}
	return all
}

// ChangeVariable sets a variable of a shell with integration, or with nil unsets it: it and
// the commands that it runs from now on have it so.
func (j *Job) ChangeVariable(name string, value *string, secret bool) (Pending[struct{}], *Error) {
	if err := checkVariable(name, value); err != nil {
		return Pending[struct{}]{}, err
	}
	r := newReply[struct{}]()
	j.ask(changeVariableMsg{name, value, secret, r})
	return pend(j, r), nil
}

func (j *Job) onChangeVariable(m changeVariableMsg) {
	if j.st.exit != nil || j.shell == nil {
		m.fail(j.VariablesAreFixed())
		return
	}
	if err := j.integrated(); err != nil {
		m.fail(err)
		return
	}
	s := j.shell
	code := s.kind.UnsetVariable(m.name)
	if m.value != nil {
		code = s.kind.SetVariable(m.name, *m.value)
	}
	if code == "" {
		m.fail(Invalid("/name", "%s has no variables of that name: it must begin with a letter or _, and have nothing else but those and digits", s.kind))
		return
	}
	if m.secret && m.value != nil {
		j.hide(*m.value) // before the shell can print it
	}
	j.askShell(code, m.tok, func(exit int, err *Error) {
		switch {
		case err != nil:
			m.fail(err)
		case exit != 0:
			m.fail(errorf(CodeUnsupported, "the shell of job %d did not take it (status %d): the variable may be read-only", j.id, exit).named("handle", "/name"))
		default:
			s.secrets[m.name] = m.secret && m.value != nil
			m.ok(struct{}{})
		}
	})
}

// named sets what the refusal is about.
func (e *Error) named(name, pointer string) *Error {
	e.Name, e.Pointer = name, pointer
	return e
}
