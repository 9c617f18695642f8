package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/internal/front"
	"shelld.dev/shelld/session"
)

// The exit statuses of connect besides 0, 1 and 2. They are those of sysexits.h.
const (
	statusNoSession = 69
	statusHostGone  = front.StatusGone
	statusVersion   = 76
	statusNotYours  = 77
)

// A connectOptions is the command line of connect.
type connectOptions struct {
	dir, session, title string
	new, existing       bool
	level               slog.Level
}

func connectCommand() *base.Command {
	return &base.Command{
		Name:    "connect",
		Summary: "speak the protocol with a session that outlives its client",
		Usage:   []string{"-session NAME [FLAGS]", "-new [FLAGS]"},
		About: `Attaches stdin and stdout to the host of a session, a detached server, which is started
if there is none. Jobs that are started with onDetach "keep" live on when the client or
this process ends; "shelld connect -session NAME" attaches to them again.`,
		Notes: `Exit status: 0 if the client has detached or ended the session properly, 1 if not or if
something failed, 2 if the command line is wrong, 69 if there is no such session, 75 if the
host has ended, with its jobs, or does not answer, 76 if the host does not know this kind
of request, 77 if the session belongs to another user or machine.`,
		Flags: connectFlags,
	}
}

func connectFlags(fs *flag.FlagSet) func(*base.Call) int {
	o := connectOptions{level: slog.LevelWarn}
	fs.StringVar(&o.session, "session", "", "the `name` of the session: letters, digits, dots, dashes and underscores")
	fs.BoolVar(&o.new, "new", false, "make a session with a name of its own, and print that on stderr")
	fs.StringVar(&o.title, "name", "", "a `title` for people, if the session is a new one")
	fs.BoolVar(&o.existing, "existing", false, "do not start a host")
	sessionsDir(fs, &o.dir)
	hostFlags(fs, &o)
	return func(c *base.Call) int { return connect(c, o) }
}

func sessionsDir(fs *flag.FlagSet, to *string) {
	fs.StringVar(to, "dir", "", "the `directory` of the sessions; by default $XDG_STATE_HOME/shelld/hosts, or its counterpart on this platform")
}

// hostFlags declares the flags that a new host takes over.
func hostFlags(fs *flag.FlagSet, o *connectOptions) {
	fs.Var(base.Level{Level: &o.level}, "log", "the lowest `level` that a new host logs to host.log in the session's directory: debug, info, warn or error")
}

// connect hands stdin and stdout over to a host. It returns the exit status.
func connect(c *base.Call, o connectOptions) int {
	switch {
	case o.new == (o.session != ""):
		return c.Wrong("name a session with -session NAME, or make one with -new")
	case o.new && o.existing:
		return c.Wrong("-existing is for -session")
	}
	if o.session != "" {
		if err := session.CheckName(o.session); err != nil {
			return c.Wrong("-session %w", err)
		}
	}
	for _, f := range []struct {
		name string
		*os.File
	}{{"stdin", os.Stdin}, {"stdout", os.Stdout}} {
		if term.IsTerminal(int(f.Fd())) {
			fmt.Fprintf(os.Stderr, "%s: %s is a terminal; programs start this command, and speak JSON-RPC with it over pipes\n", c.Name(), f.name)
			return base.StatusUsage
		}
	}
	if err := base.EnoughDescriptors(base.ServerDescriptors); err != nil {
		return connectFailed(c, err)
	}
	link, again, err := o.attach()
	if err != nil {
		return connectFailed(c, err)
	}
	f := front.Front{Link: link.File, Host: link.Host, Again: again}
	if err := f.Become(); !errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintf(os.Stderr, "%s: this process stays larger than it needs to be: %v\n", c.Name(), err)
	}
	// The host has them. Each is closed only once everywhere.
	_ = os.Stdin.Close()
	_ = os.Stdout.Close()
	return f.Wait()
}

// attach returns the link, and a command line that attaches to the session again.
func (o connectOptions) attach() (link *session.Link, again string, err error) {
	d, err := session.Open(o.dir)
	if err != nil {
		return nil, "", err
	}
	if o.new {
		if o.session, err = d.New(); err != nil {
			return nil, "", err
		}
		fmt.Fprintf(os.Stderr, "shelld connect: the session is %s\n", o.session)
	}
	again = "shelld connect -session " + o.session
	if o.dir != "" {
		again += " -dir " + shellWord(o.dir)
	}
	link, err = d.Connect(session.Call{
		Session: o.session, Existing: o.existing, Host: o.host(d.Path()),
		Client: session.Client{PID: os.Getpid(), Name: parentName()}, In: os.Stdin, Out: os.Stdout,
	})
	return link, again, err
}

// host returns the command line of a host.
func (o connectOptions) host(dir string) []string {
	return []string{"shelld", "host", "-session", o.session, "-name", o.title, "-dir", dir, "-log", o.level.String()}
}

// parentName returns the name of the program that has started this one, or "".
func parentName() string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	if err != nil {
		return "" // It is only for people.
	}
	return strings.TrimSpace(string(b))
}

// connectFailed prints an error. It returns the exit status.
func connectFailed(c *base.Call, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name(), printable(strings.ReplaceAll(base.Explain(err), "\n", "; ")))
	return sessionStatus(err)
}

// sessionStatus returns the exit status for an error.
func sessionStatus(err error) int {
	e, _ := errors.AsType[*session.Error](err)
	if e == nil {
		return 1
	}
	switch e.Kind {
	case session.NotFound:
		return statusNoSession
	case session.Gone, session.Refused, session.Ending:
		return statusHostGone
	case session.Version, session.Malformed:
		return statusVersion
	case session.NotOurs, session.Elsewhere:
		return statusNotYours
	}
	return 1
}
