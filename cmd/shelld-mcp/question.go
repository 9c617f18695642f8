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

	"shelld/cmd/internal/base"
	"shelld/schema"
)

// A question is what a person is asked about a call.
type question struct {
	action  schema.ConfirmAction
	command string // what would be run or typed; of a kill, what the job runs
	cwd     string
	handle  int64    // 0: of a start
	verb    string   // of a variable: Set or Unset
	into    string   // of a write: what the job runs
	asker   string   // whose call it is
	roots   []string // what an answer for always would allow; nil: none would be kept

	// Of a start:
	unknown     bool               // it may run more than the command shows
	variables   map[string]*string // those that change which commands run; nil value: unset
	environment string             // another one if a variable is
}

// actionVariable is the change of a variable for all commands. The server asks about none.
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

// digest tells what is asked for apart from all else that may be: by the call as the host has
// made it, which has the very bytes, and by what it would reach. How that is shown is no part
// of it: while a person thinks, a program may turn off its echo, and what is typed into it is
// shown as *** from then on.
func (c *call) digest(q *question) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s,", len(s), s) }
	part(string(q.action))
	part(c.tool)
	part(canonical(c.req.Params.Arguments))
	if part(strconv.FormatInt(q.handle, 10)); q.handle == 0 {
		part(q.cwd) // Of a start, which reaches what is below that.
		part(q.command)
		part(q.environment)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical is a JSON text as any host writes it again: the order of members and blanks mean
// nothing.
func canonical(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return string(args) // It has none; what cannot be read was refused before.
	}
	return string(encode(value))
}

// text is the question for a person, under the titles of the seeds. A model has written much
// of it, and a host may show it on a terminal: what is no text is shown by its name.
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

// more is what a start may run that its command does not show.
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

// keeps reports whether the server would keep an answer for always, which it tells: not of what is
// typed, nor of a line that may run more than is known or that writes into a file.
func (q *question) keeps() bool { return len(q.roots) > 0 }

// mostRoots is how many of the commands of a line are named.
const mostRoots = 8

// always says what an answer for always allows: not the line, but the commands in it, with whatever
// arguments.
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
		what = "the end of " + what
	}
	if local {
		what += ", in this directory"
	}
	return what + ", whatever the arguments, from now on: nobody is asked about that as long as this server lives."
}

func indented(s string) string {
	return "    " + strings.ReplaceAll(base.Visible(s, "\n"), "\n", "\n    ")
}

// asker says whose call this is.
func (c *call) asker() string {
	host := "A host without a name"
	if p := c.req.Session.InitializeParams(); p != nil && p.ClientInfo != nil && p.ClientInfo.Name != "" {
		host = base.Visible(clip(p.ClientInfo.Name, 60), "")
	}
	return host + " has called the tool " + c.tool + " of shelld-mcp."
}

// intoOf is what is shown of the command that input goes to.
func intoOf(j *schema.JobInfo) string { return clip(commandOf(j), 1000) }

// shownKeys is what a person is shown of a write, as the server shows it, and whether it is
// keys alone: Ctrl-C can be written as text, too.
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
