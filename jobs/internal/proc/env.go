package proc

import (
	"path"
	"runtime"
	"slices"
	"strings"
)

// An EnvPolicy says what of the server's environment a job gets.
type EnvPolicy struct {
	// Inherit is "all", "core" (what a login shell needs) or "none". Anything
	// else means core. Names that look like secrets are in neither.
	Inherit string
	// Include names more that is inherited, secrets too; Exclude what is not,
	// and comes after Include. Both are globs as in path.Match.
	Include, Exclude []string
	// Set is given to every job, whatever Exclude says.
	Set map[string]string
}

// coreNames are what a login shell needs.
var coreNames = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "LANGUAGE", "TMPDIR", "TZ", "XDG_*",
	"SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
	"EDITOR", "VISUAL", "PAGER", "MAIL", "HOSTNAME",
}

// windowsCoreNames are what programs on Windows do not start without.
var windowsCoreNames = []string{
	"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP", "USERNAME", "USERDOMAIN",
	"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES*",
	"COMMONPROGRAMFILES*", "PROGRAMW6432", "COMMONPROGRAMW6432", "PUBLIC", "ALLUSERSPROFILE", "OS",
	"PROCESSOR_*", "NUMBER_OF_PROCESSORS", "COMPUTERNAME", "LOGONSERVER", "PSMODULEPATH", "LANG", "LC_*", "TZ",
	"EDITOR", "VISUAL", "PAGER",
}

// secretNames look like secrets, in any case of letters.
var secretNames = []string{
	"*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*API_KEY*", "*APIKEY*", "*PRIVATE_KEY*",
	"*ACCESS_KEY*", "*CREDENTIAL*", "AWS_*KEY*", "*_PWD", "*_PAT",
}

// Environ makes a job's environment, as sorted NAME=value: what the policy lets
// through of base, then the policy's own, then the job's, of which nil unsets. The
// last one wins. Names that cannot be set (empty, or with "=" or NUL) are dropped,
// and values with NUL as well, since execve knows neither.
func Environ(base []string, p EnvPolicy, job map[string]*string) []string {
	return environ(base, p, job, runtime.GOOS == "windows")
}

// environ is Environ for the system that it is told.
func environ(base []string, p EnvPolicy, job map[string]*string, windows bool) []string {
	e := env{vars: make(map[string]string), foldNames: windows}
	for _, entry := range base {
		name, value, ok := strings.Cut(entry, "=")
		if ok && e.inherits(name, p) {
			e.set(name, value)
		}
	}
	for _, name := range sortedKeys(p.Set) {
		e.set(name, p.Set[name])
	}
	return e.with(job)
}

// With is an environment of Environ with a job's own variables, of which nil unsets.
// What the policy says is found out once and not for each job: it takes longer than a
// short command.
func With(base []string, job map[string]*string) []string {
	e := env{vars: make(map[string]string, len(base)+len(job)), foldNames: runtime.GOOS == "windows"}
	for _, entry := range base {
		name, value, _ := strings.Cut(entry, "=")
		e.set(name, value)
	}
	return e.with(job)
}

// with is the environment with a job's own variables, as a list.
func (e env) with(job map[string]*string) []string {
	for _, name := range sortedKeys(job) {
		if value := job[name]; value != nil {
			e.set(name, *value)
		} else {
			e.unset(name)
		}
	}
	return e.list()
}

// sortedKeys makes the winner among names that differ only in case, on Windows,
// the same every time.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for name := range m {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

// An env is an environment in the making: NAME=value by the name as it compares.
type env struct {
	vars      map[string]string
	foldNames bool
}

func (e env) key(name string) string {
	if e.foldNames {
		return strings.ToUpper(name)
	}
	return name
}

func (e env) set(name, value string) {
	if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
		return
	}
	e.vars[e.key(name)] = name + "=" + value
}

func (e env) unset(name string) { delete(e.vars, e.key(name)) }

func (e env) list() []string {
	list := make([]string, 0, len(e.vars))
	for _, entry := range e.vars {
		list = append(list, entry)
	}
	slices.Sort(list)
	return list
}

// inherits says whether a variable of base gets through.
func (e env) inherits(name string, p EnvPolicy) bool {
	switch {
	case e.matches(name, p.Exclude):
		return false
	case e.matches(name, p.Include):
		return true
	case p.Inherit == "none", env{foldNames: true}.matches(name, secretNames):
		return false
	case p.Inherit == "all":
		return true
	case e.foldNames:
		return e.matches(name, windowsCoreNames)
	}
	return e.matches(name, coreNames)
}

// matches says whether one of the globs is the name's. A glob that is malformed
// stands for itself.
func (e env) matches(name string, globs []string) bool {
	name = e.key(name)
	return slices.ContainsFunc(globs, func(glob string) bool {
		glob = e.key(glob)
		ok, err := path.Match(glob, name)
		return ok || err != nil && glob == name
	})
}

// getenv looks a variable up in NAME=value entries, of which the last one counts.
func getenv(entries []string, name string) (string, bool) {
	e := env{foldNames: runtime.GOOS == "windows"}
	for _, entry := range slices.Backward(entries) {
		if n, value, ok := strings.Cut(entry, "="); ok && e.key(n) == e.key(name) {
			return value, true
		}
	}
	return "", false
}
