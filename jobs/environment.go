package jobs

import (
	"maps"
	"strings"
	"sync"

	"shelld/jobs/internal/proc"
)

// What a job is started with, each layer on top of the one before:
//
//	the server's own, or what the login shell makes of it, as the policy lets through
//	the profile that the start names
//	what the policy sets
//	what the client has set and unset since: SetVariable, UnsetVariable
//	PWD, and TERM on a terminal
//	the start's own
//
// A profile and TERM stand back where the policy or the client has said something of the
// same name: they are defaults.

// A Variable is one of an environment, with where it comes from.
type Variable struct {
	proc.Variable
	// Secret says that the value is for jobs alone: the client has said so, or the name
	// looks like it. Whoever tells of the variable leaves the value out.
	Secret bool
}

// An inheritance is what is not the client's of an environment. It is immutable, but for what
// is found out once: what the policy says takes longer than a short command.
type inheritance struct {
	server []string
	policy EnvPolicy
	login  *login // nil: not asked for

	once sync.Once
	vars []proc.Variable
}

// An environment is what the starts of a time are given: a change makes another one, so
// that a start gets what was in effect when it was read.
type environment struct {
	*inheritance
	client map[string]change // by name as it compares

	once sync.Once
	vars []proc.Variable // without what the start adds; see variables
}

// A change is what the client has said of a variable.
type change struct {
	name   string
	value  *string // nil: unset
	secret bool
}

// The bounds of what a client may set: beyond them no program could be started, or the server
// would hold more than it can give anybody.
const (
	maxVariables     = 1024
	maxVariablesText = 1 << 20 // bytes of all names and values
)

// variables are those that are passed on, and those that the policy sets. It waits for the
// login shell where that is asked.
func (i *inheritance) variables() []proc.Variable {
	i.once.Do(func() {
		var base []proc.Variable
		if i.login != nil && i.login.taken() {
			base = i.login.mark(proc.Inherited(i.login.entries, i.policy, proc.FromLogin), i.server)
		} else {
			base = proc.Inherited(i.server, i.policy, proc.FromServer)
		}
		set := make(map[string]*string, len(i.policy.Set)+1)
		for name, value := range i.policy.Set {
			set[name] = &value
		}
		set["PWD"] = nil // which every job has from its own directory
		i.vars = proc.Compose(base, proc.Layer{Source: proc.FromPolicy, Vars: set})
	})
	return i.vars
}

// variables are what every start gets. It waits as that of the inheritance does.
func (e *environment) variables() []proc.Variable {
	e.once.Do(func() {
		changes := make(map[string]*string, len(e.client))
		for _, c := range e.client {
			changes[c.name] = c.value
		}
		e.vars = proc.Compose(e.inheritance.variables(), proc.Layer{Source: proc.FromClient, Vars: changes})
	})
	return e.vars
}

// isSaid says whether the policy or the client has said something of a variable.
func (e *environment) isSaid(name string) bool {
	if _, ok := e.client[proc.NameKey(name)]; ok {
		return true
	}
	for set := range e.policy.Set {
		if proc.NameKey(set) == proc.NameKey(name) {
			return true
		}
	}
	return false
}

// forJob are the variables of a job that starts in a directory and a mode.
func (e *environment) forJob(s *Spec, mode Mode, dir string) []proc.Variable {
	defaults := func(vars map[string]string) map[string]*string {
		m := make(map[string]*string, len(vars))
		for name, value := range vars {
			if !e.isSaid(name) {
				m[name] = &value
			}
		}
		return m
	}
	builtin := map[string]*string{}
	if mode == ModePTY {
		builtin = defaults(map[string]string{"TERM": "xterm-256color"})
	}
	builtin["PWD"] = &dir
	return proc.Compose(e.variables(),
		proc.Layer{Source: proc.FromProfile, Vars: defaults(profiles[s.Profile])},
		proc.Layer{Source: proc.FromBuiltin, Vars: builtin},
		proc.Layer{Source: proc.FromStart, Vars: s.Env})
}

// told are variables as they may be told to a client: one may have the value of a secret one
// in its own.
func (e *environment) told(vars []proc.Variable, hidden *redaction) []Variable {
	all := make([]Variable, len(vars))
	for i, v := range vars {
		all[i] = Variable{v, IsSecret(v.Name, v.Source == proc.FromClient && e.client[proc.NameKey(v.Name)].secret)}
		if all[i].Value = hidden.text(v.Value); all[i].Secret {
			all[i].Value = ""
		}
	}
	return all
}

// An Environment is what is known of an environment by now.
type Environment struct {
	of     *environment
	hidden *redaction // what is secret in all jobs
}

// Environment is what jobs start with that start from now on.
func (m *Manager) Environment() Environment {
	m.registry.mu.Lock()
	of := m.env
	m.registry.mu.Unlock()
	return Environment{of, m.redactionOf(0)} // after it: a value is secret before it is set
}

// Variables are those that every start gets. Where the login shell is asked, it waits for
// that, or until cancel is closed.
func (e Environment) Variables(cancel <-chan struct{}) ([]Variable, *LoginReport, *Error) {
	var report *LoginReport
	if l := e.of.login; l != nil {
		if err := l.wait(cancel); err != nil {
			return nil, nil, err
		}
		report = &l.report
	}
	return e.of.told(e.of.variables(), e.hidden), report, nil
}

