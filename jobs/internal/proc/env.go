package proc

import (
	"path"
	"runtime"
	"slices"
	"strings"
)

// An EnvPolicy selects the variables of the server's environment that a job gets.
type EnvPolicy struct {
	// Inherit is "all", "core" (the variables that a login shell needs) or "none". Any other value means core. Names
	// that look like secrets are not inherited, even with "all".
	Inherit string
	// Include names further variables that are inherited, even secrets. Exclude names variables that are not, and takes
	// precedence over Include. Both are globs as in path.Match.
	Include, Exclude []string
	// Set holds variables that every job gets, regardless of Exclude.
	Set map[string]string
}

// coreNames are the variables that a login shell needs.
var coreNames = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "LANGUAGE", "TMPDIR", "TZ", "XDG_*",
	"SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
	"EDITOR", "VISUAL", "PAGER", "MAIL", "HOSTNAME",
}

// windowsCoreNames are the variables without which programs on Windows do not start.
var windowsCoreNames = []string{
	"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP", "USERNAME", "USERDOMAIN",
	"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES*",
	"COMMONPROGRAMFILES*", "PROGRAMW6432", "COMMONPROGRAMW6432", "PUBLIC", "ALLUSERSPROFILE", "OS",
	"PROCESSOR_*", "NUMBER_OF_PROCESSORS", "COMPUTERNAME", "LOGONSERVER", "PSMODULEPATH", "LANG", "LC_*", "TZ",
	"EDITOR", "VISUAL", "PAGER",
}

// secretNames are names of secrets, in upper or lower case: the usual names of tokens, passwords and keys, and of URLs
// and the like that contain a password.
var secretNames = []string{
	"*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*API_KEY*", "*APIKEY*", "*PRIVATE_KEY*",
	"*ACCESS_KEY*", "*CREDENTIAL*", "AWS_*KEY*", "*_KEY", "*_PWD", "*_PAT", "*_PASS", "SSHPASS", "*_AUTH", "*AUTH_CONFIG*",
	"*_JWT", "*_COOKIE", "*_DSN", "*WEBHOOK*", "*CONNECTION_STRING*", "*DATABASE_URL", "*REDIS_URL", "*MONGO*_UR[IL]", "*AMQP_URL",
}

// LooksSecret reports whether a variable with this name is probably a secret.
func LooksSecret(name string) bool { return env{foldNames: true}.matches(name, secretNames) }

// An Origin is the source of a variable.
type Origin string

// The origins. Later ones override earlier ones.
const (
	FromServer  Origin = "server"  // the server's own environment
	FromLogin   Origin = "login"   // the environment that the login shell has made of that
	FromProfile Origin = "profile" // the profile that the start request names
	FromPolicy  Origin = "policy"  // the variables that every job gets
	FromClient  Origin = "client"  // set by the client later
	FromBuiltin Origin = "builtin" // set because of how the job is started
	FromStart   Origin = "start"   // the variables in the start request
	FromShell   Origin = "shell"   // set or changed later by the job, which is a shell
)

// A Variable is a variable of an environment.
type Variable struct {
	Name, Value string
	Source      Origin
}

// A Layer holds the variables from one source, by name. A nil value unsets the variable.
type Layer struct {
	Source Origin
	Vars   map[string]*string
}

// Inherited returns the variables of base, which are NAME=value, that the policy selects. If a name occurs more than
// once, the last one wins. Variables that execve cannot pass are dropped: if the name is empty or contains "=" or NUL,
// or the value contains NUL.
func Inherited(base []string, p EnvPolicy, from Origin) []Variable {
	return inherited(base, p, from, runtime.GOOS == "windows")
}

// inherited is Inherited for the given system.
func inherited(base []string, p EnvPolicy, from Origin, windows bool) []Variable {
	e := newEnv(len(base), windows)
	for _, entry := range base {
		name, value, ok := strings.Cut(entry, "=")
		if ok && e.inherits(name, p) {
			e.set(name, value, from)
		}
	}
	return e.list()
}

// Compose returns an environment with layers applied on top of it, in their order, sorted by name. Names and values
// that cannot be set are dropped. base must contain each name only once.
func Compose(base []Variable, layers ...Layer) []Variable {
	return compose(base, runtime.GOOS == "windows", layers...)
}

