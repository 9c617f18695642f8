package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"shelld.dev/shelld/schema"
)

// This file has the tool of Gemini CLI's first shell: execute_bash_command.

func (f *front) addBash() {
	add[bashParams, bashResult](f, tool[bashParams]{
		name:  "execute_bash_command",
		title: "Shell",
		description: "Executes a command with bash -c, without input, and returns when it has ended: Command, Directory, Stdout, Stderr, Error, Exit Code, Signal and Background PIDs (those of processes that it has left running). " +
			"For commands that ask, or that do not end by themselves, use run_shell_command or CliSession.",
		destructive: true,
		asks:        true,
		badSchema:   "Parameters failed schema validation.",
		check:       func(p bashParams) string { return f.checkBash(&p) },
		rejected: func(args json.RawMessage, reason string) string {
			var p struct {
				Command json.RawMessage `json:"command"`
			}
			_ = json.Unmarshal(args, &p) // Arguments that are not an object have no command.
			var command string
			if json.Unmarshal(p.Command, &command) != nil {
				command = string(p.Command)
			}
			return "Command rejected: " + command + "\nReason: " + reason
		},
		run: executeBashCommand,
	})
}

type bashParams struct {
	Command     string `json:"command" jsonschema:"Command to execute, on one line."`
	Description string `json:"description,omitempty" jsonschema:"Brief description of the command for the user, on one line."`
	Directory   string `json:"directory,omitempty" jsonschema:"Directory to execute the command in, relative to the project root. Must already exist. Default: the project root."`
}

type bashResult struct {
	Command        string  `json:"command"`
	Directory      string  `json:"directory" jsonschema:"As it was given; (root) for none."`
	Stdout         string  `json:"stdout"`
	Stderr         string  `json:"stderr"`
	Error          string  `json:"error,omitempty"`
	ExitCode       *int64  `json:"exitCode"`
	Signal         *string `json:"signal"`
	BackgroundPIDs []int64 `json:"backgroundPIDs"`
	Handle         int64   `json:"handle" jsonschema:"For kill, where it has left processes running."`
}

// otherSpace matches the white space that the seed rejects in a command.
var otherSpace = regexp.MustCompile(`[\t\n\v\f\r\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]`)

// checkBash validates parameters as the seed's validateToolParams does: in its order, with its messages.
func (f *front) checkBash(p *bashParams) string {
	switch {
	case strings.TrimSpace(p.Command) == "":
		return "Command cannot be empty."
	case otherSpace.MatchString(p.Command):
		return "Command cannot contain any whitespace other than plain spaces."
	case commandRoot(p.Command) == "":
		return "Could not identify command root to obtain permission from user."
	case p.Directory == "":
		return ""
	case filepath.IsAbs(p.Directory):
		return "Directory cannot be absolute. Must be relative to the project root directory."
	}
	if _, err := os.Stat(filepath.Join(f.root(), p.Directory)); err != nil {
		return "Directory must exist."
	}
	return ""
}

// root returns the directory in which commands start.
func (f *front) root() string {
	if p := f.engine.info.Policy; p != nil && p.RootDirectory != nil {
		return *p.RootDirectory
	}
	return f.cfg.root
}

// commandRoot is the seed's function: it returns the last path element of the first word. It is used only to check that
// there is one; questions and permissions use the server's roots, which are all commands of the line.
func commandRoot(command string) string {
	command = strings.NewReplacer("{", "", "}", "", "(", "", ")", "").Replace(strings.TrimSpace(command))
	first, _, _ := cutAny(command, " ;&|")
	if i := strings.LastIndexAny(first, `/\`); i >= 0 {
		first = first[i+1:]
	}
	return first
}

func cutAny(s, chars string) (before, after string, found bool) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

func executeBashCommand(ctx context.Context, c *call, p bashParams) (reply, error) {
	run := schema.JobRunParams{
		Command: new(strings.TrimSpace(p.Command)), Shell: new("bash"), Profile: new(c.front.cfg.profile),
		TimeoutMs: schema.NullOf[int64](), // The seed waits for the end without a limit.
		Format:    new(schema.RunFormatPlain), Events: runEvents,
	}
	if p.Directory != "" {
		run.Cwd = new(p.Directory)
	}
	if p.Description != "" {
		run.Description = new(strings.ReplaceAll(p.Description, "\n", " "))
	}
	r := bashResult{Command: p.Command, Directory: or(p.Directory, "(root)"), BackgroundPIDs: []int64{}}
	var o schema.JobRunResult
	if err := c.do(ctx, "job/run", run, &o); err != nil {
		if ctx.Err() != nil || kindOf(err) == "" || c.unanswered() != nil {
			return reply{}, err
		}
		r.Error = c.explain(err)
		return reply{text: r.text(), value: r, failed: true}, nil
	}
	r.Stdout, r.Stderr = c.runStreams(ctx, &o)
	r.Handle = o.Job.Handle
	if o.Exit != nil {
		r.ExitCode, r.Signal = o.Exit.Code, o.Exit.Signal
	}
	r.Error = hintText(o.Hint)
	r.BackgroundPIDs = c.leftBehind(ctx, &o.Job)
	return reply{text: r.text(), value: r}, nil
}

// runEvents are the events that the ledger needs: by default a job/run that is waited for sends none, and another call
// may want to end its job meanwhile.
var runEvents = []schema.EventName{schema.EventNameStarted, schema.EventNameExited, schema.EventNameClosed}

// runStreams returns the output of a command, with a mark in place of omitted output.
func (c *call) runStreams(ctx context.Context, o *schema.JobRunResult) (stdout, stderr string) {
	one := func(text *string, stream schema.Stream) string {
		if text == nil {
			return ""
		}
		if cut, there := o.Truncated[string(stream)]; there {
			return c.front.marked(ctx, o.Job.Handle, stream, *text, &cut)
		}
		return *text
	}
	return one(o.Stdout, schema.StreamStdout), one(o.Stderr, schema.StreamStderr)
}

// leftBehind returns the processes that an ended command has left running.
func (c *call) leftBehind(ctx context.Context, s *schema.JobState) []int64 {
	if s.Status == schema.StatusClosed {
		return []int64{}
	}
	info, err := c.get(ctx, s.Handle)
	if err != nil {
		return []int64{} // The job was closed and forgotten meanwhile.
	}
	return pids(info.Background)
}

// text returns the answer for models, in the seed's words.
func (r *bashResult) text() string {
	return strings.Join([]string{
		"Command: " + r.Command,
		"Directory: " + r.Directory,
		"Stdout: " + orEmpty(r.Stdout),
		"Stderr: " + orEmpty(r.Stderr),
		"Error: " + orNone(r.Error),
		"Exit Code: " + orNone(codeText(r.ExitCode)),
		"Signal: " + orNone(signalText(r.Signal)),
		"Background PIDs: " + orNone(numbers(r.BackgroundPIDs)),
	}, "\n")
}
