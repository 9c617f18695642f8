package base

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// StatusUsage is the exit status after an error in the command line.
const StatusUsage = 2

// A Command is a program or one of its subcommands. Command lines are parsed by this table, and help is printed from
// it.
type Command struct {
	Name     string
	Like     []string // names of this command in other programs; an unknown command with such a name gets Name suggested
	Operands string   // the arguments that are not flags, as shown in help; "": it takes none
	Usage    []string // the forms of the command line, without the name; nil: derived from the flags and Operands
	Summary  string   // one line, for the list of commands
	About    string   // help text before the flags
	Notes    string   // help text after the flags
	Status   int      // exit status after an error in the command line; 0: StatusUsage
	Hidden   bool     // it is for other commands, and in no list

	// Flags declares the flags. It returns the function that runs the command and returns the exit status.
	Flags func(*flag.FlagSet) func(*Call) int
	Mixed bool // Flags may follow other arguments.
	Split bool // The arguments after the first "--" are for another program: see Call.Behind.

	// Extra returns the error for an argument of a command that takes none; nil: the default text.
	Extra func(arg string) error

	Commands []*Command // subcommands; a command with subcommands does nothing itself
	Default  string     // the subcommand to run if the command line names none; "": it must name one
}

// A Call is a parsed command line.
type Call struct {
	Args   []string // the arguments that are not flags
	Behind []string // with Command.Split: the arguments after "--"

	command *Command
	name    string
	flags   *flag.FlagSet
}

// Name returns the names of the parent commands and of the command, as on the command line.
func (c *Call) Name() string { return c.name }

