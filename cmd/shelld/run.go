package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"shelld/cmd/internal/base"
)

// The exit statuses of run that are not the command's own: those of env(1), nohup(1),
// timeout(1) and the shells.
const (
	statusTimedOut    = 124
	statusFailed      = 125 // ours: the command was not started, or its end is not known
	statusNotRunnable = 126
	statusNotFound    = 127
	statusSignal      = 128 // and the signal's number
)

// runOptions are what run was asked for.
type runOptions struct {
	argv    []string
	line    string // of a shell, where there is no argv
	pty     bool
	cwd     string
	stderr  string
	timeout time.Duration // 0 = none
	shot    string        // the file for a picture of the screen; "" = none
	cols    int           // of the terminal; 0 = as ours, or the default
	rows    int
}

// runCommand is the subcommand run: one command through the protocol, as if it had
// been started without us.
func runCommand(args []string) int {
	o, status := runFlags(args, os.Stderr)
	if status >= 0 {
		return status
	}
	if err := base.EnoughDescriptors(base.ServerDescriptors); err != nil {
		fmt.Fprintln(os.Stderr, "shelld run:", err)
		return statusFailed
	}
	return runJob(o)
}

// runFlags returns status < 0 where there is something to run.
func runFlags(args []string, w io.Writer) (o runOptions, status int) {
	fs := flag.NewFlagSet("shelld run", flag.ContinueOnError)
	fs.SetOutput(w)
	fs.BoolVar(&o.pty, "pty", false, "give the command a terminal of its own")
	fs.StringVar(&o.line, "c", "", "run this `line` with the default shell, in place of a command")
	fs.StringVar(&o.cwd, "cwd", "", "start in this `directory`")
	fs.StringVar(&o.stderr, "stderr", "", "where stderr goes: `how` is separate, merge (into stdout, in true order; the default where ours go to the same place) or discard; not with -pty")
	fs.Func("timeout", "end the command after this `time`: 10, 1.5, 90s, 2m", o.setTimeout)
	fs.StringVar(&o.shot, "screenshot", "", "write what the terminal shows when the command or the time ends to this `file`: a picture (.png), text (.txt), or what another terminal has to be sent to show the same (.ansi); means -pty")
	fs.Func("size", "the terminal's `size`, as 120x40 (columns and rows); with -pty", o.setSize)
	fs.Usage = func() { runUsage(w, fs) }
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return o, 0
	case err != nil:
		return o, statusFailed
	}
	o.argv = fs.Args()
	o.pty = o.pty || o.shot != ""
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if bad := o.check(given["c"]); bad != "" {
		fmt.Fprintf(w, "shelld run: %s; see shelld run -h\n", bad)
		return o, statusFailed
	}
	return o, -1
}

func (o *runOptions) setTimeout(s string) error {
	d, err := time.ParseDuration(s)
	if seconds, numErr := strconv.ParseFloat(s, 64); numErr == nil {
		d, err = time.Duration(math.Min(seconds*float64(time.Second), math.MaxInt64/2)), nil
	}
	if err != nil || d <= 0 {
		return errors.New("give seconds, or a number with a unit, such as 90s or 2m; more than none")
	}
	o.timeout = d
	return nil
}

// maxSide is the protocol's bound on the columns and rows of a terminal.
const maxSide = 65535

func (o *runOptions) setSize(s string) error {
	var rest string
	n, _ := fmt.Sscanf(s+" .", "%dx%d %s", &o.cols, &o.rows, &rest) // What is missing shows in n.
	if n < 3 || rest != "." || min(o.cols, o.rows) < 1 || max(o.cols, o.rows) > maxSide {
		return errors.New("give columns and rows, such as 120x40; at most 65535 of each")
	}
	return nil
}

// screenFormat is what a file is written as; "" is none.
func screenFormat(file string) string { return screenFormats[strings.ToLower(filepath.Ext(file))] }

// screenFormats are what screenshots are written as, by the end of the file's name.
var screenFormats = map[string]string{".png": "png", ".txt": "text", ".ansi": "ansi"}

// check says what is wrong with the options together, or "".
func (o *runOptions) check(line bool) string {
	switch {
	case line && len(o.argv) > 0:
		return fmt.Sprintf("-c has the whole line, and there is nothing to do with %q", o.argv[0])
	case !line && len(o.argv) == 0:
		return "there is no command to run"
	case o.stderr != "" && o.pty:
		return "-stderr does not go with -pty: a terminal has one stream"
	case o.cols != 0 && !o.pty:
		return "-size is that of a terminal: give -pty as well"
	case o.shot != "" && screenFormat(o.shot) == "":
		return fmt.Sprintf("-screenshot writes .png, .txt and .ansi, and %q ends in none of them", o.shot)
	}
	switch o.stderr {
	case "", "separate", "merge", "discard":
		return ""
	}
	return fmt.Sprintf("-stderr is separate, merge or discard, not %q", o.stderr)
}

func runUsage(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprint(w, `Usage: shelld run [FLAGS] [--] COMMAND [ARG...]
       shelld run [FLAGS] -c LINE

Runs a command to its end through a server of its own. Input, output and signals go
through as they come, byte by byte; whatever the command has started and left behind
is ended with it.

`)
	fs.PrintDefaults()
	fmt.Fprint(w, `
The exit status is the command's, or 128 and the number of the signal that ended it.
124: the time was over. 125: shelld itself failed. 126: the command cannot be
executed. 127: it was not found. 141: nobody reads the output any more.
The second INT, TERM, HUP or QUIT kills the command.
`)
}
