package jobs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/redact"
	"shelld.dev/shelld/jobs/internal/roots"
	"shelld.dev/shelld/jobs/internal/shellmark"
)

// The server reads and changes the environment of a shell with integration by hidden code, which the shell runs
// between two commands without showing it. The shell writes its answer to memory that has no name
// (package shellfiles).

// A shellTask is a piece of hidden code to run.
type shellTask struct {
	code  string
	tok   *token                     // of the request
	done  func(exit int, err *Error) // called in a turn
	late  func(exit int)             // handles the exit status if the task was given up before
	until time.Time                  // when the task is given up
	given bool                       // the task was given up
	owner string                     // which client changes a variable; "" = nothing is changed
}

// askTime is how long a shell has to answer. A shell that starts, with all commands in its user's start-up files,
// takes a few seconds at most.
const askTime = 10 * time.Second

// answer answers the request, unless the task was given up: then it only notes the result.
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

// didNotRun stands for the exit status of code that has not run, as far as is known.
const didNotRun = -1

// askShell makes the shell run a task's code before the commands that wait for the shell. It refuses if a command is
// running: that may take days.
func (p *shellPart) askShell(t *shellTask) {
	p.j.lock.Check()
	if err := p.taskRefused(); err != nil {
		t.done(0, err)
		return
	}
	t.until = time.Now().Add(p.j.mgr.system.askTime)
	p.watch.tasks = append(p.watch.tasks, t)
}

// taskRefused returns the reason why the shell accepts no hidden code now, or nil if it does.
func (p *shellPart) taskRefused() *Error {
	s := p.watch
	switch {
	case s.session.Phase() == shellmark.PhaseRunning:
		return p.notAsked("is running " + p.nowRuns())
	case s.session.Typing():
		return p.notAsked("is reading a command that is being typed")
	case len(s.tasks) >= mostExecs:
		return p.notAsked(fmt.Sprintf("already has %d requests queued", len(s.tasks)))
	}
	return nil
}

// notAsked returns the error for a question that the shell cannot answer now.
func (p *shellPart) notAsked(why string) *Error {
	cure := "try again when it reads a line, or interrupt it with job/signal INT"
	if p.watch.starts() && p.j.st.status != StatusStopped {
		_, cure = p.startKeeps()
	}
	e := errorf(CodeShellBusy, "the shell of job %d %s; %s", p.j.id, why, cure)
	e.Handle = p.j.id
	return e
}

// popTask removes the first task and returns it.
func (p *shellPart) popTask() *shellTask {
	t := p.watch.tasks[0]
	p.watch.tasks = p.watch.tasks[1:]
	return t
}

// giveUpTask answers a task that the shell has not answered. If the shell already has its code, the task stays until
// the code has run: the next answer of the shell is about it.
func (p *shellPart) giveUpTask(t *shellTask, err *Error) {
	s := p.watch
	if s.session.Has(shellmark.PhaseHidden) && s.tasks[0] == t {
		t.given = true
	} else {
		s.tasks = slices.DeleteFunc(s.tasks, func(o *shellTask) bool { return o == t })
	}
	t.done(0, err)
}

// reviewTasks gives up the tasks whose time is over.
func (p *shellPart) reviewTasks(now time.Time) {
	for _, t := range slices.Clone(p.watch.tasks) {
		if !t.given && !now.Before(t.until) {
			p.giveUpTask(t, p.notAsked(fmt.Sprintf("%s, and has not answered within %v", p.keepsAsking(t), p.j.mgr.system.askTime)))
		}
	}
}

// keepsAsking returns what the shell does while a task waits, as part of a sentence.
func (p *shellPart) keepsAsking(t *shellTask) string {
	switch s := p.watch; {
	case p.j.st.status == StatusStopped:
		return "is stopped"
	case s.session.Phase() == shellmark.PhaseRunning:
		return "is running " + p.nowRuns()
	case s.starts():
		why, _ := p.startKeeps()
		return why
	case s.session.Has(shellmark.PhaseHidden) && s.tasks[0] == t:
		return "has been asked"
	}
	return "does not read a line"
}

// tasksUntil returns when the next task is given up. Zero: no task waits.
func (s *shellWatch) tasksUntil() (t time.Time) {
	for _, task := range s.tasks {
		if !task.given {
			t = earliest(t, task.until)
		}
	}
	return t
}

// ran handles the mark that hidden code has run.
func (p *shellPart) ran(seq int64, exit int) {
	s := p.watch
	hidden, doubted := s.session.OnRan(seq)
	if r := s.handed(doubted); r != nil {
		p.notBegun(r) // The shell has repeated all its marks, and none is about this command.
	}
	if hidden && len(s.tasks) > 0 { // otherwise the shell is gone, and no request waits any more
		p.popTask().answer(exit, nil)
	}
}

// cancelTask withdraws the task of a canceled request. If the shell already has the code, it still runs it.
func (p *shellPart) cancelTask(tok *token) bool {
	s := p.watch
	if s == nil {
		return false
	}
	i := slices.IndexFunc(s.tasks, func(t *shellTask) bool { return t.tok == tok && !t.given })
	if i < 0 {
		return false
	}
	p.giveUpTask(s.tasks[i], p.j.canceled())
	return true
}

// failTasks answers all waiting tasks with an error.
func (p *shellPart) failTasks(why func() *Error) {
	tasks := p.watch.tasks
	p.watch.tasks = nil
	for _, t := range tasks {
		t.answer(0, why())
	}
}

