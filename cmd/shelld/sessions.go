package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/session"
)

// sessionsCommand returns the command for sessions.
func sessionsCommand() *base.Command {
	return &base.Command{
		Name:    "sessions",
		Summary: "list, show, end and tidy up the sessions of shelld connect",
		Default: "list",
		About:   `Shows the sessions that "shelld connect" has started, and ends them.`,
		Notes: `Exit status: 0 if it worked, 1 if something failed, 2 if the command line is wrong, 69 if there
is no such session, 75 if its host does not answer, 77 if it belongs to another user.`,
		Commands: []*base.Command{
			sessionsRow("list", "", "list the sessions (the default)", listSessions),
			sessionsRow("show", "NAME", "print everything known about a session", showSession),
			sessionsRow("end", "NAME", "end the host of a session and all of its jobs, and wait for it", endSession),
			sessionsRow("prune", "", "delete what ended hosts have left, except stored output", pruneSessions),
		},
	}
}

// A sessionsCall is the command line of a subcommand.
type sessionsCall struct {
	*base.Call
	*session.Directory
	asJSON    bool
	elsewhere string // with prune
}

// sessionsRow returns one of the subcommands.
func sessionsRow(name, operands, summary string, run func(sessionsCall) error) *base.Command {
	c := &base.Command{Name: name, Operands: operands, Summary: summary, Mixed: true}
	c.Like = map[string][]string{"list": {"ls", "ps"}, "end": {"kill", "stop", "rm"}, "prune": {"clean"}}[name]
	c.Flags = func(fs *flag.FlagSet) func(*base.Call) int {
		var dir string
		sessionsDir(fs, &dir)
		asJSON, elsewhere := fs.Bool("json", false, "print JSON, for programs"), ""
		if name == "prune" {
			fs.StringVar(&elsewhere, "elsewhere", "", "delete only the `session` of a machine or container that is gone")
		}
		return func(c *base.Call) int {
			if operands != "" && len(c.Args) != 1 {
				return c.Wrong("name one session; \"shelld sessions\" lists them")
			}
			d, err := session.Open(dir)
			if err == nil {
				err = run(sessionsCall{c, d, *asJSON, elsewhere})
			}
			if err != nil {
				return connectFailed(c, err)
			}
			return 0
		}
	}
	return c
}

// A shownSession is a session as list and show print it in JSON.
type shownSession struct {
	Name      string          `json:"name"`
	Alive     bool            `json:"alive"`
	Directory string          `json:"directory"`
	ID        string          `json:"id,omitempty"`
	Title     string          `json:"title,omitempty"`
	PID       int             `json:"pid,omitempty"`
	Hostname  string          `json:"hostname,omitempty"`
	Version   string          `json:"version,omitempty"`
	Protocol  string          `json:"protocol,omitempty"`
	Created   *time.Time      `json:"created,omitempty"`
	Status    json.RawMessage `json:"status,omitempty"` // as the host reports it
	Error     string          `json:"error,omitempty"`

	told sessionTold
}

// A sessionTold is the part of a host's status that is shown to people.
type sessionTold struct {
	Clients        []hostClient `json:"clients"`
	LiveJobs       *int         `json:"liveJobs"`
	EndsAt         *time.Time   `json:"endsAt"`
	StateDirectory string       `json:"stateDirectory"`
}

func shown(e session.Entry) shownSession {
	s := shownSession{Name: e.Name, Alive: e.Alive, Directory: e.Path, Status: e.Status}
	if e.Known {
		i := e.Info
		s.ID, s.Title, s.PID, s.Hostname, s.Version, s.Protocol = i.ID, i.Title, i.PID, i.Hostname, i.Version, i.Protocol
		s.Created = &i.Created
	}
	if e.Err != nil {
		s.Error = base.Explain(e.Err)
	}
	_ = json.Unmarshal(e.Status, &s.told) // A status of another version is not shown.
	return s
}

