package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
)

// A question asks a person about a call.
type question struct {
	action  schema.ConfirmAction
	command string // the command or the input; for a kill, the job's command
	cwd     string
	handle  int64    // 0: for a start
	verb    string   // for a variable: Set or Unset
	into    string   // for a write: the job's command
	session string   // in which an answer of always is kept; "": this process
	asker   string   // the host and the tool that have made the call
	roots   []string // the commands that an answer of always would allow; nil: such an answer would not be kept

	// For a start:
	unknown     bool               // it may run more commands than are shown
	variables   map[string]*string // the variables that change which commands run; nil value: unset
	environment string             // changes with each variable of the command
}

// actionVariable is the change of a variable for all commands. The server never asks about it.
const actionVariable schema.ConfirmAction = "variable"

func questionOf(p *schema.ClientConfirmParams) *question {
	q := &question{action: p.Action, command: p.Command, cwd: p.Cwd}
	if p.AlwaysKept {
		q.roots = p.Roots
	}
	if p.Action == schema.ConfirmActionStart {
		q.unknown, q.variables = p.Unknown, p.Variables
		if p.Environment != nil {
			q.environment = *p.Environment
		}
	}
	if p.Handle != nil {
		q.handle = *p.Handle
	}
	return q
}

// digest identifies the question: it hashes the call as the host has made it, with its exact input, and the target of
// the action. The text shown for the input is not part of it: while the person decides, a program may turn off its
// echo, and input for it is then shown as ***.
func (c *call) digest(q *question) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s,", len(s), s) }
	part(string(q.action))
	part(c.tool)
	part(canonical(c.req.Params.Arguments))
	if part(strconv.FormatInt(q.handle, 10)); q.handle == 0 {
		part(q.cwd) // For a start, which affects everything below this directory.
		part(q.command)
		part(q.environment)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical returns a JSON text in one form, whichever host has written it: without differences in the order of members
// and in white space.
func canonical(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return string(args) // The text is empty; invalid arguments were rejected before.
	}
	return string(encode(value))
}

// text returns the question for a person, with the seeds' titles. Most of it was written by a model, and a host may
// show it on a terminal: so control characters are replaced with names.
func (q *question) text() string {
	cwd := base.Visible(q.cwd, "")
	var ask string
	switch q.action {
	case schema.ConfirmActionKill:
		ask = fmt.Sprintf("Confirm Process Termination\n\nTerminate process %d?\n\n%s\nin %s", q.handle, indented(q.command), cwd)
	case schema.ConfirmActionWrite:
		ask = fmt.Sprintf("Confirm Shell Input\n\nType this into process %d?\n\n%s", q.handle, indented(q.command))
		if q.into != "" {
			ask += fmt.Sprintf("\n\nThe process is this, in %s:\n\n%s", cwd, indented(q.into))
		}
	case actionVariable:
		ask = fmt.Sprintf("Confirm Environment Variable\n\n%s this for every command that starts from now on?\n\n%s\n\nIt changes which commands run.", q.verb, indented(q.command))
	default:
		ask = fmt.Sprintf("Confirm Shell Command\n\nRun this in %s?\n\n%s", cwd, indented(q.command)) + q.more()
	}
	if q.keeps() {
		ask += "\n\nalways allows " + q.always()
	}
	return ask + "\n\n" + q.asker
}

// more lists the other commands that a start may run, besides the shown one.
func (q *question) more() string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(q.variables)) {
		if i == 0 {
			b.WriteString("\n\nThese variables change which commands run:\n")
		}
		change := name + " is unset"
		if value := q.variables[name]; value != nil {
			change = name + "=" + *value
		}
		b.WriteString("\n    " + base.Visible(change, ""))
	}
	if q.unknown {
		b.WriteString("\n\nIt may run other commands, which cannot be listed.")
	}
	return b.String()
}

// keeps reports whether the server would keep an answer of always. It does not for input, nor for a line that may run
// unknown commands or writes a file.
func (q *question) keeps() bool { return len(q.roots) > 0 }

// mostRoots is the maximum number of commands that a question lists.
const mostRoots = 8

// always describes the effect of the answer always: not this line only, but the commands in it, with any arguments.
func (q *question) always() string {
	names, local := make([]string, 0, len(q.roots)), false
	for _, root := range q.roots {
		local = local || strings.Contains(root, "/") && !strings.HasPrefix(root, "/")
		names = append(names, base.Visible(clip(root, 60), ""))
	}
	if more := len(names) - mostRoots; more > 1 {
		names = append(names[:mostRoots], fmt.Sprintf("%d more", more))
	}
	what := "every " + names[0]
	if last := len(names) - 1; last > 0 {
		what = "every line that runs " + strings.Join(names[:last], ", ") + " and " + names[last] + ", and nothing else"
	}
	if q.action == schema.ConfirmActionKill {
		what = "ending " + what
	}
	if local {
		what += ", in this directory"
	}
	until := "this server"
	if q.session != "" {
		until = "the session " + base.Visible(q.session, "")
	}
	return what + ", with any arguments, from now on: there are no more questions about it until " + until + " ends."
}

func indented(s string) string {
	return "    " + strings.ReplaceAll(base.Visible(s, "\n"), "\n", "\n    ")
}

// asker returns a sentence with the host and the tool of this call.
func (c *call) asker() string {
	host := "A host without a name"
	if p := c.req.Session.InitializeParams(); p != nil && p.ClientInfo != nil && p.ClientInfo.Name != "" {
		host = base.Visible(clip(p.ClientInfo.Name, 60), "")
	}
	return host + " has called the tool " + c.tool + " of shelld-mcp."
}

// intoOf returns the command that receives the input, clipped for a question.
func intoOf(j *schema.JobInfo) string { return clip(commandOf(j), 1000) }

// shownKeys returns the input of a write as a person is shown it, in the server's notation. It reports whether the
// write consists only of keys; text that consists of control characters, such as Ctrl-C, counts as keys.
func shownKeys(p *schema.JobWriteParams) (shown string, alone bool) {
	var b strings.Builder
	text := func(s *string) bool {
		if s == nil {
			return true
		}
		b.WriteString(*s)
		return strings.IndexFunc(*s, func(r rune) bool { return !unicode.IsControl(r) }) < 0
	}
	key := func(name string) { b.WriteString("<" + name + ">") }
	alone = text(p.Input)
	for _, name := range p.Keys {
		key(name)
	}
	for _, item := range p.Send {
		alone = text(item.Text) && alone
		if item.Key != nil {
			key(*item.Key)
		}
	}
	alone = alone && b.Len() > 0
	if p.AppendNewline != nil && *p.AppendNewline {
		b.WriteByte('\n')
	}
	return b.String(), alone
}
