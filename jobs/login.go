package jobs

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/redact"
)

// A server that an editor or a desktop has started often lacks the variables that the user's start files set, above all
// PATH. So the server can ask the login shell, once, for the environment that it makes from the server's own:
//
//	SHELL -l -i -c "print a mark; /usr/bin/env -0; print the mark"
//
// Other output of start files is not part of the answer. Processes that they leave running are ended, like those that a
// job leaves. If the shell fails, hangs or prints too much, starts get the server's own environment, and requests for
// the environment return the reason.

// AsksLogin reports whether this system has login shells.
const AsksLogin = runtime.GOOS != "windows"

// loginBytes is larger than any environment that a program can be given.
const loginBytes = 8 << 20

// resolving is a variable that identifies this server to start files, so that they can leave out slow steps.
const resolving = "SHELLD_RESOLVING_ENVIRONMENT"

// ofTheShell lists the variables that describe the shell that was asked, and not the environment that it would give to
// programs.
var ofTheShell = []string{"_", "SHLVL", "PWD", "OLDPWD", "TERM", resolving}

// askLogin begins to ask the login shell.
func (m *Manager) askLogin(limit time.Duration) *login {
	l := &login{done: make(chan struct{})}
	began := time.Now()
	conclude := func(entries []string, err error) {
		l.entries = entries
		l.report.Taken, l.report.Duration = err == nil, time.Since(began)
		if err != nil {
			l.report.Reason = err.Error()
			m.log.Warn("the login shell's environment could not be read; jobs get the server's own", "shell", l.report.Shell, "why", err)
		}
		close(l.done)
	}
	l.report.Shell = proc.LoginShell(m.own.environment)
	q, mark, err := loginInquiry(l.report.Shell, m.own.environment)
	if err != nil {
		conclude(nil, err)
		return l
	}
	q.limit = limit
	m.inquire(q, func(output []byte, err error) {
		if err != nil {
			conclude(nil, loginError(l.report.Shell, limit, err))
			return
		}
		entries, ok := marked(output, mark)
		if !ok {
			err = fmt.Errorf("%s ended without printing its environment; make sure that its start-up files do not call exit or exec", l.report.Shell)
		}
		conclude(ours(entries, m.own.environment), err)
	})
	return l
}

