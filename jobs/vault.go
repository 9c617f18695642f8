package jobs

import (
	"slices"
	"sync"

	"shelld/jobs/internal/redact"
)

// Secret values are replaced by *** in all that comes of a job, before it is stored: nobody
// who reads output, events, files, errors or the log sees them.
//
//	SetSecret     -> vault   -> every job, those that run as well
//	AnswerSecret  -> the one that has asked for it (redaction.go)
//
// They are in memory alone, and no method gives them back.

// A vault has the values that are secret in all jobs.
type vault struct {
	mu     sync.Mutex
	values map[string]string // by the names of those who have set them
	set    *redact.Set       // of all; nil: there are none

	changing sync.Mutex // held to change a value and tell the jobs of it, which must be told in that order
}

// What secrets there may be at a time: each byte costs some 25 bytes of memory, up to four
// times as many where a value has several lines, and each value some of the speed at which
// output is read.
const (
	MaxSecrets     = 1000
	MaxSecretBytes = 256 << 10 // of all together
)

// SetSecret makes a value secret under a name, in place of the one that was. Jobs that run
// take it out of what they write from now on, and go on taking out the one that was.
func (m *Manager) SetSecret(name, value string) *Error {
	if len(redact.Forms(value)) == 0 {
		return Invalid("/value", "a secret value must have %d bytes or more, without white space around it: a shorter one would be taken out of too much of all output that has it by chance; give a longer one, or set it without secret", redact.MinLength)
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

// RemoveSecret has the value with a name be no secret in jobs that start later, and says
// whether there was one. Those that run have been given it, and go on taking it out.
func (m *Manager) RemoveSecret(name string) bool {
	m.vault.changing.Lock()
	defer m.vault.changing.Unlock()
	if _, was := m.vault.value(name); !was {
		return false
	}
	m.changeSecret(name, func(values map[string]string) { delete(values, name) })
	return true
}

// SecretNames are the names under which there are secret values.
func (m *Manager) SecretNames() []string { return m.vault.names() }

// changeSecret changes what is in the vault under a name. The caller has changing.
func (m *Manager) changeSecret(name string, change func(map[string]string)) {
	old, _ := m.vault.value(name)
	tell := func() {
		for _, j := range m.All() {
			j.hide(old)
		}
	}
	tell() // before it is gone from there
	m.vault.change(change)
	tell() // of the new one, and those of the old one that have started meanwhile
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

// roomFor refuses what would be too much.
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
	e := errorf(CodeLimitExceeded, "there are as many secret values as the server looks for in output (%s: %d); unset some, or set this one without secret", limit, most)
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

// with returns the set of all values and some others; nil where there are none.
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