func compose(base []Variable, windows bool, layers ...Layer) []Variable {
	e, unset := newEnv(8, windows), map[string]bool{} // the variables of the layers; usually few
	for _, l := range layers {
		for _, name := range sortedKeys(l.Vars) {
			value := l.Vars[name]
			if value == nil {
				delete(e.vars, e.key(name))
			} else {
				e.set(name, *value, l.Source)
			}
			unset[e.key(name)] = value == nil
		}
	}
	list := make([]Variable, 0, len(base)+len(e.vars))
	for _, v := range base {
		if _, changed := e.vars[e.key(v.Name)]; !changed && !unset[e.key(v.Name)] {
			list = append(list, v)
		}
	}
	for _, v := range e.vars {
		list = append(list, v)
	}
	slices.SortFunc(list, byName)
	return list
}

func byName(a, b Variable) int { return strings.Compare(a.Name, b.Name) }

// Environ returns an environment in the form that the system expects: NAME=value, in the order of vars.
func Environ(vars []Variable) []string {
	list := make([]string, len(vars))
	for i, v := range vars {
		list[i] = v.Name + "=" + v.Value
	}
	return list
}

// NameKey returns a variable's name in the form that is compared: on Windows in upper case, since the case of letters
// does not count there.
func NameKey(name string) string { return env{foldNames: runtime.GOOS == "windows"}.key(name) }

// sortedKeys returns the keys in order. On Windows, this makes the winner among names that differ only in case the same
// every time.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for name := range m {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

// An env is an environment under construction. vars is indexed by the key of the name.
type env struct {
	vars      map[string]Variable
	foldNames bool
}

func newEnv(size int, windows bool) env {
	return env{vars: make(map[string]Variable, size), foldNames: windows}
}

func (e env) key(name string) string {
	if e.foldNames {
		return strings.ToUpper(name)
	}
	return name
}

func (e env) set(name, value string, from Origin) {
	if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
		return
	}
	e.vars[e.key(name)] = Variable{name, value, from}
}

func (e env) list() []Variable {
	list := make([]Variable, 0, len(e.vars))
	for _, v := range e.vars {
		list = append(list, v)
	}
	slices.SortFunc(list, byName)
	return list
}

// inherits reports whether the policy lets a job inherit a variable.
func (e env) inherits(name string, p EnvPolicy) bool {
	switch {
	case e.matches(name, p.Exclude):
		return false
	case e.matches(name, p.Include):
		return true
	case p.Inherit == "none":
		return false
	case p.Inherit == "all":
	case e.foldNames:
		if !e.matches(name, windowsCoreNames) {
			return false
		}
	case !e.matches(name, coreNames):
		return false
	}
	return !LooksSecret(name)
}

// matches reports whether one of the globs matches the name. A malformed glob matches only a name equal to it.
func (e env) matches(name string, globs []string) bool {
	name = e.key(name)
	return slices.ContainsFunc(globs, func(glob string) bool { return matches(e.key(glob), name) })
}

// matches is path.Match, except that a slash is an ordinary character. It takes a tenth of the time of path.Match if
// the glob has stars only at its ends, as most have. The speed counts because every variable is compared with every
// glob.
func matches(glob, name string) bool {
	inner, open := strings.CutPrefix(glob, "*")
	inner, more := strings.CutSuffix(inner, "*")
	switch {
	case strings.ContainsAny(inner, `*?[\`):
	case open && more:
		return strings.Contains(name, inner)
	case open:
		return strings.HasSuffix(name, inner)
	case more:
		return strings.HasPrefix(name, inner)
	default:
		return name == inner
	}
	const noSlash = "\x00" // no name contains it
	ok, err := path.Match(strings.ReplaceAll(glob, "/", noSlash), strings.ReplaceAll(name, "/", noSlash))
	return ok || err != nil && glob == name
}

// Getenv returns the value of a variable in a list of NAME=value entries, and reports whether it is there. If a name
// occurs more than once, the last entry counts.
func Getenv(entries []string, name string) (string, bool) {
	e := env{foldNames: runtime.GOOS == "windows"}
	for _, entry := range slices.Backward(entries) {
		if n, value, ok := strings.Cut(entry, "="); ok && e.key(n) == e.key(name) {
			return value, true
		}
	}
	return "", false
}
