package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/session"
)

// An attachOptions is the command line of attach.
type attachOptions struct {
	dir, session, job string
	view              bool
	key               detachKey
}

func attachCommand() *base.Command {
	return &base.Command{
		Name:     "attach",
		Operands: "JOB",
		Mixed:    true,
		Summary:  "look at a job of a session in this terminal, and type into it",
		Like:     []string{"join", "watch"},
		About: `Shows a job of a session of "shelld connect" in this terminal, and takes its input, also from
another client: keys go to the job, and its terminal gets the size of this one. JOB is a
handle or a name. The detach key, pressed twice, gives the input back to the client that
had it, and leaves the job running.`,
		Notes: `A single detach key goes to the job together with the key after it. If another client takes
the input, keys do nothing; the detach key and then t takes it again.

Exit status: that of the job, as of "shelld run"; 0 after detaching, 1 if something failed, 2
if the command line is wrong or there is no terminal, 69 if there is no such session or job,
75 if the host of the session is gone or does not answer, 76 and 77 as of "shelld connect".`,
		Flags: attachFlags,
	}
}

func attachFlags(fs *flag.FlagSet) func(*base.Call) int {
	o := attachOptions{key: defaultDetachKey}
	fs.StringVar(&o.session, "session", "", "the `name` of the session; by default the one that has such a job")
	fs.BoolVar(&o.view, "view", false, "only look: never type, and leave the input and the size alone")
	fs.Var(&o.key, "detach-key", "the `key` that detaches if pressed twice: ctrl- and a letter or one of \\ ] ^ _")
	sessionsDir(fs, &o.dir)
	return func(c *base.Call) int {
		if len(c.Args) != 1 || c.Args[0] == "" {
			return c.Wrong("name one job, by its handle or its name")
		}
		o.job = c.Args[0]
		if o.session != "" {
			if err := session.CheckName(o.session); err != nil {
				return c.Wrong("-session %w", err)
			}
		}
		if why := noTerminal(); why != "" {
			fmt.Fprintf(os.Stderr, "%s: %s; \"shelld jobs tail -f\" prints a job's output anywhere\n", c.Name(), why)
			return base.StatusUsage
		}
		return attach(c, o)
	}
}

// noTerminal returns why a job cannot be shown here, or "".
func noTerminal() string {
	switch {
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return "stdin is not a terminal"
	case !term.IsTerminal(int(os.Stdout.Fd())):
		return "stdout is not a terminal"
	case os.Getenv("TERM") == "dumb":
		return "this terminal cannot draw a screen (TERM is dumb)"
	}
	return ""
}

// attachFailed prints an error. It returns the exit status.
func attachFailed(c *base.Call, err error) int {
	if e, ok := errors.AsType[*noJobError](err); ok {
		fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name(), printable(e.text))
		return statusNoSession
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name(), printable(strings.ReplaceAll(explainCall(err), "\n", "; ")))
	return sessionStatus(err)
}

// A noJobError is the error for a job that is in no session, or in several.
type noJobError struct{ text string }

func (e *noJobError) Error() string { return e.text }

// A detachKey is the control character that detaches if it comes twice in a row.
type detachKey byte

// Ctrl-\ is free in tmux and readline, and vim, emacs and a terminal that edits lines do nothing with two of them that
// one would not do.
const defaultDetachKey detachKey = '\\' & 0x1f

func (k *detachKey) String() string { return "ctrl-" + strings.ToLower(string(rune(*k|0x40))) }

// Set reads a key, such as ctrl-] or ctrl-a.
func (k *detachKey) Set(s string) error {
	c, ok := strings.CutPrefix(strings.ToLower(s), "ctrl-")
	c = strings.ToUpper(c)
	// Ctrl-[ is Escape, with which the sequences of other keys begin; Ctrl-M is Enter.
	if !ok || len(c) != 1 || c[0] < 'A' || c[0] > '_' || c[0] == '[' || c[0] == 'M' {
		return errors.New(`give ctrl- and a letter except m, or one of \ ] ^ _`)
	}
	*k = detachKey(c[0] & 0x1f)
	return nil
}

// shown returns the key as people write it.
func (k detachKey) shown() string { return "Ctrl-" + string(rune(k|0x40)) }

// A keyCommand is what the keys ask of attach itself.
type keyCommand int

const (
	keyNothing keyCommand = iota
	keyDetach
	keyTake
)

// A keyFilter finds the detach key in typed input. It holds a single one back until the next key, so that the first of
// two does not reach the job, in which it may end a program.
type keyFilter struct {
	key  detachKey
	held bool
}

// filter returns the bytes before a command that are for the job, and the command. typing says whether the job gets
// them: only if not, t behind the detach key is a command.
func (f *keyFilter) filter(typed []byte, typing bool) (forJob []byte, command keyCommand) {
	for _, c := range typed {
		switch held := f.held; {
		case held && c == byte(f.key):
			f.held = false
			return forJob, keyDetach
		case held && !typing && (c == 't' || c == 'T'):
			f.held = false
			return nil, keyTake
		case c == byte(f.key):
			f.held = true
			continue
		case held:
			f.held = false
			forJob = append(forJob, byte(f.key))
		}
		forJob = append(forJob, c)
	}
	return forJob, keyNothing
}