// state returns the state of a session in a few words.
func (s *shownSession) state() string {
	switch {
	case s.Alive && s.Error != "":
		return "does not answer"
	case s.Alive:
		return "alive"
	case s.Error != "":
		return "unusable"
	}
	return "ended"
}

func listSessions(c sessionsCall) error {
	entries, err := c.List()
	if err != nil {
		return err
	}
	all := []shownSession{}
	for _, e := range entries {
		all = append(all, shown(e))
	}
	if c.asJSON {
		return writeJSON(os.Stdout, map[string]any{"directory": c.Path(), "sessions": all})
	}
	if len(all) == 0 {
		fmt.Fprintf(os.Stderr, "there are no sessions in %s\n", printable(c.Path()))
		return nil
	}
	rows := [][]string{{"SESSION", "STATE", "CLIENTS", "JOBS", "CREATED", "ENDS", "TITLE"}}
	for i := range all {
		s := &all[i]
		clients, jobs := "", ""
		if s.told.Clients != nil {
			clients = fmt.Sprint(len(s.told.Clients))
		}
		if s.told.LiveJobs != nil {
			jobs = fmt.Sprint(*s.told.LiveJobs)
		}
		rows = append(rows, []string{s.Name, s.state(), clients, jobs, localTime(s.Created), localTime(s.told.EndsAt), s.Title})
	}
	return printLines(columns(rows))
}

// localTime formats a time for people; nil: "".
func localTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func showSession(c sessionsCall) error {
	e, err := c.Show(c.Args[0])
	if err != nil {
		return err
	}
	s := shown(e)
	if c.asJSON {
		return writeJSON(os.Stdout, s)
	}
	var lines []string
	add := func(title, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf("%-12s %s", title, value))
		}
	}
	add("session", s.Name)
	add("state", s.state())
	add("", s.Error)
	add("title", s.Title)
	if s.PID != 0 {
		add("process", fmt.Sprint(s.PID))
	}
	add("machine", s.Hostname)
	add("created", localTime(s.Created))
	add("ends", localTime(s.told.EndsAt))
	add("version", s.Version)
	add("id", s.ID)
	add("directory", s.Directory)
	add("output in", s.told.StateDirectory)
	if s.told.LiveJobs != nil {
		add("live jobs", fmt.Sprint(*s.told.LiveJobs))
	}
	for _, c := range s.told.Clients {
		add("client", fmt.Sprintf("%s (process %d), since %s", c.Name, c.PID, localTime(&c.Since)))
	}
	return printLines(lines)
}

func endSession(c sessionsCall) error {
	ctx, release := heedSignals(context.Background())
	defer release()
	if err := c.End(ctx, c.Args[0]); err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(os.Stdout, map[string]any{"ended": c.Args[0]})
	}
	return nil
}

func pruneSessions(c sessionsCall) error {
	deleted, skipped, err := c.prune()
	if err != nil && c.elsewhere != "" {
		return err
	}
	if c.asJSON {
		all := map[string]any{"deleted": append([]string{}, deleted...)}
		if len(skipped) > 0 {
			all["skipped"] = skipped
		}
		return errors.Join(writeJSON(os.Stdout, all), err)
	}
	for _, s := range skipped {
		fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name(), printable(s.Why))
	}
	return errors.Join(printLines([]string{count(len(deleted), "session") + " deleted"}), err)
}

func (c sessionsCall) prune() (deleted []string, skipped []session.Skip, err error) {
	if c.elsewhere == "" {
		return c.Prune()
	}
	if err := c.PruneElsewhere(c.elsewhere); err != nil {
		return nil, nil, err
	}
	return []string{c.elsewhere}, nil, nil
}

// printLines writes lines for people.
func printLines(lines []string) error {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(cutLine(l, 0) + "\n")
	}
	_, err := os.Stdout.WriteString(b.String())
	return err
}
