package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/conformance/record"
	"shelld.dev/shelld/schema"
)

func recordCommand() *base.Command {
	return &base.Command{
		Name: "record", Operands: "-- SERVER COMMAND...", Mixed: true, Split: true,
		Usage:   []string{"[FLAGS] -- SERVER COMMAND..."},
		Summary: "run between a client and a server, and write their messages to a session file",
		About: `Have the client start this instead of the server. It forwards stdin and stdout byte by byte,
and writes a session file when the server has ended. It leaves out secrets, and what is typed
while a terminal does not echo.`,
		Notes: "Exit status: that of the server, or 2 if the server could not be started.",
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
	fl.StringVar(&f.file, "o", "session.txtar", "write the session to this `FILE`; an existing file is kept, and the new name gets a number")
	fl.StringVar(&f.prose, "prose", "", "a `SENTENCE` that says what the session shows")
	fl.Var(base.Choice{To: &f.level, Allowed: conformance.Levels()}, "level", "the session's `LEVEL`: "+strings.Join(conformance.Levels(), ", ")+" (default: the lowest that fits)")
	fl.Var(base.Choice{To: &f.output, Allowed: []string{"exact", "matched"}}, "output", "`what` is recorded of output: exact, or matched (only what the client's own patterns have matched)")
}

// record leaves stdout to the client: all messages go to stderr.
func (f *recordFlags) record(c *base.Call) int {
	switch {
	case len(c.Args) > 0:
		return c.Wrong("unexpected argument %q; the server's command goes after --", c.Args[0])
	case len(c.Behind) == 0:
		return c.Wrong("the server's command is missing; write it after --, as in shelld conformance record -o bug.txtar -- shelld")
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
