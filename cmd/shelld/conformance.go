package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"shelld/conformance"
	"shelld/schema"
)

const conformanceUsage = `Usage:
  shelld conformance run [FLAGS] [FILES] -- SERVER COMMAND...
  shelld conformance list [FILES]
  shelld conformance show NAME
  shelld conformance record [FLAGS] -- SERVER COMMAND...

Run holds a server of the protocol against session files: those that are built in, or FILES,
which are session files or directories of them. The server is started afresh for each session.
The exit status is 0 if nothing failed, 1 if something did, and 2 if the command was called
wrongly.

List has the names of the sessions, and what they show. Show prints one that is built in.

Record is started by a client in the server's place. It passes on what goes over the wire, and
writes it down as a session when the server has ended; "record -h" has its flags.

`

// runConformance is the subcommand: it only reads flags and picks files.
func runConformance(args []string) int {
	verbs := map[string]func([]string) error{"run": conformanceRun, "list": conformanceList, "show": conformanceShow}
	if len(args) > 0 && args[0] == "record" {
		return conformanceRecord(args[1:]) // its exit status is the server's
	}
	if askedForHelp(args) {
		fmt.Print(conformanceUsage)
		return 0
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		fmt.Fprint(os.Stderr, conformanceUsage)
		return 2
	}
	err := verbs[args[0]](args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errNotConforming):
		return 1
	}
	fmt.Fprintln(os.Stderr, "shelld conformance:", err)
	return 2
}

// askedForHelp says whether that is all that is asked for. run has flags, and tells of them itself;
// list and show have none.
func askedForHelp(args []string) bool {
	if len(args) == 0 || args[0] == "run" {
		return false
	}
	return args[0] == "help" || slices.Contains([]string{"-h", "-help", "--help"}, args[len(args)-1])
}

// errNotConforming says that a session failed. The report has told it.
var errNotConforming = errors.New("the server does not conform")

// conformanceFlags are those of run.
type conformanceFlags struct {
	level, framing, baseline string
	json, junit, tap         bool
	parallel                 int
	within                   time.Duration
	verbose                  bool
}

func (f *conformanceFlags) set() *flag.FlagSet {
	fl := flag.NewFlagSet("run", flag.ContinueOnError)
	fl.StringVar(&f.level, "level", "all", "run the sessions of this `LEVEL` alone: "+strings.Join(conformance.Levels(), ", ")+" or all; several with commas")
	fl.StringVar(&f.framing, "framing", "both", "header, line or both")
	fl.StringVar(&f.baseline, "baseline", "", "a `FILE` of known failures, NAME: REASON a line; one that passes is a failure too")
	fl.BoolVar(&f.json, "json", false, "print the results as one JSON text")
	fl.BoolVar(&f.junit, "junit", false, "print the results as JUnit XML")
	fl.BoolVar(&f.tap, "tap", false, "print the results in the Test Anything Protocol, version 14")
	fl.IntVar(&f.parallel, "j", runtime.NumCPU(), "how many sessions are run at a time")
	fl.DurationVar(&f.within, "within", 20*time.Second, "how long a step waits for what must come, where it does not say so itself")
	fl.BoolVar(&f.verbose, "v", false, "tell of every session, not of failures alone")
	fl.Usage = func() {
		fmt.Fprint(fl.Output(), conformanceUsage+"Flags of run, before FILES or behind them:\n\n")
		fl.PrintDefaults()
	}
	return fl
}

func conformanceRun(args []string) error {
	var f conformanceFlags
	files, command, err := f.parse(args)
	if err != nil {
		return err
	}
	levels, framings, err := f.choices()
	if err != nil {
		return err
	}
	sessions, err := conformanceSessions(files)
	if err != nil {
		return err
	}
	known, err := f.known(sessions, len(files) > 0)
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
	endOnSignal()
	return conformanceReport(report, known, func(tell func(conformance.Result)) {
		conformance.RunAll(sessions, framings, f.parallel, conformance.Config{
			Contract: contract, Command: command, Levels: levels, Orphans: true, Within: f.within,
		}, tell)
	})
}

