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
func (p *shellPart) askShell(t *shellTask) {
	p.j.actor.lock.Check()
	if err := p.taskRefused(); err != nil {
		t.done(0, err)
		return
	}
	t.until = time.Now().Add(p.j.mgr.system.askTime)
	p.watch.tasks = append(p.watch.tasks, t)
}

// taskRefused says why a shell takes no code of the server's now; nil: it does.
func (p *shellPart) taskRefused() *Error {
	s := p.watch
	switch {
	case s.session.Phase() == shellmark.PhaseRunning:
		return p.notAsked("is running " + p.nowRuns())
	case s.session.Typing():
		return p.notAsked("is reading a command that is being typed")
	case len(s.tasks) >= mostExecs:
		return p.notAsked(fmt.Sprintf("has %d questions waiting for it already", len(s.tasks)))
	}
	return nil
}

// notAsked refuses a question to a shell that cannot answer it now.
func (p *shellPart) notAsked(why string) *Error {
	cure := "ask again when it reads a line, or interrupt it with job/signal INT"
	if p.watch.starts() && p.j.st.status != StatusStopped {
		_, cure = p.startKeeps()
	}
	e := errorf(CodeShellBusy, "the shell of job %d %s; %s", p.j.id, why, cure)
	e.Handle = p.j.id
	return e
}

// popTask takes the first one away.
func (p *shellPart) popTask() *shellTask {
	t := p.watch.tasks[0]
	p.watch.tasks = p.watch.tasks[1:]
	return t
}

// giveUpTask answers one that is not answered. Where the shell has its code already, that
// stays until it has run: what the shell says next is about that.
func (p *shellPart) giveUpTask(t *shellTask, err *Error) {
	s := p.watch
	if s.session.Has(shellmark.PhaseHidden) && s.tasks[0] == t {
		t.given = true
	} else {
		s.tasks = slices.DeleteFunc(s.tasks, func(o *shellTask) bool { return o == t })
	}
	t.done(0, err)
}

// reviewTasks gives up those whose time is over.
func (p *shellPart) reviewTasks(now time.Time) {
	for _, t := range slices.Clone(p.watch.tasks) {
		if !t.given && !now.Before(t.until) {
			p.giveUpTask(t, p.notAsked(fmt.Sprintf("%s, and has not answered within %v", p.keepsAsking(t), p.j.mgr.system.askTime)))
		}
	}
}

// keepsAsking says what a shell does that a question waits for.
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

// tasksUntil is when the first of them is given up; zero: none waits.
func (s *shellWatch) tasksUntil() (t time.Time) {
	for _, task := range s.tasks {
		if !task.given {
			t = earliest(t, task.until)
		}
	}
	return t
}

// ran takes it that the code has run.
func (p *shellPart) ran(seq int64, exit int) {
	s := p.watch
	hidden, doubted := s.session.OnRan(seq)
	if r := s.handed(doubted); r != nil {
		p.notBegun(r) // The shell has told all that it knows, and nothing of this one.
	}
	if hidden && len(s.tasks) > 0 { // else nobody waits since the shell is gone
		p.popTask().answer(exit, nil)
	}
}

// cancelTask withdraws one. Code that the shell has already runs all the same.
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

// failTasks answers those that wait.
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
	late := func(int) { f.dropScratch() }
	p.askShell(&shellTask{code: p.watch.kind.DumpEnvironment(f.scratchPath), tok: m.tok, late: late, done: func(exit int, err *Error) {
		var text []byte
		switch {
		case err == nil:
			text, err = f.takeScratch()
		case err.Code == CodeShellIntegrationUnavailable && p.watch.session.Phase() == shellmark.PhaseGone:
			err = p.variablesUnknown()
		}
		switch {
		case err != nil:
			m.reply.fail(err)
		case exit != 0 || len(text) == 0:
			m.reply.fail(errorf(CodeInternal, "the shell of job %d could not tell its environment (status %d)", p.j.id, exit))
		default:
			m.reply.ok(p.variables(text))
		}
	}})
}

// variablesUnknown refuses to tell what a shell had that is not there any more.
func (p *shellPart) variablesUnknown() *Error {
	e := errorf(CodeShellIntegrationUnavailable, "what variables job %d has by now nobody can know: %s; have the program that is there print them, with job/write", p.j.id, p.watch.why)
	e.Handle = p.j.id
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

// variables are NAME=value with a NUL behind each, with where they come from: of what is
// as it was when the job started, as then.
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
	if err := p.j.mgr.refuseUnasked(ActionStart, p.j.id); err != nil {
		m.fail(err) // It is as a start: a shell runs what PROMPT_COMMAND and others have.
		return
	}
	s := p.watch
	code := changeCode(s.kind, m.name, m.value)
	if code == "" {
		m.fail(Invalid("/name", "%s has no variables of that name: it must begin with a letter or _, and have nothing else but those and digits", s.kind))
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
	p.askShell(&shellTask{code: code, tok: m.tok, late: note, done: func(exit int, err *Error) {
		switch {
		case err != nil:
			m.fail(err)
		case exit != 0:
			m.fail(errorf(CodeUnsupported, "the shell of job %d did not take it (status %d): the variable may be read-only", p.j.id, exit).named("handle", "/name"))
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
	code, cwd := changeCode(p.watch.kind, m.name, shown), p.j.starting.place
	p.j.asking.askAbout(m, func() (*Question, *Error) {
		return p.j.asking.question(ActionStart, m.asker, p.j.id, code, cwd, roots.Found{Why: "a shell runs what some variables say"})
	})
}

// named sets what the refusal is about.
func (e *Error) named(name, pointer string) *Error {
	e.Name, e.Pointer = name, pointer
	return e
}