// loginInquiry returns the command for the login shell, and the mark that encloses its answer.
func loginInquiry(shell string, env []string) (q inquiry, mark string, err error) {
	if !AsksLogin {
		return q, "", errors.New("there are no login shells on this system")
	}
	if shell == "" {
		return q, "", errors.New("the login shell is unknown; set SHELL for the server")
	}
	if err := checkRunnable(shell); err != nil {
		return q, "", fmt.Errorf("the login shell %s cannot be run (%s); set SHELL for the server to one that can", shell, errnoText(err))
	}
	printer, err := proc.LookPath("env", "/", env)
	if err != nil {
		return q, "", errors.New("there is no program env on the server's PATH to print the environment")
	}
	one, other := rand.Text(), rand.Text() // separate in the command line, since a shell may be set to print that line
	if strings.ContainsAny(printer, `'\`) {
		return q, "", fmt.Errorf("the path of %s cannot be written in a command line", printer)
	}
	show := fmt.Sprintf("printf %%s%%s %s %s", one, other)
	args, ok := proc.LoginArgs(shell, fmt.Sprintf("%s; '%s' -0; %s", show, printer, show))
	if !ok {
		return q, "", fmt.Errorf("%s is not a supported login shell (bash, zsh, fish, ksh, dash and the like)", shell)
	}
	q = inquiry{path: shell, argv: append([]string{shell}, args...), most: loginBytes}
	q.dir = home(env)
	q.env = append(env[:len(env):len(env)], "TERM=dumb", resolving+"=1")
	return q, one + other, nil
}

// home returns the directory in which the user's own shells begin. It is "" if that is not known.
func home(env []string) string {
	dir, _ := proc.Getenv(env, "HOME")
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// checkRunnable returns the reason why a file cannot be executed.
func checkRunnable(path string) error {
	_, err := proc.LookPath(path, "/", nil)
	var le *proc.LookError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

func loginError(shell string, limit time.Duration, err error) error {
	switch {
	case errors.Is(err, errInquiryLate):
		return fmt.Errorf("%s did not end within %d ms; check what its start-up files wait for, or raise env.login.timeoutMs", shell, limit.Milliseconds())
	case errors.Is(err, errInquiryTooLong):
		return fmt.Errorf("%s printed more than %d bytes; check what its start-up files print", shell, loginBytes)
	}
	return fmt.Errorf("%s: %w", shell, err)
}

// marked returns the entries between the last two marks: NAME=value, each terminated by a NUL. It leaves out entries
// that cannot be variables.
func marked(output []byte, mark string) (entries []string, ok bool) {
	end := bytes.LastIndex(output, []byte(mark))
	if end < 0 {
		return nil, false
	}
	begin := bytes.LastIndex(output[:end], []byte(mark))
	if begin < 0 {
		return nil, false
	}
	for entry := range strings.SplitSeq(string(output[begin+len(mark):end]), "\x00") {
		name, _, isVariable := strings.Cut(entry, "=")
		if isVariable && name != "" && !strings.ContainsFunc(name, unicode.IsControl) {
			entries = append(entries, entry)
		}
	}
	return entries, len(entries) > 0
}

// ours returns the entries of the login shell, except those that describe the shell itself. For these it returns the
// server's.
func ours(entries, server []string) (all []string) {
	isShells := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		for _, of := range ofTheShell {
			if name == of {
				return true
			}
		}
		return false
	}
	for _, e := range entries {
		if !isShells(e) {
			all = append(all, e)
		}
	}
	for _, e := range server {
		if isShells(e) {
			all = append(all, e)
		}
	}
	return all
}

// The variables and the secret values that the client sets for all jobs.

// newEnvironment returns the environment that jobs start with according to the options.
func (m *Manager) newEnvironment(o Options) *environment {
	i := &inheritance{server: m.own.environment, policy: o.Env}
	if o.Login > 0 {
		i.login = m.askLogin(o.Login)
	}
	return &environment{inheritance: i}
}

// Environment returns the environment of jobs that start from now on.
func (m *Manager) Environment() Environment {
	m.registry.mu.Lock()
	of := m.env
	m.registry.mu.Unlock()
	return Environment{of, m.redactionOf(0)} // after env was read: a value becomes secret before it is set
}

// SetVariable sets a variable for all jobs that start from now on. The value of a secret one is given only to jobs, and
// removed from their output and all reports on them.
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

// UnsetVariable removes a variable from all jobs that start from now on, whatever its source.
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

// change makes a new environment with one more change.
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

// SetSecret makes a value secret under a name, and replaces the previous value. From now on, running jobs remove it
// from their output. They go on removing the previous value as well.
func (m *Manager) SetSecret(name, value string) *Error {
	if len(redact.Forms(value)) == 0 {
		return Invalid("/value", "a secret value needs at least %d bytes, not counting white space around it: a shorter one would redact too much unrelated output; give a longer one, or set it without secret", redact.MinLength)
	}
	m.vault.changing.Lock()
	defer m.vault.changing.Unlock()
	if now, is := m.vault.value(name); is && now == value {
		return nil
	}
	if err := m.vault.roomFor(name, value); err != nil {
		return err
	}
	m.changeSecret(name, func(values map[string]string) { values[name] = value })
	return nil
}

// RemoveSecret removes the value with a name: jobs that start later do not treat it as a secret. It reports whether
// there was one. Running jobs already have it, and go on removing it from their output.
func (m *Manager) RemoveSecret(name string) bool {
	m.vault.changing.Lock()
	defer m.vault.changing.Unlock()
	if _, was := m.vault.value(name); !was {
		return false
	}
	m.changeSecret(name, func(values map[string]string) { delete(values, name) })
	return true
}

// SecretNames returns the names of the secret values.
func (m *Manager) SecretNames() []string { return m.vault.names() }

// changeSecret changes the value under a name in the vault, and updates all jobs. The caller must hold changing.
func (m *Manager) changeSecret(name string, change func(map[string]string)) {
	old, _ := m.vault.value(name)
	tell := func() {
		for _, j := range m.All() {
			j.hide(old)
		}
	}
	tell() // before the vault loses the old value
	m.vault.change(change)
	tell() // the new value to all jobs, and the old one to those that have started meanwhile
}

// Cleaner returns a function that removes a job's secret values from messages about the job. If there is no such job,
// it removes the values that are secret in all jobs. Cleaner returns nil if there are no secrets.
func (m *Manager) Cleaner(id ID) func(string) string {
	h := m.redactionOf(id)
	if h.set.Load() == nil {
		return nil
	}
	return h.message
}

// redactionOf returns the redaction of a job or, if the job is not known, one with the values that are secret in all
// jobs.
func (m *Manager) redactionOf(id ID) *redaction {
	m.registry.mu.Lock()
	j := m.registry.jobs[id]
	m.registry.mu.Unlock()
	if j != nil {
		return &j.redaction
	}
	return m.common()
}
