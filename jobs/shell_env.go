package jobs

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/redact"
	"shelld/jobs/internal/roots"
	"shelld/jobs/internal/shellmark"
)

// A shell with integration is asked for its environment, and has it changed, by code that it
// runs between two commands, where nobody sees it. What it answers it writes into memory that
// has no name (shellFiles.scratch).

// A shellTask is such a piece of code.
type shellTask struct {
	code  string
	tok   *token                     // of who asks
	done  func(exit int, err *Error) // in a turn
	late  func(exit int)             // what is done with the status of one that was given up
	until time.Time                  // when it is
	given bool                       // it was
}

// askTime is how long a shell has to answer. One that starts, with all that its user has it do
// then, takes some seconds at the most.
const askTime = 10 * time.Second

// answer answers who asks, unless it was given up: then what has come of it is only noted.
func (t *shellTask) answer(exit int, err *Error) {
	switch {
	case !t.given:
		t.done(exit, err)
	case err != nil:
		t.late(didNotRun)
	default:
		t.late(exit)
	}
}

// didNotRun stands for the status of code that has not run, as far as is known.
const didNotRun = -1

// askShell has a shell run code before the commands that wait for it. One that runs something
// already refuses: it may do so for days.
func (j *Job) askShell(t *shellTask) {
	if err := j.taskRefused(); err != nil {
		t.done(0, err)
		return
	}
	t.until = time.Now().Add(j.mgr.askTime)
	j.shell.tasks = append(j.shell.tasks, t)
}

// taskRefused says why a shell takes no code of the server's now; nil: it does.
func (j *Job) taskRefused() *Error {
	s := j.shell
	switch {
	case s.session.Phase() == shellmark.PhaseRunning:
		return j.notAsked("is running " + j.nowRuns())
	case s.session.Typing():
		return j.notAsked("is reading a command that is being typed")
	case len(s.tasks) >= mostExecs:
		return j.notAsked(fmt.Sprintf("has %d questions waiting for it already", len(s.tasks)))
	}
	return nil
}

// notAsked refuses a question to a shell that cannot answer it now.
func (j *Job) notAsked(why string) *Error {
	cure := "ask again when it reads a line, or interrupt it with job/signal INT"
	if j.shell.starts() && j.st.status != StatusStopped {
		_, cure = j.startKeeps()
	}
	e := errorf(CodeShellBusy, "the shell of job %d %s; %s", j.id, why, cure)
	e.Handle = j.id
	return e
}

// popTask takes the first one away.
func (j *Job) popTask() *shellTask {
	t := j.shell.tasks[0]
	j.shell.tasks = j.shell.tasks[1:]
	return t
}

// giveUpTask answers one that is not answered. Where the shell has its code already, that
// stays until it has run: what the shell says next is about that.
func (j *Job) giveUpTask(t *shellTask, err *Error) {
	s := j.shell
	if s.session.Has(shellmark.PhaseHidden) && s.tasks[0] == t {
		t.given = true
	} else {
		s.tasks = slices.DeleteFunc(s.tasks, func(o *shellTask) bool { return o == t })
	}
	t.done(0, err)
}

// reviewTasks gives up those whose time is over.
func (j *Job) reviewTasks(now time.Time) {
	for _, t := range slices.Clone(j.shell.tasks) {
		if !t.given && !now.Before(t.until) {
			j.giveUpTask(t, j.notAsked(fmt.Sprintf("%s, and has not answered within %v", j.keepsAsking(t), j.mgr.askTime)))
		}
	}
}

// keepsAsking says what a shell does that a question waits for.
func (j *Job) keepsAsking(t *shellTask) string {
	switch s := j.shell; {
	case j.st.status == StatusStopped:
		return "is stopped"
	case s.session.Phase() == shellmark.PhaseRunning:
		return "is running " + j.nowRuns()
	case s.starts():
		why, _ := j.startKeeps()
		return why
	case s.session.Has(shellmark.PhaseHidden) && s.tasks[0] == t:
		return "has been asked"
	}
	return "does not read a line"
}

// tasksUntil is when the first of them is given up; zero: none waits.
func (s *shellWatch) tasksUntil() (t time.Time) {
	for _, task := range s.tasks {
		if !task.given {
			t = earliest(t, task.until)
		}
	}
	return t
}

// shellRan takes it that the code has run.
func (j *Job) shellRan(seq int64, exit int) {
	s := j.shell
	hidden, doubted := s.session.OnRan(seq)
	if r := s.handed(doubted); r != nil {
		j.notBegun(r) // The shell has told all that it knows, and nothing of this one.
	}
	if hidden && len(s.tasks) > 0 { // else nobody waits since the shell is gone
		j.popTask().answer(exit, nil)
	}
}