// Tell is a value as it may be told to a client.
func (e Environment) Tell(value string) string { return e.hidden.text(value) }

// FindVariable is the variable of a name; nil: there is none.
func FindVariable(vars []Variable, name string) *Variable {
	key := proc.NameKey(name)
	for i := range vars {
		if proc.NameKey(vars[i].Name) == key {
			return &vars[i]
		}
	}
	return nil
}

// SetVariable gives a variable to all jobs that start from now on. A secret one is never told
// to anybody but to jobs, and taken out of all that comes of them.
func (m *Manager) SetVariable(name, value string, secret bool) *Error {
	if err := checkVariable(name, &value); err != nil {
		return err
	}
	if !secret {
		err := m.change(change{name, &value, false})
		if err == nil {
			m.RemoveSecret(proc.NameKey(name))
		}
		return err
	}
	old, was := m.vault.value(proc.NameKey(name))
	if err := m.SetSecret(proc.NameKey(name), value); err != nil {
		return err // before a job can have it
	}
	err := m.change(change{name, &value, true})
	switch {
	case err == nil:
	case was:
		_ = m.SetSecret(proc.NameKey(name), old) // There was room for it.
	default:
		m.RemoveSecret(proc.NameKey(name))
	}
	return err
}

// UnsetVariable takes a variable from all jobs that start from now on, wherever they would
// have had it from.
func (m *Manager) UnsetVariable(name string) *Error {
	if err := checkVariable(name, nil); err != nil {
		return err
	}
	err := m.change(change{name: name})
	if err == nil {
		m.RemoveSecret(proc.NameKey(name))
	}
	return err
}

// change makes the environment with one change more.
func (m *Manager) change(c change) *Error {
	m.registry.mu.Lock()
	defer m.registry.mu.Unlock()
	if isClosed(m.end.begun) {
		return errClosedServer()
	}
	client := maps.Clone(m.env.client)
	if client == nil {
		client = map[string]change{}
	}
	client[proc.NameKey(c.name)] = c
	if err := checkChanges(client); err != nil {
		return err
	}
	m.env = &environment{inheritance: m.env.inheritance, client: client}
	return nil
}

// checkVariable refuses what no job can be given. No message has the value in it: it may be a
// secret.
func checkVariable(name string, value *string) *Error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return Invalid("/name", "%q cannot be the name of a variable: it must not be empty, nor contain = or NUL", name)
	case proc.NameKey(name) == "PWD":
		return Invalid("/name", "every job gets PWD from the directory in which it starts; give cwd to its start instead")
	case value != nil && strings.ContainsRune(*value, 0):
		return Invalid("/value", "must not contain a NUL character")
	case value != nil && len(name)+len(*value)+len("=\x00") > proc.MaxVariable:
		e := errorf(CodeLimitExceeded, "the system takes no variable of more than %d bytes, its name included; put the value into a file, and give its path", proc.MaxVariable-len("=\x00"))
		e.Limit, e.Max = "variableBytes", int64(proc.MaxVariable-len("=\x00"))
		return e
	}
	return nil
}

// checkChanges bounds what a client sets.
func checkChanges(client map[string]change) *Error {
	if len(client) > maxVariables {
		e := errorf(CodeLimitExceeded, "%d variables are set or unset, as many as there may be; give those that one job needs to its start, as env", maxVariables)
		e.Limit, e.Max = "variables", maxVariables
		return e
	}
	text := 0
	for _, c := range client {
		text += len(c.name)
		if c.value != nil {
			text += len(*c.value)
		}
	}
	if text > maxVariablesText {
		e := errorf(CodeLimitExceeded, "the variables that are set would take more than %d bytes; unset some that no job needs any more, or set a path to a file", maxVariablesText)
		e.Limit, e.Max = "variablesBytes", maxVariablesText
		return e
	}
	return nil
}

// IsSecret says whether the value of a variable is for jobs alone.
func IsSecret(name string, said bool) bool { return said || proc.LooksSecret(name) }

// A profile is a set of variables that fits a kind of use. Nothing else depends on it.

// The profiles that a start can name.
const (
	ProfileInteractive = "interactive" // a person is at the client: nothing is set
	ProfileAgent       = "agent"       // a program is, which nothing shall wait for
)

// noEditor is a command that fails, for programs that start an editor for somebody.
const noEditor = `sh -c 'echo "there is nobody here to edit a file: give the text as an argument or in a file" >&2; exit 1' editor`

// profiles is THE table of what profiles set: no pager, an editor that fails and says so, no
// colours, no questions.
var profiles = map[string]map[string]string{
	ProfileInteractive: {},
	ProfileAgent: {
		"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat", "AWS_PAGER": "",
		"EDITOR": noEditor, "VISUAL": noEditor, "GIT_EDITOR": noEditor, "GIT_SEQUENCE_EDITOR": noEditor,
		"NO_COLOR": "1", "CLICOLOR": "0",
		"GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never", "DEBIAN_FRONTEND": "noninteractive",
		"PIP_NO_INPUT": "1", "COMPOSER_NO_INTERACTION": "1",
	},
}

// Profiles are the variables that each profile sets, by its name.
func Profiles() map[string]map[string]string {
	all := make(map[string]map[string]string, len(profiles))
	for name, vars := range profiles {
		all[name] = maps.Clone(vars)
	}
	return all
}
