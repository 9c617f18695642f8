package jobs

import (
	"slices"
	"sync"

	"shelld/jobs/internal/redact"
)

// Secret values are replaced by *** in all data that comes from a job, before it is stored. No reader of output,
// events, files, errors or the log sees them.
//
//	SetSecret     -> vault   -> every job, including running ones
//	AnswerSecret  -> the job that has asked for it (redaction.go)
//
// They are kept only in memory, and no method returns them.

// A vault holds the values that are secret in all jobs.
type vault struct {
	mu     sync.Mutex
	values map[string]string // by the name under which each was set
	set    *redact.Set       // of all values; nil: there are none

	changing sync.Mutex // held while a value changes and the jobs get the change, so that they get all in order
}

// The limits for secrets at a time. Each byte costs about 25 bytes of memory, and up to four times as many if the value
// has several lines. Each value makes the reading of output a little slower.
const (
	MaxSecrets     = 1000
	MaxSecretBytes = 256 << 10 // of all values together
)

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

func (v *vault) value(name string) (value string, is bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, is = v.values[name]
	return value, is
}

func (v *vault) names() (all []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name := range v.values {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// roomFor returns an error if the value under this name would exceed a limit.
func (v *vault) roomFor(name, value string) *Error {
	v.mu.Lock()
	defer v.mu.Unlock()
	bytes, others := int64(len(value)), 0
	for n, other := range v.values {
		if n != name {
			bytes += int64(len(other))
			others++
		}
	}
	limit, most := "", int64(0)
	switch {
	case others >= MaxSecrets:
		limit, most = "secrets", MaxSecrets
	case bytes > MaxSecretBytes:
		limit, most = "secretBytes", MaxSecretBytes
	default:
		return nil
	}
	e := errorf(CodeLimitExceeded, "the limit on secret values is reached (%s: %d); unset some, or set this one without secret", limit, most)
	e.Limit, e.Max = limit, most
	return e
}

func (v *vault) change(change func(map[string]string)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values == nil {
		v.values = map[string]string{}
	}
	change(v.values)
	v.set = v.compile(nil)
}

// with returns the set of all values in the vault and the given others; nil if there are none.
func (v *vault) with(others []string) *redact.Set {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(others) == 0 {
		return v.set
	}
	return v.compile(others)
}

func (v *vault) compile(others []string) *redact.Set {
	var forms []string
	for _, value := range v.values {
		forms = append(forms, redact.Forms(value)...)
	}
	for _, value := range others {
		forms = append(forms, redact.Forms(value)...)
	}
	if len(forms) == 0 {
		return nil
	}
	return redact.New(forms)
}
