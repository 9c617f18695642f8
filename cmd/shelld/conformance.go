package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/schema"
)

func conformanceCommand() *base.Command {
	return &base.Command{
		Name:    "conformance",
		Summary: "test a server of the protocol, this one or another, with session files",
		About: `Tests a server of the protocol with session files, and records such files. A session has
the client's messages and the expected answers; the suite is built in.`,
		Commands: []*base.Command{
			{
				Name: "run", Operands: "[SESSION...]", Mixed: true, Split: true,
				Usage:   []string{"[FLAGS] [SESSION...] -- SERVER COMMAND..."},
				Summary: "run sessions against a server, and report what does not conform",
				About: `Runs sessions against a server, which is restarted for each of them. A SESSION is a file,
a directory of files, the name of a built-in session (core/run), or a pattern of such names
('core/wait-*', in quotes for the shell). By default all built-in sessions are run.`,
				Notes: `On a terminal, progress is shown on stderr. The first interrupt ends the run with a summary.

Exit status: 0 if nothing failed, 1 if a session failed, 2 if the command line is wrong, 130 if the
run was interrupted.`,
				Flags: conformanceRunFlags,
			},
			{
				Name: "list", Operands: "[SESSION...]", Summary: "list the sessions, with their descriptions",
				Flags: func(*flag.FlagSet) func(*base.Call) int { return conformanceList },
			},
			{
				Name: "show", Operands: "NAME", Summary: "print a built-in session",
				Flags: func(*flag.FlagSet) func(*base.Call) int { return conformanceShow },
			},
			recordCommand(),
		},
	}
}

// errNotConforming means that a session failed. The report contains the failure.
var errNotConforming = errors.New("the server does not conform")

// conformanceFlags contains the flags of run.
type conformanceFlags struct {
	level, framing, baseline string
	connect                  string
	json, junit, tap         bool
	parallel                 int
	within                   time.Duration
	verbose                  bool
}

func (f *conformanceFlags) set(fl *flag.FlagSet) {
	f.level, f.framing = "all", "both"
	fl.StringVar(&f.level, "level", "all", "run only the sessions of this `LEVEL`: "+strings.Join(conformance.Levels(), ", ")+" or all; several with commas")
	fl.Var(base.Choice{To: &f.framing, Allowed: []string{"header", "line", "both"}}, "framing", "`how` messages are framed: header, line or both")
	fl.StringVar(&f.connect, "connect", "", "the `COMMAND` that joins a session, for the level sessions: {session} in it stands for the session's name")
	fl.StringVar(&f.baseline, "baseline", "", "a `FILE` of known failures, one NAME: REASON per line; a known failure that passes is a failure too")
	fl.BoolVar(&f.json, "json", false, "print the results as one JSON text")
	fl.BoolVar(&f.junit, "junit", false, "print the results as JUnit XML")
	fl.BoolVar(&f.tap, "tap", false, "print the results in the Test Anything Protocol, version 14")
	fl.IntVar(&f.parallel, "j", runtime.NumCPU(), "how `many` sessions are run at a time")
	fl.DurationVar(&f.within, "within", 20*time.Second, "the `time` that a step waits for an expected message, if the step sets none")
	fl.BoolVar(&f.verbose, "v", false, "report every session, not only failures")
}

func conformanceRunFlags(fl *flag.FlagSet) func(*base.Call) int {
	f := &conformanceFlags{}
	f.set(fl)
	return func(c *base.Call) int {
		err := f.run(c)
		switch {
		case err == nil:
			return 0
		case errors.Is(err, errNotConforming):
			return 1
		}
		return c.Wrong("%s", base.Explain(err))
	}
}

