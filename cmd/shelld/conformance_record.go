package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"shelld/cmd/internal/base"
	"shelld/conformance"
	"shelld/conformance/record"
	"shelld/schema"
)

func recordCommand() *base.Command {
	return &base.Command{
		Name: "record", Operands: "-- SERVER COMMAND...", Mixed: true, Split: true,
		Usage:   []string{"[FLAGS] -- SERVER COMMAND..."},
		Summary: "start this in the server's place; it writes down what goes over the wire",
		About: `Start this in the server's place. It passes on what goes over stdin and stdout, byte by
byte, and writes a session file when the server has ended. What is typed as a secret, or while
a terminal shows nothing of it, is not written down.`,
		Notes: "Exit status: that of the server, or 2 if nothing could be started.",
		Flags: func(fl *flag.FlagSet) func(*base.Call) int {
			f := &recordFlags{output: "exact"}
			f.set(fl)
			return f.record
		},
	}
}

// recordFlags contains the flags of record.
type recordFlags struct {
	file, prose, level, output string
}

func (f *recordFlags) set(fl *flag.FlagSet) {
	fl.StringVar(&f.file, "o", "session.txtar", "write the session to this `FILE`; one that is there is kept, and a number is added")
	fl.StringVar(&f.prose, "prose", "", "a `SENTENCE` that says what the session shows")
	fl.Var(base.Choice{To: &f.level, Allowed: conformance.Levels()}, "level", "the session's `LEVEL`: "+strings.Join(conformance.Levels(), ", ")+" (default: the lowest that fits)")
	fl.Var(base.Choice{To: &f.output, Allowed: []string{"exact", "matched"}}, "output", "`what` is written down of output: exact, or matched, which is what the client's own patterns have matched")
}

// record leaves stdout to the client: all messages go to stderr.
func (f *recordFlags) record(c *base.Call) int {
	switch {
	case len(c.Args) > 0:
		return c.Wrong("there is nothing to do with %q; the server's command stands behind --", c.Args[0])
	case len(c.Behind) == 0:
		return c.Wrong("the server's command is missing; write it behind --, as in shelld conformance record -o bug.txtar -- shelld")
	}
	contract, err := conformance.LoadContract(schema.Files())
	if err != nil {
		return c.Wrong("%v", err)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE) // The session must be written even if the client is gone.
	r := &record.Recorder{
		Contract: contract, Command: c.Behind, File: f.file, Signals: signals,
		Options: record.Options{Prose: f.prose, Level: f.level, Matched: f.output == "matched"},
		Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	done, err := r.Record()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shelld conformance record:", base.Explain(err))
	}
	if done.File != "" {
		fmt.Fprintf(os.Stderr, "shelld conformance record: %d steps are in %s\n", done.Steps, done.File)
	}
	for _, n := range done.Notes {
		fmt.Fprintln(os.Stderr, "shelld conformance record: look at it:", n)
	}
	return done.Status
}
