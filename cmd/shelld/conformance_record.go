package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"shelld/conformance"
	"shelld/schema"
)

const recordUsage = `Usage:
  shelld conformance record [FLAGS] -- SERVER COMMAND...

Start this in the server's place. It passes on what goes over stdin and stdout, byte by
byte, and writes a session file when the server has ended; its exit status is the
server's, or 2 where nothing could be started. What is typed as a secret, or while a
terminal shows nothing of it, is not written down.

Flags of record:
`

// recordFlags are those of record.
type recordFlags struct {
	file, prose, level, output string
}

func (f *recordFlags) set() *flag.FlagSet {
	fl := flag.NewFlagSet("record", flag.ContinueOnError)
	fl.StringVar(&f.file, "o", "session.txtar", "write the session to this `FILE`; one that is there is kept, and a number is added")
	fl.StringVar(&f.prose, "prose", "", "a `SENTENCE` that says what the session shows")
	fl.StringVar(&f.level, "level", "", "the session's `LEVEL`: "+strings.Join(conformance.Levels(), ", ")+" (default: the lowest that fits)")
	fl.StringVar(&f.output, "output", "exact", "what is written down of output: exact, or matched, which is what the client's own patterns have matched")
	fl.Usage = func() {
		fmt.Fprint(fl.Output(), recordUsage)
		fl.PrintDefaults()
	}
	return fl
}

// parse reads the flags and the server's command.
func (f *recordFlags) parse(args []string) (command []string, err error) {
	if i := slices.Index(args, "--"); i >= 0 {
		args, command = args[:i], args[i+1:]
	}
	fl := f.set()
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case fl.NArg() > 0:
		return nil, fmt.Errorf("there is nothing to do with %q; the server's command stands behind --", fl.Arg(0))
	case len(command) == 0:
		return nil, errors.New("the server's command is missing; write it behind --, as in shelld conformance record -o bug.txtar -- shelld")
	case f.level != "" && !slices.Contains(conformance.Levels(), f.level):
		return nil, fmt.Errorf("there is no level %q; there are %s", f.level, strings.Join(conformance.Levels(), ", "))
	case f.output != "exact" && f.output != "matched":
		return nil, fmt.Errorf("there is no way %q to write output down; write exact or matched", f.output)
	}
	return command, nil
}

// conformanceRecord has stdout for the client alone: whatever there is to say goes to stderr.
func conformanceRecord(args []string) int {
	var f recordFlags
	command, err := f.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	contract, loadErr := conformance.LoadContract(schema.Files())
	if err = errors.Join(err, loadErr); err != nil {
		fmt.Fprintln(os.Stderr, "shelld conformance record:", err)
		return 2
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE) // A client that is gone must not cost us the session.
	r := &conformance.Recorder{
		Contract: contract, Command: command, File: f.file, Signals: signals,
		Options: conformance.RecordOptions{Prose: f.prose, Level: f.level, Matched: f.output == "matched"},
		Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	done, err := r.Record()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shelld conformance record:", err)
	}
	if done.File != "" {
		fmt.Fprintf(os.Stderr, "shelld conformance record: %d steps are in %s\n", done.Steps, done.File)
	}
	for _, n := range done.Notes {
		fmt.Fprintln(os.Stderr, "shelld conformance record: look at it:", n)
	}
	return done.Status
}