func (p *shellPart) onVariables(m variablesMsg) {
	if p.j.st.exit != nil || p.watch == nil {
		e := p.j.spec.from
		m.reply.ok(e.told(e.forJob(&p.j.spec, p.j.info.Mode, p.j.info.Cwd), &p.j.redaction))
		return
	}
	if p.isReplaced() {
		m.reply.fail(p.variablesUnknown())
		return
	}
	f := p.watch.files
	late := func(int) { f.DropScratch() }
	p.askShell(&shellTask{code: p.watch.kind.DumpEnvironment(f.ScratchPath), tok: m.tok, late: late, done: func(exit int, err *Error) {
		var text []byte
		switch {
		case err == nil:
			text, err = p.takeScratch()
		case err.Code == CodeShellIntegrationUnavailable && p.watch.session.Phase() == shellmark.PhaseGone:
			err = p.variablesUnknown()
		}
		switch {
		case err != nil:
			m.reply.fail(err)
		case exit != 0 || len(text) == 0:
			m.reply.fail(errorf(CodeInternal, "the shell of job %d could not print its environment (status %d)", p.j.id, exit))
		default:
			m.reply.ok(p.variables(text))
		}
	}})
}

// variablesUnknown returns the error for reading the environment of a shell that is gone.
func (p *shellPart) variablesUnknown() *Error {
	e := errorf(CodeShellIntegrationUnavailable, "the environment of job %d is unknown: %s; ask the running program to print it (job/write)", p.j.id, p.watch.why)
	e.Handle = p.j.id
	return e
}

// takeScratch returns the shell's answer.
func (p *shellPart) takeScratch() ([]byte, *Error) {
	text, err := p.watch.files.TakeScratch(maxScratch)
	if err != nil {
		return nil, errorf(CodeInternal, "the environment that the shell printed cannot be read: %v", err)
	}
	return text, nil
}

// maxScratch bounds the answer: no program can be started with an environment of more than some megabytes.
const maxScratch = 8 << 20

// variables parses text, which has NAME=value entries with a NUL behind each, and adds the source of each variable. A
// variable that still has its value from the start of the job keeps its source from then.
func (p *shellPart) variables(text []byte) []Variable {
	e := p.j.spec.from
	before := map[string]proc.Variable{}
	for _, v := range e.forJob(&p.j.spec, p.j.info.Mode, p.j.info.Cwd) {
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
	all := e.told(vars, &p.j.redaction)
	for i := range all {
		if p.watch.secrets[all[i].Name] {
			all[i].Secret, all[i].Value = true, ""
		}
	}
	return all
}

func (p *shellPart) onChangeVariable(m changeVariableMsg) {
	if p.j.st.exit != nil || p.watch == nil {
		m.fail(p.j.VariablesAreFixed())
		return
	}
	if err := p.integrated(); err != nil {
		m.fail(err)
		return
	}
	if err := p.lease.refuseOthers(m.owner); err != nil {
		m.fail(err)
		return
	}
	if err := p.j.mgr.refuseUnasked(ActionStart, p.j.id); err != nil {
		m.fail(err) // This is treated like a start: a shell runs the code in PROMPT_COMMAND and similar variables.
		return
	}
	s := p.watch
	code := changeCode(s.kind, m.name, m.value)
	if code == "" {
		m.fail(Invalid("/name", "%s does not allow this variable name: it must begin with a letter or _ and contain only letters, digits and _", s.kind))
		return
	}
	if p.j.mgr.settings.confirm.Start == VerdictAsk && !m.allowed {
		p.confirmChange(m)
		return
	}
	if m.secret && m.value != nil {
		p.j.hide(*m.value) // before the shell can print it
	}
	note := func(exit int) {
		if exit == 0 {
			s.secrets[m.name] = m.secret && m.value != nil
		}
	}
	p.askShell(&shellTask{code: code, tok: m.tok, owner: m.owner, late: note, done: func(exit int, err *Error) {
		switch {
		case err != nil:
			m.fail(err)
		case exit != 0:
			m.fail(errorf(CodeUnsupported, "the shell of job %d did not accept the value (status %d): the variable may be read-only", p.j.id, exit).named("handle", "/name"))
		default:
			note(exit)
			m.ok(struct{}{})
		}
	}})
}

// changeCode returns the code by which a shell sets a variable, or unsets it if value is nil. It returns "" if the
// shell cannot have a variable of that name.
func changeCode(kind shellmark.Shell, name string, value *string) string {
	if value == nil {
		return kind.UnsetVariable(name)
	}
	return kind.SetVariable(name, *value)
}

// confirmChange asks the person at the client about the change of a variable. It does not show secret values.
func (p *shellPart) confirmChange(m changeVariableMsg) {
	if err := p.taskRefused(); err != nil {
		m.fail(err)
		return
	}
	shown := m.value
	if shown != nil && IsSecret(m.name, m.secret) {
		hidden := redact.Mark
		shown = &hidden
	}
	code, cwd := changeCode(p.watch.kind, m.name, shown), p.j.place
	p.asking.askAbout(m, func() (*Question, *Error) {
		return p.asking.question(ActionStart, m.asker, p.j.id, code, cwd, roots.Found{Why: "a shell runs the values of some variables"})
	})
}

// named sets the name and the pointer that the error is about.
func (e *Error) named(name, pointer string) *Error {
	e.Name, e.Pointer = name, pointer
	return e
}
