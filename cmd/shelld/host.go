package main

import (
	"flag"
	"log/slog"

	"shelld.dev/shelld/cmd/internal/base"
)

// hostCommand returns the command that connect starts in a process of its own.
func hostCommand() *base.Command {
	return &base.Command{
		Name:    "host",
		Hidden:  true,
		Summary: "serve the clients of a session; started by connect",
		Flags: func(fs *flag.FlagSet) func(*base.Call) int {
			o := connectOptions{framing: "auto", level: slog.LevelWarn}
			fs.StringVar(&o.session, "session", "", "the `name` of the session")
			fs.StringVar(&o.title, "name", "", "the `title` of the session")
			sessionsDir(fs, &o.dir)
			hostFlags(fs, &o)
			return func(*base.Call) int { return runHost(o) }
		},
	}
}
