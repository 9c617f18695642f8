package jobs

import (
	"maps"
	"strings"
	"sync"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
)

// The environment of a job has these layers, each on top of the one before:
//
//	the server's own environment, or that of the login shell, filtered by the policy
//	the profile that the start names
//	the variables that the policy sets
//	the variables that the client has set and unset since: SetVariable, UnsetVariable
//	PWD, and TERM on a terminal
//	the start's own variables
//
// A profile and TERM are defaults: they do not apply to a variable that the policy or the client has set or unset.

// A Variable is a variable of an environment, with its source.
type Variable struct {
	proc.Variable
	// Secret says that only jobs may get the value, because the client has said so or because of the name. Reports of
	// the variable leave the value out.
	Secret bool
}

// An inheritance is the part of an environment that the client has not set. It is immutable, except that its variables
// are computed at first use: applying the policy takes longer than a short command.
type inheritance struct {
	server []string
	policy EnvPolicy
	login  *login // nil: the login shell is not asked

	once sync.Once
	vars []proc.Variable
}

// A LoginReport describes how the login shell was asked.
type LoginReport struct {
	Shell    string // its path; "" = not known
	Taken    bool
	Reason   string // why it was not taken, in words for people
	Duration time.Duration
}

// A login is the environment of the login shell, which may still be pending.
type login struct {
	done chan struct{} // closed when the fields below are set
	// Immutable from then on:
	entries []string // NAME=value
	report  LoginReport
}

// An environment is the immutable environment of starts. A change makes a new one, so that a start uses the one that
// was in effect when the start was read.
type environment struct {
	*inheritance
	client map[string]change // by the name's key (proc.NameKey)

	once sync.Once
	vars []proc.Variable // without the variables of each start; see variables
}

// A change is a variable that the client has set or unset.
type change struct {
	name   string
	value  *string // nil: unset
	secret bool
}

// The limits for the variables of a client: beyond them no program could be started, or the server would hold more
// variables than it can pass on.
const (
	maxVariables     = 1024
	maxVariablesText = 1 << 20 // bytes of all names and values
)

// variables returns the variables that are passed on and those that the policy sets. If the login shell is asked, it
// waits for its answer.
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
		set["PWD"] = nil // every job gets it from its own directory
		i.vars = proc.Compose(base, proc.Layer{Source: proc.FromPolicy, Vars: set})
	})
	return i.vars
}

// variables returns the variables that every start gets. It waits as that of the inheritance does.
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

// isSaid reports whether the policy or the client has set or unset a variable.
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

// forJob returns the variables of a job that starts in the given mode and directory.
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

// told returns variables as they may be reported to a client: the value of one may contain that of a secret one.
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

// An Environment is a snapshot of the environment of jobs.
type Environment struct {
	of     *environment
	hidden *redaction // the values that are secret in all jobs
}

// Variables returns the variables that every start gets. If the login shell is asked, it waits for the answer, or until
// cancel is closed.
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

// Tell returns a value as it may be reported to a client.
func (e Environment) Tell(value string) string { return e.hidden.text(value) }

// FindVariable returns the variable of that name, or nil.
func FindVariable(vars []Variable, name string) *Variable {
	key := proc.NameKey(name)
	for i := range vars {
		if proc.NameKey(vars[i].Name) == key {
			return &vars[i]
		}
	}
	return nil
}

// checkVariable refuses a variable that no job can get. Its errors do not contain the value, which may be secret.
func checkVariable(name string, value *string) *Error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return Invalid("/name", "%q cannot be the name of a variable: it must not be empty, nor contain = or NUL", name)
	case proc.NameKey(name) == "PWD":
		return Invalid("/name", "PWD is set to the directory in which a job starts; give cwd to its start instead")
	case value != nil && strings.ContainsRune(*value, 0):
		return Invalid("/value", "must not contain a NUL character")
	case value != nil && len(name)+len(*value)+len("=\x00") > proc.MaxVariable:
		e := errorf(CodeLimitExceeded, "a variable can have at most %d bytes, its name included; put the value into a file and give its path", proc.MaxVariable-len("=\x00"))
		e.Limit, e.Max = "variableBytes", int64(proc.MaxVariable-len("=\x00"))
		return e
	}
	return nil
}

// checkChanges checks the limits for the variables of a client.
func checkChanges(client map[string]change) *Error {
	if len(client) > maxVariables {
		e := errorf(CodeLimitExceeded, "%d variables are set or unset, the most allowed; give variables that only one job needs in its start, as env", maxVariables)
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
		e := errorf(CodeLimitExceeded, "the variables would take more than %d bytes; unset some that no job needs, or put a value into a file and set its path", maxVariablesText)
		e.Limit, e.Max = "variablesBytes", maxVariablesText
		return e
	}
	return nil
}

// IsSecret reports whether only jobs may get the value of a variable. said: the client has said so.
func IsSecret(name string, said bool) bool { return said || proc.LooksSecret(name) }

// A profile is a set of variables for a kind of use. Nothing else depends on it.

// The profiles that a start can name.
const (
	ProfileInteractive = "interactive" // a person is at the client: nothing is set
	ProfileAgent       = "agent"       // a program is at the client: commands must not wait for a person
)

// noEditor is a command that fails, for programs that start an editor for a person.
const noEditor = `sh -c 'echo "no editor is available: give the text as an argument or in a file" >&2; exit 1' editor`

// profiles is the only table of the variables that profiles set: no pager, an editor that fails with an error, no
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

// Profiles returns the variables that each profile sets, by its name.
func Profiles() map[string]map[string]string {
	all := make(map[string]map[string]string, len(profiles))
	for name, vars := range profiles {
		all[name] = maps.Clone(vars)
	}
	return all
}

// taken waits until the login shell has answered, and reports whether its environment was taken.
func (l *login) taken() bool {
	<-l.done // bounded by the time limit of the inquiry
	return l.report.Taken
}

// wait waits until the login shell has answered, or until cancel is closed.
func (l *login) wait(cancel <-chan struct{}) *Error {
	select {
	case <-l.done:
		return nil
	case <-cancel:
		return errorf(CodeCanceled, "the request was cancelled; the login shell still runs")
	}
}

// mark distinguishes the variables that the shell has set or changed from those that it inherited: it marks the
// inherited ones as the server's.
func (l *login) mark(vars []proc.Variable, server []string) []proc.Variable {
	had := make(map[string]bool, len(server))
	for _, entry := range server {
		had[entry] = true
	}
	for i, v := range vars {
		if had[v.Name+"="+v.Value] {
			vars[i].Source = proc.FromServer
		}
	}
	return vars
}

// An EnvPolicy selects the variables of the server's own environment that jobs get.
type EnvPolicy = proc.EnvPolicy
