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

// secretNames look like secrets, in any case of letters: tokens, passwords and keys by what
// programs call them, and places that have a password in them.
var secretNames = []string{
	"*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*API_KEY*", "*APIKEY*", "*PRIVATE_KEY*",
	"*ACCESS_KEY*", "*CREDENTIAL*", "AWS_*KEY*", "*_KEY", "*_PWD", "*_PAT", "*_PASS", "SSHPASS", "*_AUTH", "*AUTH_CONFIG*",
	"*_JWT", "*_COOKIE", "*_DSN", "*WEBHOOK*", "*CONNECTION_STRING*", "*DATABASE_URL", "*REDIS_URL", "*MONGO*_UR[IL]", "*AMQP_URL",
}

// LooksSecret says whether a variable's name is one that secrets have.
func LooksSecret(name string) bool { return env{foldNames: true}.matches(name, secretNames) }

// An Origin says where a variable comes from.
type Origin string

// The origins, each before those that come on top of it.
const (
	FromServer  Origin = "server"  // the server's own environment
	FromLogin   Origin = "login"   // what the login shell has made of that
	FromProfile Origin = "profile" // the profile that the start names
	FromPolicy  Origin = "policy"  // what every job is given
	FromClient  Origin = "client"  // what the client has set since
	FromBuiltin Origin = "builtin" // what a job gets because of how it is started
	FromStart   Origin = "start"   // what the start asks for
	FromShell   Origin = "shell"   // what the job, a shell, has set or changed since
)

// A Variable is one of an environment.
type Variable struct {
	Name, Value string
	Source      Origin
}

// A Layer is what comes from one source: NAME to value, of which nil unsets.
type Layer struct {
	Source Origin
	Vars   map[string]*string
}

// Inherited are the variables of base, as NAME=value, that the policy lets through. The last
// one of a name wins. Names that cannot be set (empty, or with "=" or NUL) are dropped, and
// values with NUL as well, since execve knows neither.
func Inherited(base []string, p EnvPolicy, from Origin) []Variable {
	return inherited(base, p, from, runtime.GOOS == "windows")
}

// inherited is Inherited for the system that it is told.
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

// Compose is an environment with layers on top of it, the last one uppermost, sorted by name.
// Names and values that cannot be set are dropped. Each name is in base once.
func Compose(base []Variable, layers ...Layer) []Variable {
	return compose(base, runtime.GOOS == "windows", layers...)
}

func compose(base []Variable, windows bool, layers ...Layer) []Variable {
	e, unset := newEnv(8, windows), map[string]bool{} // what the layers say: little, as a rule
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

// Environ is an environment as the system takes it: NAME=value, sorted.
func Environ(vars []Variable) []string {
	list := make([]string, len(vars))
	for i, v := range vars {
		list[i] = v.Name + "=" + v.Value
	}
	return list
}

// NameKey is a variable's name as it compares: on Windows, without the case of letters.
func NameKey(name string) string { return env{foldNames: runtime.GOOS == "windows"}.key(name) }

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

// An env is an environment in the making: variables by the name as it compares.
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

// inherits says whether a variable of base gets through.
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

// matches says whether one of the globs is the name's. A glob that is malformed
// stands for itself.
func (e env) matches(name string, globs []string) bool {
	name = e.key(name)
	return slices.ContainsFunc(globs, func(glob string) bool { return matches(e.key(glob), name) })
}

// matches is path.Match for what has no parts between slashes, and takes a tenth of its time
// where stars are at the ends of the glob alone, as they mostly are: every variable is held
// against every glob.
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
	const noSlash = "\x00" // which no name has
	ok, err := path.Match(strings.ReplaceAll(glob, "/", noSlash), strings.ReplaceAll(name, "/", noSlash))
	return ok || err != nil && glob == name
}

// Getenv looks a variable up in NAME=value entries, of which the last one counts.
func Getenv(entries []string, name string) (string, bool) {
	e := env{foldNames: runtime.GOOS == "windows"}
	for _, entry := range slices.Backward(entries) {
		if n, value, ok := strings.Cut(entry, "="); ok && e.key(n) == e.key(name) {
			return value, true
		}
	}
	return "", false
}
