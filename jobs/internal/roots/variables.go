package roots

import (
	"slices"
	"strings"
	"sync"
)

// Most variables in steering can make a program run another one, regardless of their value. For these it depends on the
// value:
//
//   - commandVariables contain a command. It is a root, as if it were in the line.
//   - harmlessVariables share a prefix with variables that steer (GIT_, XDG_, CARGO_ …), but do no harm: names, dates,
//     colours, switches. Variables that name a directory or a file to read are not among them, since a configuration, a
//     plugin or a cache there is code: XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_CACHE_HOME, GIT_DIR, GIT_CONFIG_GLOBAL,
//     CARGO_TARGET_DIR.
//   - LESS contains options of less, some of which run commands or write files.
//
// PATH, LD_*, GIT_SSH*, LESSOPEN and similar ones stay unknown with any value except the empty one.
var commandVariables = sync.OnceValue(func() []string {
	return strings.Fields(`PAGER MANPAGER GIT_PAGER GH_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER AWS_PAGER SYSTEMD_PAGER P4PAGER
	EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR KUBE_EDITOR GH_EDITOR HGEDITOR SVN_EDITOR PSQL_EDITOR P4EDITOR
	GIT_ASKPASS SSH_ASKPASS CC CXX`)
})

var harmlessVariables = sync.OnceValue(func() []string {
	return strings.Fields(`GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_MERGE_AUTOEDIT GIT_ADVICE GIT_FLUSH GIT_PROGRESS_DELAY GIT_LFS_SKIP_SMUDGE
	GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
	GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_NO_REPLACE_OBJECTS
	XDG_SESSION_ID XDG_SESSION_TYPE XDG_SESSION_CLASS XDG_SEAT XDG_VTNR
	LESSCHARSET LESSUTFBINFMT LESSBINFMT LESSSECURE LESSHISTSIZE
	SYSTEMD_COLORS SYSTEMD_URLIFY SYSTEMD_LOG_LEVEL SYSTEMD_PAGERSECURE
	CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN CARGO_TERM_VERBOSE CARGO_TERM_QUIET CARGO_NET_OFFLINE CARGO_INCREMENTAL CARGO_BUILD_JOBS
	MALLOC_ARENA_MAX MALLOC_CHECK_ MALLOC_PERTURB_ CGO_ENABLED ZSTD_CLEVEL`)
})

// lessFlags are the letters of less that have no value, and neither run a command nor write.
const lessFlags = "aAcCeEfFgGiIJKLmMnNqQrRsSuUVwWX~"

// Given returns the commands that programs run because a variable is set to a value. It must only be called for names
// that steer.
func Given(name, value string) Found {
	r := &reader{total: newTotal(nil), family: posixFamily}
	if !r.told(name, value) {
		r.note(name + " changes which commands run")
	}
	return r.Found
}

// told examines a variable whose effect depends on its value, and adds the roots in it. It reports whether all is
// known.
func (r *reader) told(name, value string) bool {
	fields := strings.Fields(value)
	switch {
	case slices.Contains(harmlessVariables(), name):
		return true
	case value == "" && (name == "LESS" || name == "LESSOPEN" || name == "LESSCLOSE"):
		return true
	case name == "LESS" || name == "SYSTEMD_LESS":
		return !slices.ContainsFunc(fields, func(f string) bool { return strings.Trim(strings.TrimPrefix(f, "-"), lessFlags) != "" })
	case name == "LESSHISTFILE":
		return value == "-" || value == "/dev/null"
	case !slices.Contains(commandVariables(), name):
		return false
	case len(fields) == 0:
		return value == ""
	}
	return r.holds(fields)
}

// holds adds the command of a variable if all programs read it alike: some pass it to a shell, others split it. They
// append words to it.
func (r *reader) holds(fields []string) bool {
	var words []word
	for _, f := range fields {
		if strings.Trim(f, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=,@%") != "" {
			return false
		}
		words = append(words, word{text: f, known: true, quoted: true})
	}
	if strings.Contains(fields[0], "=") || slices.Contains(reserved(), fields[0]) {
		return false
	}
	r.command(append(words, word{many: true}))
	return true
}
