package main

import (
	"flag"
	"log/slog"
	"time"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/session"
)

// hostCommand returns the command that connect starts in a process of its own.
func hostCommand() *base.Command {
	return &base.Command{
		Name:    "host",
		Hidden:  true,
		Summary: "serve the clients of a session; started by connect",
		Flags: func(fs *flag.FlagSet) func(*base.Call) int {
			o := connectOptions{level: slog.LevelWarn}
			fs.StringVar(&o.session, "session", "", "the `name` of the session")
			fs.StringVar(&o.title, "name", "", "the `title` of the session")
			sessionsDir(fs, &o.dir)
			hostFlags(fs, &o)
			return func(*base.Call) int { return runHost(o) }
		},
	}
}

// A hostStatus is the status that a host reports.
type hostStatus struct {
	Clients        []hostClient `json:"clients"` // fronts
	LiveJobs       int          `json:"liveJobs"`
	EndsAt         *time.Time   `json:"endsAt,omitempty"` // of the last live job, if no client comes
	StateDirectory string       `json:"stateDirectory,omitempty"`
}

// A hostClient is a client of a host.
type hostClient struct {
	session.Client
	Since time.Time `json:"since"`
}
