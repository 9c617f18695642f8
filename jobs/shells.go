package jobs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"shelld/jobs/internal/probe"
	"shelld/jobs/internal/proc"
)

// A Syntax is how a family of shells writes what most command lines need.
type Syntax = proc.Syntax

// SyntaxOf is how a shell, by its path or name, writes command lines; false: nobody knows.
func SyntaxOf(pathOrName string) (Syntax, bool) { return proc.SyntaxOf(proc.FamilyOf(pathOrName)) }

// OSVersion is the version of the system's kernel; "" = not known.
func OSVersion() string { return probe.OSVersion() }

// A ShellInfo is a shell that is installed.
type ShellInfo struct {
	Name, Path string
	Target     string // the file that Path leads to, if that is another
	Family     string
	Version    string // "" = not known
	Default    bool   // it runs commands where a start names none
}

const (
	// shellTime is how long a shell has to tell its version. It takes milliseconds, and
	// some take a second.
	shellTime = 5 * time.Second
	// shellBytes is how much it may write meanwhile.
	shellBytes = 64 << 10
	// shellsAtOnce is how many are asked at a time.
	shellsAtOnce = 4
)

// DefaultShell returns the path of the shell that runs commands; "" = there is none. Where the
// login shell is still being asked, it is the one by the server's own environment.
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

// Shells looks for the shells that jobs can have, and asks each for its version unless it
// did before. It waits for that until cancel is closed.
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

// shellVersions are what shells have told, by the file as it was then.
type shellVersions struct {
	mu    sync.Mutex
	known map[string]*shellVersion
	busy  chan struct{} // a token for each that is being asked

	swept sync.Once // of what killed servers have left of shells
}

// A shellVersion is what a shell has told, or will.
type shellVersion struct {
	done    chan struct{}
	version string // set before done is closed; "" = not known
}

// fileKey is a file as it is now; "" where nobody can tell.
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

// askVersion asks a shell for its version, unless that was done, or is being done. What one
// has not told in time is asked again the next time.
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
				m.log.Info("a shell does not tell its version", "shell", s.Path, "why", err)
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

// plainEnv is the environment of a program that nobody has asked for: what a login shell
// needs, whatever the policy passes on besides and the client has set, secrets above all.
func (m *Manager) plainEnv() []string {
	return append(proc.Environ(proc.Inherited(m.own.environment, EnvPolicy{}, proc.FromServer)), "TERM=dumb")
}

// number is a version, as in "5.2.15(1)-release", "93u+" and "R59".
var number = regexp.MustCompile(`\bv?(R?[0-9][0-9A-Za-z.+~_-]*(?:\([0-9]+\)[0-9A-Za-z.+~_-]*)?)`)

// mostVersion bounds what is told of what a program calls its version.
const mostVersion = 64

// versionIn finds the version in what a shell has told: in the first line that has any.
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