// parse splits the arguments at --. Flags may stand before the files or behind them. Help needs
// no server.
func (f *conformanceFlags) parse(args []string) (files, command []string, err error) {
	i := slices.Index(args, "--")
	if i >= 0 {
		command = args[i+1:]
		args = args[:i]
	}
	for fl := f.set(); ; {
		if err := fl.Parse(args); err != nil {
			return nil, nil, err
		}
		if fl.NArg() == 0 {
			break
		}
		files, args = append(files, fl.Arg(0)), fl.Args()[1:] // flag stops at what is none
	}
	if len(command) == 0 {
		return nil, nil, errors.New("the server's command is missing; write it behind --, as in shelld conformance run -- ./server --stdio")
	}
	return files, command, nil
}

// endOnSignal makes an interrupt end the servers too: they are in process groups of
// their own.
func endOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		conformance.KillServers()
		os.Exit(130)
	}()
}

// conformanceReport tells of each result as it comes.
func conformanceReport(report conformance.Report, known conformance.Baseline, run func(func(conformance.Result))) error {
	var err error
	run(func(r conformance.Result) {
		r = known.Judge(r)
		if r.Bad() {
			err = errNotConforming
		}
		report.Tell(r)
	})
	return errors.Join(err, report.Done())
}

// choices are the levels (nil: all) and framings that were asked for.
func (f *conformanceFlags) choices() (levels, framings []string, err error) {
	if f.level != "all" {
		levels = strings.Split(f.level, ",")
	}
	for _, l := range levels {
		if !slices.Contains(conformance.Levels(), l) {
			return nil, nil, fmt.Errorf("there is no level %q; there are %s, and all", l, strings.Join(conformance.Levels(), ", "))
		}
	}
	switch f.framing {
	case "both":
		framings = []string{"header", "line"}
	case "header", "line":
		framings = []string{f.framing}
	default:
		return nil, nil, fmt.Errorf("there is no framing %q; write header, line or both", f.framing)
	}
	if n := countTrue(f.json, f.junit, f.tap); n > 1 {
		return nil, nil, errors.New("only one of -json, -junit and -tap can be had")
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

// known reads the baseline. A name that no session has is a typo; one baseline may be for the
// sessions of the suite and for some of one's own, though only the latter are run.
func (f *conformanceFlags) known(sessions []*conformance.Session, own bool) (conformance.Baseline, error) {
	if f.baseline == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.baseline)
	if err != nil {
		return nil, err
	}
	known, err := conformance.ParseBaseline(f.baseline, string(text))
	if err != nil {
		return nil, err
	}
	where := "shelld conformance list has them all"
	if own {
		suite, err := conformance.Load(conformance.Sessions())
		if err != nil {
			return nil, err
		}
		sessions = slices.Concat(sessions, suite)
		where = "neither among the files nor among those that are built in (shelld conformance list FILES has the names)"
	}
	if names := known.Unknown(sessions); len(names) > 0 {
		return nil, fmt.Errorf("%s: there is no session %s; %s", f.baseline, strings.Join(names, ", "), where)
	}
	return known, nil
}

// conformanceSessions are those in files, or those that are built in.
func conformanceSessions(files []string) ([]*conformance.Session, error) {
	if len(files) == 0 {
		return conformance.Load(conformance.Sessions())
	}
	return conformance.LoadFiles(files)
}

func conformanceList(args []string) error {
	sessions, err := conformanceSessions(args)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if err := s.Bad(); err != nil {
			return err
		}
		prose, _, _ := strings.Cut(s.Prose, "\n")
		fmt.Printf("%-32s %s\n", s.Name, prose)
	}
	return nil
}

func conformanceShow(args []string) error {
	if len(args) != 1 {
		return errors.New("expected one session's name, as shelld conformance list has them")
	}
	name := strings.TrimSuffix(args[0], ".txtar")
	data, err := fs.ReadFile(conformance.Sessions(), name+".txtar")
	if err != nil {
		sessions, loadErr := conformanceSessions(nil)
		if loadErr != nil {
			return loadErr
		}
		var names []string
		for _, s := range sessions {
			names = append(names, s.Name)
		}
		if near := schema.Nearest(name, names); near != "" {
			return fmt.Errorf("there is no session %q; did you mean %s?", name, near)
		}
		return fmt.Errorf("there is no session %q; shelld conformance list has them all", name)
	}
	_, err = os.Stdout.Write(data)
	return err
}