func (f *conformanceFlags) run(c *base.Call) error {
	if len(c.Behind) == 0 {
		return errors.New("the server's command is missing; write it after --, as in shelld conformance run -- ./server --stdio")
	}
	levels, framings, err := f.choices()
	if err != nil {
		return err
	}
	sessions, err := chooseSessions(c.Args)
	if err != nil {
		return err
	}
	known, err := f.known(sessions, len(c.Args) > 0)
	if err != nil {
		return err
	}
	contract, err := conformance.LoadContract(schema.Files())
	if err != nil {
		return err
	}
	report, err := conformance.NewReport(f.format(), os.Stdout, f.verbose)
	if err != nil {
		return err
	}
	p := &conformanceProgress{report: report, known: known, total: conformance.Count(sessions, framings)}
	p.shown = term.IsTerminal(int(os.Stderr.Fd())) && !f.verbose
	return p.play(func(tell func(conformance.Result)) {
		conformance.RunAll(sessions, framings, f.parallel, conformance.Config{
			Contract: contract, Command: c.Behind, Connect: strings.Fields(f.connect), Levels: levels, Orphans: true, Within: f.within,
		}, tell)
	})
}

// choices returns the levels (nil: all) and framings of the flags.
func (f *conformanceFlags) choices() (levels, framings []string, err error) {
	if f.level != "all" {
		levels = strings.Split(f.level, ",")
	}
	for _, l := range levels {
		if !slices.Contains(conformance.Levels(), l) {
			return nil, nil, fmt.Errorf("there is no level %q; the levels are %s, and all", l, strings.Join(conformance.Levels(), ", "))
		}
	}
	framings = []string{f.framing}
	if f.framing == "both" {
		framings = []string{"header", "line"}
	}
	if n := countTrue(f.json, f.junit, f.tap); n > 1 {
		return nil, nil, errors.New("give only one of -json, -junit and -tap")
	}
	return levels, framings, nil
}

func countTrue(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

func (f *conformanceFlags) format() string {
	switch {
	case f.json:
		return "json"
	case f.junit:
		return "junit"
	case f.tap:
		return "tap"
	}
	return "text"
}

// known reads the baseline. A name that no session has is an error, as a typo. One baseline may cover the sessions of
// the suite and the user's own, even if only the latter are run; own is set if the command line names sessions.
func (f *conformanceFlags) known(sessions []*conformance.Session, own bool) (conformance.Baseline, error) {
	if f.baseline == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.baseline)
	if err != nil {
		return nil, fmt.Errorf("the baseline %s cannot be read: %s", f.baseline, base.Reason(err))
	}
	known, err := conformance.ParseBaseline(f.baseline, string(text))
	if err != nil {
		return nil, err
	}
	where := "shelld conformance list names all"
	if own {
		suite, err := conformance.Load(conformance.Sessions())
		if err != nil {
			return nil, err
		}
		sessions = slices.Concat(sessions, suite)
		where = "it is neither in the files nor built in (shelld conformance list FILES prints the names)"
	}
	if names := known.Unknown(sessions); len(names) > 0 {
		return nil, fmt.Errorf("%s: there is no session %s; %s", f.baseline, strings.Join(names, ", "), where)
	}
	return known, nil
}

func conformanceList(c *base.Call) int {
	sessions, err := chooseSessions(c.Args)
	if err != nil {
		return c.Wrong("%s", base.Explain(err))
	}
	for _, s := range sessions {
		if err := s.Bad(); err != nil {
			return c.Wrong("%s", base.Explain(err))
		}
		prose, _, _ := strings.Cut(s.Prose, "\n")
		fmt.Printf("%-32s %s\n", s.Name, prose)
	}
	return 0
}

func conformanceShow(c *base.Call) int {
	if len(c.Args) != 1 {
		return c.Wrong("give the name of one session, as shelld conformance list prints it")
	}
	name := strings.TrimSuffix(c.Args[0], ".txtar")
	data, err := fs.ReadFile(conformance.Sessions(), name+".txtar")
	if err != nil {
		builtIn, loadErr := chooseSessions(nil)
		if err = loadErr; err == nil {
			_, err = namedSessions(builtIn, name, "session")
		}
		if err == nil {
			err = fmt.Errorf("%q may mean several sessions: give one name", name)
		}
		return c.Wrong("%s", base.Explain(err))
	}
	if _, err := os.Stdout.Write(data); err != nil {
		fmt.Fprintln(os.Stderr, "shelld conformance show:", base.Explain(err))
		return 1
	}
	return 0
}
