package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"shelld.dev/shelld/cmd/internal/base"
)

// These are the exit statuses of run that are not the command's own: those of env(1), nohup(1), timeout(1) and the
// shells.
const (
	statusTimedOut    = 124
	statusFailed      = 125 // ours: the command was not started, or its end is unknown
	statusNotRunnable = 126
	statusNotFound    = 127
	statusSignal      = 128 // plus the number of the signal
)

// runOptions are the options of run.
type runOptions struct {
	argv    []string
	line    string // command line for a shell, if argv is empty
	pty     bool
	cwd     string
	stderr  string
	timeout time.Duration // 0: none
	shot    string        // file for a picture of the screen; "": none
	cols    int           // of the terminal; 0: as ours, or the default
	rows    int
}

func runCommand() *base.Command {
	return &base.Command{
		Name:     "run",
		Operands: "COMMAND [ARG...]",
		Usage:    []string{"[FLAGS] [--] COMMAND [ARG...]", "[FLAGS] -c LINE"},
		Summary:  "run one command through the protocol, as if it were started directly",
		Status:   statusFailed,
		Flags:    runFlags,
		About: `Runs a command to its end through a server of its own. Input, output and signals are
forwarded at once, byte by byte; processes that the command leaves behind are ended
with it.`,
		Notes: `Exit status: that of the command, or 128 and the number of the signal that ended it.
124: the timeout expired. 125: shelld itself failed, or the command line is wrong. 126: the
command cannot be executed. 127: it was not found. 141: nothing reads the output any more.
The second INT, TERM, HUP or QUIT kills the command.`,
	}
}

func runFlags(fs *flag.FlagSet) func(*base.Call) int {
	o := &runOptions{}
	fs.BoolVar(&o.pty, "pty", false, "give the command a terminal of its own")
	fs.StringVar(&o.line, "c", "", "run this `line` with the default shell, in place of a command")
	fs.StringVar(&o.cwd, "cwd", "", "start in this `directory`")
	fs.Var(base.Choice{To: &o.stderr, Allowed: []string{"separate", "merge", "discard"}}, "stderr", "where stderr goes: `how` is separate, merge (into stdout, in the true order; the default if our stdout and stderr go to the same place) or discard; not with -pty")
	fs.Func("timeout", "end the command after this `time`: 10, 1.5, 90s, 2m", o.setTimeout)
	fs.StringVar(&o.shot, "screenshot", "", "write the screen at the end of the command, or at the timeout, to this `file`: a picture (.png), text (.txt), or the escape sequences that show the same (.ansi); implies -pty")
	fs.Func("size", "the terminal's `size`, as 120x40 (columns and rows); with -pty", o.setSize)
	return func(c *base.Call) int {
		o.argv = c.Args
		o.pty = o.pty || o.shot != ""
		if bad := o.check(c.Given("c")); bad != "" {
			return c.Wrong("%s", bad)
		}
		if err := base.EnoughDescriptors(base.ServerDescriptors); err != nil {
			fmt.Fprintln(os.Stderr, "shelld run:", err)
			return statusFailed
		}
		return runJob(*o)
	}
}

func (o *runOptions) setTimeout(s string) (err error) {
	o.timeout, err = readTime(s, 1)
	return err
}

// readTime parses the time in a flag, in seconds or with a unit.
func readTime(s string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if seconds, numErr := strconv.ParseFloat(s, 64); numErr == nil && !math.IsNaN(seconds) {
		d, err = time.Duration(min(max(seconds*float64(time.Second), -1), math.MaxInt64/2)), nil
	}
	switch {
	case err == nil && d >= least:
		return d, nil
	case least > 0:
		return 0, errors.New("give seconds, or a number with a unit, such as 90s or 2m; greater than 0")
	}
	return 0, errors.New("give seconds, or a number with a unit, such as 90s or 2m; 0 or more")
}

// maxSide is the protocol's limit for the columns and rows of a terminal.
const maxSide = 65535

func (o *runOptions) setSize(s string) error {
	var rest string
	n, _ := fmt.Sscanf(s+" .", "%dx%d %s", &o.cols, &o.rows, &rest) // A missing part shows in n.
	if n < 3 || rest != "." || min(o.cols, o.rows) < 1 || max(o.cols, o.rows) > maxSide {
		return errors.New("give columns and rows, such as 120x40; at most 65535 of each")
	}
	return nil
}

// screenFormat returns the format for a file name; "": unknown.
func screenFormat(file string) string { return screenFormats[strings.ToLower(filepath.Ext(file))] }

// screenFormats maps file extensions to the formats of screenshots.
var screenFormats = map[string]string{".png": "png", ".txt": "text", ".ansi": "ansi"}

// check returns the error in the combination of options, or "".
func (o *runOptions) check(line bool) string {
	switch {
	case line && len(o.argv) > 0:
		return fmt.Sprintf("-c takes the whole line; unexpected argument %q", o.argv[0])
	case !line && len(o.argv) == 0:
		return "there is no command to run"
	case o.stderr != "" && o.pty:
		return "-stderr cannot be combined with -pty: a terminal has one stream"
	case o.cols != 0 && !o.pty:
		return "-size needs a terminal: give -pty as well"
	case o.shot != "" && screenFormat(o.shot) == "":
		return fmt.Sprintf("-screenshot writes .png, .txt and .ansi, and %q ends in none of them", o.shot)
	}
	return ""
}
