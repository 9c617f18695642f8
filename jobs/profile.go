package jobs

import "maps"

// A profile is a set of variables that fits a kind of use. Nothing else depends on it.

// The profiles that a start can name.
const (
	ProfileInteractive = "interactive" // a person is at the client: nothing is set
	ProfileAgent       = "agent"       // a program is, which nothing shall wait for
)

// noEditor is a command that fails, for programs that start an editor for somebody.
const noEditor = `sh -c 'echo "there is nobody here to edit a file: give the text as an argument or in a file" >&2; exit 1' editor`

// profiles is THE table of what profiles set: no pager, an editor that fails and says so, no
// colours, no questions.
var profiles = map[string]map[string]string{
	ProfileInteractive: {},
	ProfileAgent: {
		"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat", "AWS_PAGER": "",
		"EDITOR": noEditor, "VISUAL": noEditor, "GIT_EDITOR": noEditor, "GIT_SEQUENCE_EDITOR": noEditor,
		"NO_COLOR": "1", "CLICOLOR": "0",
		"GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never", "DEBIAN_FRONTEND": "noninteractive",
		"PIP_NO_INPUT": "1", "COMPOSER_NO_INTERACTION": "1",
	},
}

// Profiles are the variables that each profile sets, by its name.
func Profiles() map[string]map[string]string {
	all := make(map[string]map[string]string, len(profiles))
	for name, vars := range profiles {
		all[name] = maps.Clone(vars)
	}
	return all
}