// Given reports whether a flag is on the command line.
func (c *Call) Given(name string) (is bool) {
	c.flags.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// Wrong prints an error in the command line, and how to get help, on one line. It returns the exit status.
func (c *Call) Wrong(format string, args ...any) int {
	return c.command.wrong(c.name, fmt.Errorf(format, args...))
}

func (c *Command) wrong(name string, err error) int {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	fmt.Fprintf(os.Stderr, "%s: %s (%[1]s -h)\n", name, Visible(text, ""))
	if c.Status != 0 {
		return c.Status
	}
	return StatusUsage
}

// Run runs the command with the arguments that follow its name, and returns the exit status.
func (c *Command) Run(args []string) int { return c.run(c.Name, args) }

func (c *Command) run(name string, args []string) int {
	switch {
	case len(c.Commands) == 0:
		return c.call(name, args, nil)
	case len(args) > 0 && asksHelp(args[0]):
		c.Help(os.Stdout, name)
		return 0
	case len(args) > 0 && args[0] == "help":
		return c.helpOf(name, args[1:])
	case len(args) > 0 && args[0] != "" && args[0][0] != '-':
		sub, err := c.sub(args[0])
		if err != nil {
			return c.wrong(name, err)
		}
		return sub.run(name+" "+sub.Name, args[1:])
	case c.Default == "":
		return c.wrong(name, fmt.Errorf("name a command: %s", Or(c.names())))
	}
	sub, _ := c.sub(c.Default) // Default is in the table.
	return sub.call(name+" "+sub.Name, args, c.withFlag)
}

// withFlag returns the subcommands that have the flag.
func (c *Command) withFlag(flagName string) (names []string) {
	for _, sub := range c.Commands {
		fs := flag.NewFlagSet(sub.Name, flag.ContinueOnError)
		if sub.Flags == nil || sub.Hidden {
			continue
		}
		if sub.Flags(fs); fs.Lookup(flagName) != nil {
			names = append(names, sub.Name+" -"+flagName)
		}
	}
	return names
}

func (c *Command) names() (names []string) {
	for _, sub := range c.Commands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	return names
}

// sub returns the subcommand with the name.
func (c *Command) sub(name string) (*Command, error) {
	if i := slices.IndexFunc(c.Commands, func(sub *Command) bool { return sub.Name == name }); i >= 0 {
		return c.Commands[i], nil
	}
	for _, sub := range c.Commands {
		if slices.Contains(sub.Like, name) {
			return nil, fmt.Errorf("there is no command %q; did you mean %s?", name, sub.Name)
		}
	}
	return nil, fmt.Errorf("there is no command %q%s", name, didYouMean("", name, c.names()))
}

// helpOf prints the help of the subcommand named by args.
func (c *Command) helpOf(name string, args []string) int {
	for _, arg := range args {
		if asksHelp(arg) {
			break
		}
		sub, err := c.sub(arg)
		if err != nil {
			return c.wrong(name, err)
		}
		c, name = sub, name+" "+sub.Name
	}
	c.Help(os.Stdout, name)
	return 0
}

func asksHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// call runs a command without subcommands. If it is the default of a command with several, elsewhere returns the
// subcommands that have a flag; otherwise elsewhere is nil.
func (c *Command) call(name string, args []string, elsewhere func(flagName string) []string) int {
	call := &Call{command: c, name: name, flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	run := c.Flags(call.flags)
	if i := slices.Index(args, "--"); c.Split && i >= 0 {
		args, call.Behind = args[:i], args[i+1:]
	}
	var err error
	switch call.Args, err = Parse(call.flags, args, c.Mixed); {
	case errors.Is(err, flag.ErrHelp):
		c.Help(os.Stdout, name)
		return 0
	case err != nil:
		if no, ok := errors.AsType[noFlagError](err); ok && elsewhere != nil {
			if names := elsewhere(no.name); len(names) > 0 {
				err = fmt.Errorf("%s; did you mean %s?", no.text, Or(names))
			}
		}
		return c.wrong(name, err)
	case len(call.Args) > 0 && c.Operands == "" && c.Extra != nil:
		return c.wrong(name, c.Extra(call.Args[0]))
	case len(call.Args) > 0 && c.Operands == "":
		return call.Wrong("unexpected argument %q", call.Args[0])
	}
	return run(call)
}

// Help prints the usage of the command, its description, and its flags or subcommands.
func (c *Command) Help(w io.Writer, name string) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	if c.Flags != nil {
		c.Flags(fs)
	}
	for i, usage := range c.usage(fs) {
		fmt.Fprintf(w, "%-6s %s\n", []string{"Usage:", ""}[min(i, 1)], strings.TrimSpace(name+" "+usage))
	}
	if c.About != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.About))
	}
	if len(c.Commands) > 0 {
		c.list(w)
	}
	if hasFlags(fs) {
		fmt.Fprint(w, "\nFlags:\n")
		fs.SetOutput(w)
		fs.PrintDefaults()
	}
	if c.Notes != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Notes))
	}
}

// usage returns the forms of the command line.
func (c *Command) usage(fs *flag.FlagSet) []string {
	switch {
	case c.Usage != nil:
		return c.Usage
	case len(c.Commands) > 0 && c.Default == "":
		return []string{"COMMAND [FLAGS]"}
	case len(c.Commands) > 0:
		return []string{"[COMMAND] [FLAGS]"}
	case hasFlags(fs):
		return []string{strings.TrimSpace("[FLAGS] " + c.Operands)}
	}
	return []string{c.Operands}
}

func hasFlags(fs *flag.FlagSet) (is bool) {
	fs.VisitAll(func(*flag.Flag) { is = true })
	return is
}

// list prints the subcommands.
func (c *Command) list(w io.Writer) {
	rows := [][2]string{}
	for _, sub := range c.Commands {
		if sub.Hidden {
			continue
		}
		rows = append(rows, [2]string{strings.TrimSpace(sub.Name + " " + sub.Operands), sub.Summary})
	}
	rows = append(rows, [2]string{"help [COMMAND]", "print this, or the help of a command"})
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	fmt.Fprint(w, "\nCommands:\n")
	for _, r := range rows {
		fmt.Fprintf(w, "  %-*s  %s\n", width, r[0], r[1])
	}
}
