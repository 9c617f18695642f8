package jobs

import (
	"maps"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/redact"
)

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
