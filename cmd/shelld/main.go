// Command shelld runs commands on real terminals and pipes for programs that drive it over its standard input and
// output, in JSON-RPC: the Shell Server Protocol.
//
// Without a subcommand it is the server. Its stdout is reserved for the protocol; all other messages go to stderr.
package main

import (
	"os"

	"shelld.dev/shelld/cmd/internal/base"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) > 0 && (args[0] == "-version" || args[0] == "--version") {
		args = append([]string{"version"}, args[1:]...)
	}
	return shelld().Run(args)
}

// shelld returns the table of all commands, in the order of help.
func shelld() *base.Command {
	return &base.Command{
		Name:    "shelld",
		Default: "serve",
		About: `shelld is to shells what clangd is to C++: a server that editors and agents start
as a child process and drive over stdin and stdout, in JSON-RPC. It runs commands on
real terminals, streams their output, types into them, and ends every process they start.`,
		Notes: `"shelld help COMMAND" shows the flags of a command. The protocol is described by the
schema files in schema/json, and in docs/.

Exit status: 0 if it worked, 1 if something failed, 2 if the command line is wrong.
"shelld run" has the exit status of its command, and 125 for its own errors.`,
		Commands: []*base.Command{
			serveCommand(), connectCommand(), sessionsCommand(), attachCommand(), runCommand(), jobsCommand(), doctorCommand(), demoCommand(),
			schemaCommand(), conformanceCommand(), versionCommand(), hostCommand(),
		},
	}
}
