// Command shelld runs commands on real terminals and pipes for programs that drive
// it over its standard input and output, in JSON-RPC: the Shell Server Protocol.
//
// Without a subcommand it is the server. The protocol has stdout for itself;
// everything else that there is to say goes to stderr.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// A command is one subcommand. It returns the exit status.
type command struct {
	name    string
	summary string
	run     func(args []string) int
}

// commands are all there are, in the order in which help shows them.
func commands() []command {
	return []command{
		{"serve", "speak the protocol on stdin and stdout (the default)", serve},
		{"run", "run one command through the protocol, as if it were started without", runCommand},
		{"jobs", "list, show and tidy up what is stored of jobs, of servers that have ended too", storedJobs},
		{"doctor", "tell what this machine can do, and what to do where it cannot", doctor},
		{"demo", "start a server, drive a real program through it, and show every message", demo},
		{"schema", "list the protocol's schema files, or print one by its name", printSchema},
		{"conformance", "hold a server of the protocol, this or another, against session files", runConformance},
		{"version", "print the version", version},
		{"help", "print this", func([]string) int { usage(os.Stdout); return 0 }},
	}
}

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	name := "serve"
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "-help") {
		name, args = "help", nil
	} else if len(args) > 0 && (args[0] == "-version" || args[0] == "--version") {
		name, args = "version", nil
	} else if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(args)
		}
	}
	fmt.Fprintf(os.Stderr, "shelld: there is no command %q\n\n", name)
	usage(os.Stderr)
	return 2
}

// parseFlags reads the flags of a command that takes nothing else. Where ok is false the
// command is over, with this exit status, and what there was to say was said. fs is
// named as the command is called.
func parseFlags(fs *flag.FlagSet, args []string) (status int, ok bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return 2, false
	case fs.NArg() > 0:
		fmt.Fprintf(os.Stderr, "%s: there is nothing to do with %q; see %[1]s -h\n", fs.Name(), fs.Arg(0))
		return 2, false
	}
	return 0, true
}

func usage(w io.Writer) {
	fmt.Fprint(w, `shelld is to shells what clangd is to C++: a server that editors and agents start
as a child process and drive over stdin and stdout, in JSON-RPC. It runs commands on
real terminals, streams their output, types into them, and ends all that they start.

Usage: shelld [COMMAND] [FLAGS]

`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-11s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, `
"shelld serve -h" shows the flags of the server. The protocol is described by the
schema files in schema/json, and in docs/.
`)
}
