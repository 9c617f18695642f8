package jobs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"shelld.dev/shelld/jobs/internal/probe"
	"shelld.dev/shelld/jobs/internal/proc"
)

// A Syntax is the notation that a family of shells has for the parts of most command lines.
type Syntax = proc.Syntax

// SyntaxOf returns the syntax of a shell, given by its path or name; false if it is not known.
func SyntaxOf(pathOrName string) (Syntax, bool) { return proc.SyntaxOf(proc.FamilyOf(pathOrName)) }

// OSVersion returns the version of the system's kernel; "" = not known.
func OSVersion() string { return probe.OSVersion() }

// A ShellInfo describes an installed shell.
type ShellInfo struct {
	Name, Path string
	Target     string // the file that Path leads to, if it is a different one
	Family     string
	Version    string // "" = not known
	Default    bool   // it runs commands if a start names no shell
}

const (
	// shellTime is the time limit for a shell to print its version. Most need milliseconds, some a second.
	shellTime = 5 * time.Second
	// shellBytes is the maximum number of bytes that it may write in that time.
	shellBytes = 64 << 10
	// shellsAtOnce is the number of version probes that may run at a time.
	shellsAtOnce = 4
)

// DefaultShell returns the path of the shell that runs commands; "" = there is none. While the probe of the login
// shell runs, the server's own environment determines the shell.
func (m *Manager) DefaultShell() string {
	m.registry.mu.Lock()
	e := m.env
	m.registry.mu.Unlock()
	env := m.own.environment
	if e != nil && (e.login == nil || isClosed(e.login.done)) {
		env = proc.Environ(e.variables())
	}
	sh, err := proc.DefaultShell(env)
	if err != nil {
		return ""
	}
	return sh.Path
}

// Shells finds the shells that jobs can use, and runs each to get its version, unless that is known. It waits for the
// versions until cancel is closed, and then returns an error.
func (m *Manager) Shells(cancel <-chan struct{}) ([]ShellInfo, *Error) {
	m.registry.mu.Lock()
	e := m.env
	m.registry.mu.Unlock()
	if e.login != nil {
		if err := e.login.wait(cancel); err != nil {
			return nil, err
		}
	}
	env, plain := proc.Environ(e.variables()), m.plainEnv()
	byDefault := m.DefaultShell()
	found := proc.FindShells(env, byDefault, proc.ShellList())
	asked := make([]*shellVersion, len(found))
	for i, s := range found {
		asked[i] = m.askVersion(s, plain)
	}
	all := make([]ShellInfo, len(found))
	for i, s := range found {
		select {
		case <-asked[i].done:
		case <-cancel:
			return nil, errorf(CodeCanceled, "the request was cancelled")
		}
		all[i] = ShellInfo{
			Name: s.Name, Path: s.Path, Target: s.Target, Family: string(s.Family),
			Version: asked[i].version, Default: byDefault != "" && i == 0,
		}
	}
	return all, nil
}

// shellVersions caches the versions of shells. The key identifies the state of the shell's file at the time of the
// probe.
type shellVersions struct {
	mu    sync.Mutex
	known map[string]*shellVersion
	busy  chan struct{} // a token for each running probe
}

// A shellVersion is the result of a version probe, which may still be running.
type shellVersion struct {
	done    chan struct{}
	version string // set before done is closed; "" = not known
}

// fileKey returns a key for the present state of a shell's file: its names, size and modification time. It returns ""
// if the file cannot be examined.
func fileKey(s proc.Installed) string {
	path := s.Path
	if s.Target != "" {
		path = s.Target
	}
	fi, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s\x00%s\x00%d\x00%d", s.Name, path, fi.Size(), fi.ModTime().UnixNano())
}

// askVersion runs a shell to get its version, unless such a probe has run or is running. A failed probe, such as one
// that took too long, is repeated at the next call.
func (m *Manager) askVersion(s proc.Installed, env []string) *shellVersion {
	v := &shellVersion{done: make(chan struct{})}
	key := fileKey(s)
	if s.Ask == nil || key == "" {
		close(v.done)
		return v
	}
	c := &m.versions
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[key]; known != nil {
		return known
	}
	if c.known == nil {
		c.known, c.busy = map[string]*shellVersion{}, make(chan struct{}, shellsAtOnce)
	}
	c.known[key] = v
	q := inquiry{path: s.Path, argv: append([]string{s.Name}, s.Ask...), env: env, merge: true, limit: shellTime, most: shellBytes}
	go func() {
		c.busy <- struct{}{}
		m.inquire(q, func(output []byte, err error) {
			<-c.busy
			if err != nil {
				m.log.Info("the version of a shell is unknown", "shell", s.Path, "why", err)
				c.mu.Lock()
				delete(c.known, key)
				c.mu.Unlock()
			}
			v.version = versionIn(output)
			close(v.done)
		})
	}()
	return v
}

// plainEnv returns the environment of a program that the server runs without a client's request. It has only the
// variables that a login shell needs. It leaves out all others that the policy passes on or the client has set, above
// all secrets.
func (m *Manager) plainEnv() []string {
	return append(proc.Environ(proc.Inherited(m.own.environment, EnvPolicy{}, proc.FromServer)), "TERM=dumb")
}

// number matches a version, such as "5.2.15(1)-release", "93u+" or "R59".
var number = regexp.MustCompile(`\bv?(R?[0-9][0-9A-Za-z.+~_-]*(?:\([0-9]+\)[0-9A-Za-z.+~_-]*)?)`)

// mostVersion is the maximum length of a version that is reported, in bytes.
const mostVersion = 64

// versionIn returns the version in a shell's output, from the first line that has one; "" if none has one.
func versionIn(output []byte) string {
	if !utf8.Valid(output) {
		return ""
	}
	for line := range strings.Lines(string(output)) {
		if m := number.FindStringSubmatch(line); m != nil && len(m[1]) <= mostVersion {
			return m[1]
		}
	}
	return ""
}
