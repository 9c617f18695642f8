package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/roots"
)

// A CommandPolicy selects the commands that may be started, by the roots of a start (see package roots).
type CommandPolicy struct {
	Allow   []string          // the roots that a start may have; nil: any
	Deny    []string          // the roots that no start may have
	Aliases map[string]string // replacements for the first word of a command
}

// A Policy is the policy in effect, of all kinds of restrictions that a client can set.
type Policy struct {
	Directories int // the number of allowed directories; 0: any directory is allowed
	Commands    CommandPolicy
	Confirm     ConfirmPolicy
	Secrets     SecretPolicy
}

// Policy returns the policy in effect. The caller must not change anything in it.
func (m *services) Policy() Policy {
	return Policy{Directories: len(m.settings.allowedDirs), Commands: m.settings.commands, Confirm: m.settings.confirm, Secrets: m.settings.secrets}
}

// Aliases returns the replacements for first words of commands. The caller must not change the map.
func (m *services) Aliases() map[string]string { return m.settings.commands.Aliases }

// permit refuses a start that the policy does not allow. A command that cannot be determined passes no list: a list
// that can be bypassed by writing $x would not protect anything.
func (m *services) permit(s *Spec, p plan) *Error {
	c := &m.settings.commands
	if c.Allow == nil && len(c.Deny) == 0 {
		return nil
	}
	found := rootsOf(s, p)
	if root, denied := found.Denied(c.Deny); denied {
		return deniedRoot(root, "denyCommands", "this would run %s, which denyCommands forbids; use another command")
	}
	if c.Allow != nil {
		if root, missing := found.NotAllowed(c.Allow); missing {
			return deniedRoot(root, "allowCommands", "this would run %s, which is not in allowCommands; use another command, or have it allowed")
		}
	}
	if !found.Unknown() {
		return nil
	}
	rule := "denyCommands"
	if c.Allow != nil {
		rule = "allowCommands"
	}
	return policyDenied("start", rule, "it is unknown which commands this would run, so %s refuses it (%s); spell out every command in the line, or start the program with argv", rule, found.Why)
}

// mayRun reports whether the lists allow a command by itself.
func (c *CommandPolicy) mayRun(name string) bool {
	it := roots.Found{Roots: []string{name}}
	_, denied := it.Denied(c.Deny)
	_, missing := it.NotAllowed(c.Allow)
	return !denied && (c.Allow == nil || !missing)
}

func deniedRoot(root, rule, format string) *Error {
	e := policyDenied("start", rule, format, root)
	e.Root = root
	return e
}

// rootsOf returns the roots of a start. A shell that the start names by its path is a program of the client's choice,
// and so is a root as well.
func rootsOf(s *Spec, p plan) roots.Found {
	names, locale := setNames(s), roots.LocaleOf(p.env)
	var found roots.Found
	switch {
	case len(s.Argv) > 0:
		found = roots.Argv(s.Argv, names, locale)
	case s.Command == nil:
		found = roots.Argv([]string{p.shell}, names, locale)
	default:
		found = roots.Line{Text: *s.Command, Shell: p.shell, Env: names, Locale: locale}.Roots()
		if strings.ContainsAny(s.Shell, `/\`) {
			found.Roots = append([]string{s.Shell}, found.Roots...)
		}
	}
	for _, name := range names {
		if Steers(name) {
			addSteering(s, name, &found)
		}
	}
	return found
}

// addSteering adds the programs that a variable makes other programs run, if its value names them, or the reason why
// they are not known.
func addSteering(s *Spec, name string, found *roots.Found) {
	value, own := s.Env[name]
	why := fmt.Sprintf("env sets %s, which changes which commands run", name)
	switch {
	case own && value != nil:
		given := roots.Given(name, *value)
		for _, root := range given.Roots {
			if !slices.Contains(found.Roots, root) {
				found.Roots = append(found.Roots, root)
			}
		}
		if !given.Unknown() {
			return
		}
	case !own:
		why = fmt.Sprintf("env/set or env/unset changed %s, which changes which commands run, and this lasts until the server ends; set it in options.env.set of initialize instead", name)
	}
	if found.Why == "" {
		found.Why = why
	}
}

// setNames returns the variables that the client has set: in the start itself, or by env/set before it. Variables that
// the policy sets are the owner's.
func setNames(s *Spec) []string {
	names := slices.Collect(maps.Keys(s.Env))
	for _, c := range s.from.client {
		names = append(names, c.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// expand returns a command with its first word replaced if that is an alias. The result is not expanded again.
func (c *CommandPolicy) expand(command *string) *string {
	if command == nil || len(c.Aliases) == 0 {
		return command
	}
	line := strings.TrimLeft(*command, " \t\n")
	end := strings.IndexAny(line, " \t\n;&|()<>")
	if end < 0 {
		end = len(line)
	}
	text, is := c.Aliases[line[:end]]
	if !is {
		return command
	}
	text += line[end:]
	return &text
}

// A SecretPolicy determines who types the passwords that programs ask for.
type SecretPolicy struct {
	Ask        bool        // ask the client for them
	Asks       func() bool // with Ask: whether a client is there that can be asked; nil: always. It is called in turns
	ClientOnly bool        // only the person at the client may type them
}

func (p *SecretPolicy) asks() bool { return p.Ask && (p.Asks == nil || p.Asks()) }

// Steers reports whether a variable of this name can change which commands run.
func Steers(name string) bool { return roots.Steers(name) || roots.Steers(proc.NameKey(name)) }
