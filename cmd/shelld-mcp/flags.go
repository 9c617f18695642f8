package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/session"
)

// A config contains the values of the flags.
type config struct {
	tools   string // compact, seeds or all
	confirm string // auto, seeds, all or none
	unasked string // deny or allow, if the host cannot ask; "": depends on confirm
	profile schema.ProfileName
	shell   string // "": bash, if it is installed
	// structured adds structured content to each result, and its schema to each tool.
	structured bool

	root          string   // absolute; "": the current directory of this process
	allowDirs     []string // absolute
	allowCommands []string
	denyCommands  []string
	env           schema.EnvInherit
	stateDir      string // absolute; "": the default
	memory        bool   // keep no files
	maxJobs       int64
	session       string // "": the jobs are this process's own

	level   slog.Level
	version bool
}

// words is a flag that may be repeated, and takes several words separated by commas.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word == "" {
			return errors.New("it has an empty word")
		}
		*w = append(*w, word)
	}
	return nil
}

// parseFlags reads the flags. Its error is for the user; if -h asks for help, parseFlags writes it to usage.
func parseFlags(args []string, usage io.Writer) (config, error) {
	c := config{tools: "compact", confirm: "auto", level: slog.LevelWarn}
	profile, env := string(schema.ProfileNameAgent), string(schema.EnvInheritCore)
	fs := flag.NewFlagSet("shelld-mcp", flag.ContinueOnError)
	fs.Var(base.Choice{To: &c.tools, Allowed: []string{"compact", "seeds", "all"}}, "tools", "which `set` of tools the host gets: compact (four tools for any model), seeds (fourteen, for prompts that know them) or all")
	fs.BoolVar(&c.structured, "structured", false, "add structured content to the text of each result, and schemas of it to the list of tools; for programs, since some hosts then hide the text and the pictures from their models")
	fs.Var(base.Choice{To: &c.confirm, Allowed: []string{"auto", "seeds", "all", "none"}}, "confirm", "`which` calls a person is asked about (of the compact tools only with all): auto (execute_bash_command, write_to_shell, kill, and variables that change which commands run; if the host cannot ask, its own approval of the call counts), seeds (the same, and denied if the host cannot ask), all (every call that starts, types or ends something; denied if the host cannot ask) or none")
	fs.Var(base.Choice{To: &c.unasked, Allowed: []string{"deny", "allow"}}, "unasked", "`what` to do with such a call if the host cannot ask a person: deny or allow; by default allow with -confirm auto, else deny")
	fs.Var(base.Choice{To: &profile, Allowed: []string{"agent", "interactive"}}, "profile", "`which` set of variables commands get: agent (no pager, no editor, no colours, no questions) or interactive")
	fs.StringVar(&c.shell, "shell", "", "the `shell` of run_shell_command and of the compact tools; by default bash, or the default shell if there is no bash")
	fs.StringVar(&c.session, "session", "", "run the jobs in the session with this `name`, where they outlive shelld-mcp; needs the program shelld")
	fs.StringVar(&c.root, "root", "", "the `directory` in which commands start; by default the one in which shelld-mcp was started")
	fs.Var((*words)(&c.allowDirs), "allow-dir", "a `directory` in which commands may start; several with commas, or several times; by default any")
	fs.Var((*words)(&c.allowCommands), "allow-command", "allow only these `commands`")
	fs.Var((*words)(&c.denyCommands), "deny-command", "deny these `commands`")
	fs.Var(base.Choice{To: &env, Allowed: []string{"core", "all", "none"}}, "env", "which of the server's own `variables` commands get: core, all (except likely secrets) or none")
	fs.StringVar(&c.stateDir, "state-dir", "", "the `directory` for output files; by default that of shelld")
	fs.BoolVar(&c.memory, "memory", false, "keep output only in memory, without files")
	fs.Int64Var(&c.maxJobs, "max-jobs", 0, "how `many` jobs may be live at once; by default 512")
	fs.Var(base.Level{Level: &c.level}, "log", "the lowest `level` that is logged on stderr: debug, info, warn or error")
	fs.BoolVar(&c.version, "version", false, "print the version")
	rest, err := base.Parse(fs, args, false)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(usage, "Usage: shelld-mcp [FLAGS]\n\nA server of the Model Context Protocol on stdin and stdout; docs/mcp.md describes its tools.\n\n")
			fs.SetOutput(usage)
			fs.PrintDefaults()
			fmt.Fprint(usage, "\nExit status: 0 if the host or a signal ended it, 1 if something failed, 2 if the command line is wrong.\n")
		}
		return c, err
	}
	fs.Visit(func(f *flag.Flag) {
		if f.Name == "max-jobs" && c.maxJobs < 1 {
			err = errors.New("-max-jobs must be 1 or more")
		}
	})
	if err != nil {
		return c, err
	}
	if len(rest) > 0 {
		return c, fmt.Errorf("unexpected argument %q", rest[0])
	}
	c.profile, c.env = schema.ProfileName(profile), schema.EnvInherit(env)
	return c, c.check()
}

// allowsUnasked reports whether a call that a person must allow is made without a question if the host cannot ask: the
// host's own approval of each call must then suffice.
func (c *config) allowsUnasked() bool {
	return c.unasked == "allow" || c.unasked == "" && c.confirm == "auto"
}

// check makes directories absolute, and rejects contradictory flags.
func (c *config) check() error {
	if c.memory && c.stateDir != "" {
		return errors.New("-memory keeps no files, but -state-dir names their directory: give one of them")
	}
	if c.shell != "" {
		// A relative path is relative to the directory of each command.
		if _, err := exec.LookPath(c.shell); err != nil && (filepath.IsAbs(c.shell) || !strings.ContainsAny(c.shell, `/\`)) {
			return fmt.Errorf("-shell %q: there is no such shell; name one that is installed, or leave it out", c.shell)
		}
	}
	if c.session != "" {
		if err := session.CheckName(c.session); err != nil {
			return fmt.Errorf("-session %w", err)
		}
	}
	dirs := []*string{&c.root, &c.stateDir}
	for i := range c.allowDirs {
		dirs = append(dirs, &c.allowDirs[i])
	}
	for _, dir := range dirs {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = abs
	}
	return nil
}