// cancelTask withdraws one. Code that the shell has already runs all the same.
func (j *Job) cancelTask(tok *token) bool {
	s := j.shell
	if s == nil {
		return false
	}
	i := slices.IndexFunc(s.tasks, func(t *shellTask) bool { return t.tok == tok && !t.given })
	if i < 0 {
		return false
	}
	j.giveUpTask(s.tasks[i], j.canceled())
	return true
}

// failTasks answers those that wait.
func (j *Job) failTasks(why func() *Error) {
	tasks := j.shell.tasks
	j.shell.tasks = nil
	for _, t := range tasks {
		t.answer(0, why())
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
	if j.st.exit != nil || j.shell == nil {
		e := j.spec.from
		m.reply.ok(e.told(e.forJob(&j.spec, j.info.Mode, j.info.Cwd), &j.redaction))
		return
	}
	if j.shellReplaced() {
		m.reply.fail(j.variablesUnknown())
		return
	}
	f := j.shell.files
	late := func(int) { f.dropScratch() }
	j.askShell(&shellTask{code: j.shell.kind.DumpEnvironment(f.scratchPath), tok: m.tok, late: late, done: func(exit int, err *Error) {
		var text []byte
		switch {
		case err == nil:
			text, err = f.takeScratch()
		case err.Code == CodeShellIntegrationUnavailable && j.shell.session.Phase() == shellmark.PhaseGone:
			err = j.variablesUnknown()
		}
		switch {
		case err != nil:
			m.reply.fail(err)
		case exit != 0 || len(text) == 0:
			m.reply.fail(errorf(CodeInternal, "the shell of job %d could not tell its environment (status %d)", j.id, exit))
		default:
			m.reply.ok(j.shellVariables(text))
		}
	}})
}

// variablesUnknown refuses to tell what a shell had that is not there any more.
func (j *Job) variablesUnknown() *Error {
	e := errorf(CodeShellIntegrationUnavailable, "what variables job %d has by now nobody can know: %s; have the program that is there print them, with job/write", j.id, j.shell.why)
	e.Handle = j.id
	return e
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
// the commands that it runs from now on have it so. Where starts are asked about, so is this.
func (j *Job) ChangeVariable(name string, value *string, secret bool, asker Asker) (Pending[struct{}], *Error) {
	if err := checkVariable(name, value); err != nil {
		return Pending[struct{}]{}, err
	}
	r := newReply[struct{}]()
	j.ask(changeVariableMsg{name, value, secret, asker, r, false})
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
	if err := j.mgr.refuseUnasked(ActionStart, j.id); err != nil {
		m.fail(err) // It is as a start: a shell runs what PROMPT_COMMAND and others have.
		return
	}
	s := j.shell
	code := changeCode(s.kind, m.name, m.value)
	if code == "" {
		m.fail(Invalid("/name", "%s has no variables of that name: it must begin with a letter or _, and have nothing else but those and digits", s.kind))
		return
	}
	if j.mgr.confirm.Start == VerdictAsk && !m.allowed {
		j.confirmChange(m)
		return
	}
	if m.secret && m.value != nil {
		j.hide(*m.value) // before the shell can print it
	}
	note := func(exit int) {
		if exit == 0 {
			s.secrets[m.name] = m.secret && m.value != nil
		}
	}
	j.askShell(&shellTask{code: code, tok: m.tok, late: note, done: func(exit int, err *Error) {
		switch {
		case err != nil:
			m.fail(err)
		case exit != 0:
			m.fail(errorf(CodeUnsupported, "the shell of job %d did not take it (status %d): the variable may be read-only", j.id, exit).named("handle", "/name"))
		default:
			note(exit)
			m.ok(struct{}{})
		}
	}})
}

// changeCode is the code by which a shell sets a variable, or with nil unsets it; "": it can have
// none of that name.
func changeCode(kind shellmark.Shell, name string, value *string) string {
	if value == nil {
		return kind.UnsetVariable(name)
	}
	return kind.SetVariable(name, *value)
}

// confirmChange has the person at the client asked about the change of a variable. What is
// secret is not shown.
func (j *Job) confirmChange(m changeVariableMsg) {
	if err := j.taskRefused(); err != nil {
		m.fail(err)
		return
	}
	shown := m.value
	if shown != nil && IsSecret(m.name, m.secret) {
		hidden := redact.Mark
		shown = &hidden
	}
	code, cwd := changeCode(j.shell.kind, m.name, shown), j.place
	j.asking.askAbout(m, func() (*Question, *Error) {
		return j.asking.question(ActionStart, m.asker, j.id, code, cwd, roots.Found{Why: "a shell runs what some variables say"})
	})
}

// named sets what the refusal is about.
func (e *Error) named(name, pointer string) *Error {
	e.Name, e.Pointer = name, pointer
	return e
}
