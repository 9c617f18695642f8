package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"shelld.dev/shelld/schema"
)

// This file has CliSession of the CLI Tools Specification, and finds sessions by their IDs. A session is a job with a
// name; CliRead, CliWrite and CliStop, in a file each, use it.

func (f *front) addCliSession() {
	add[cliSessionParams, cliSessionResult](f, tool[cliSessionParams]{
		name:  "CliSession",
		title: "Start session",
		description: `Starts an interactive shell session for complex or long-running operations.

Use CliSession when:
- Running commands that take > 30 seconds
- Need to run multiple related commands
- Working with interactive tools (repl, debugger)
- Need to preserve working directory across commands

Workflow:
1. CliSession to start (get sessionId)
2. CliWrite to send commands
3. CliRead to get output
4. CliStop when done

Example - Run tests and debug:
1. CliSession workingDirectory="/project" → get sessionId
2. CliWrite sessionId="..." input="npm test{enter}"
3. CliRead to see results
4. CliWrite sessionId="..." input="npm run test:debug failed-test{enter}"
5. CliRead to see debug output
6. CliStop sessionId="..."`,
		destructive: true,
		check: func(p cliSessionParams) string {
			if n := utf8.RuneCountInString(p.SessionID); n > maxSessionID || strings.ContainsFunc(p.SessionID, unicode.IsControl) {
				return fmt.Sprintf("sessionId %s is invalid: it may have up to %d characters, and no control characters.", strconv.Quote(clip(p.SessionID, 60)), maxSessionID)
			}
			return ""
		},
		run: cliSession,
	})
	f.addCliRead()
	f.addCliWrite()
	f.addCliStop()
}

// maxSessionID limits the length of a sessionId, because lists contain it.
const maxSessionID = 128

// jobName matches the names that the server accepts for a job.
var jobName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)

// madeName is the prefix of the names made for IDs that the server does not accept.
const madeName = "id-"

// nameOf returns the name of a session's job: its ID or, if the server does not accept that, a unique name made from it
// that a person can recognize in a list of jobs.
func nameOf(id string) string {
	if jobName.MatchString(id) && !strings.HasPrefix(id, madeName) {
		return id
	}
	plain := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && jobName.MatchString("a"+string(r)) {
			return r
		}
		return '_'
	}, id)
	sum := sha256.Sum256([]byte(id))
	return madeName + plain[:min(len(plain), 44)] + "-" + hex.EncodeToString(sum[:8])
}

type cliSessionParams struct {
	Command          string            `json:"command,omitempty" jsonschema:"Initial command to run (default: starts shell)"`
	WorkingDirectory string            `json:"workingDirectory,omitempty" jsonschema:"Starting directory"`
	SessionID        string            `json:"sessionId,omitempty" jsonschema:"Custom session ID (auto-generated if not provided)"`
	Env              map[string]string `json:"env,omitempty" jsonschema:"Environment variables to set"`
}

type cliSessionResult struct {
	Status           string `json:"status"`
	SessionID        string `json:"sessionId"`
	PID              int64  `json:"pid"`
	Shell            string `json:"shell"`
	WorkingDirectory string `json:"workingDirectory"`
	InitialOutput    string `json:"initialOutput"`
	Hint             string `json:"hint"`
	IsRunning        bool   `json:"isRunning" jsonschema:"Whether any of its processes runs; with exitCode, only processes that its command left."`
	WaitingForInput  bool   `json:"waitingForInput"`
	ExitCode         *int64 `json:"exitCode,omitempty" jsonschema:"Set if the command has already ended."`
}

// sessionHint is the seed's text.
const sessionHint = "Use CliWrite to send commands, CliRead to get output, CliStop to terminate"

const (
	// initialTime is the maximum time that CliSession waits for the first prompt.
	initialTime = 2 * time.Second
	// settleQuiet is the silence after which new output is returned.
	settleQuiet = 150 * time.Millisecond
	// maxSessionOutput limits the output in the answers of CliSession, CliWrite and CliStop; CliRead has maxBytes for
	// that.
	maxSessionOutput = 65536
)

func cliSession(ctx context.Context, c *call, p cliSessionParams) (reply, error) {
	c.session = or(p.SessionID, newSessionID())
	if left := c.leftOf(ctx, c.session); len(left) > 0 {
		return reply{text: fmt.Sprintf("A session %q is running: its command has ended, but processes that it started run on (PID %s). Give another sessionId, or end that one with CliStop and force=true.\n%s", p.SessionID, numbers(left), c.sessionsText(ctx)), failed: true}, nil
	}
	start := schema.JobStartParams{Name: new(nameOf(c.session))}
	if *start.Name != c.session && c.front.engine.member != nil {
		start.Description = new(c.session) // After a restart of this front end it is known from there.
	}
	if strings.TrimSpace(p.Command) != "" {
		start.Command = new(p.Command)
	}
	if p.WorkingDirectory != "" {
		start.Cwd = new(p.WorkingDirectory)
	}
	for name, value := range p.Env {
		if start.Env == nil {
			start.Env = map[string]*string{}
		}
		start.Env[name] = new(value)
	}
	j, info, _, err := c.start(ctx, start)
	if kindOf(err) == schema.KindNameInUse {
		return reply{text: fmt.Sprintf("A session %q is running. Give another sessionId, or stop that one with CliStop.\n%s", p.SessionID, c.sessionsText(ctx)), failed: true}, nil
	}
	if err != nil {
		return reply{}, err
	}
	state, err := c.awaitOutput(ctx, j, initialTime)
	if err != nil {
		c.abandon(j.handle)
		return reply{}, err
	}
	r := cliSessionResult{
		Status: "started", SessionID: j.session, PID: j.pid, WorkingDirectory: info.Cwd, InitialOutput: c.tellUntold(ctx, j, telling{maxBytes: maxSessionOutput}),
		Hint: sessionHint, IsRunning: c.runsStill(ctx, state),
	}
	if info.Shell != nil {
		r.Shell = path.Base(*info.Shell)
	}
	r.WaitingForInput, _ = asking(state.WaitingForInput)
	if state.Exit != nil {
		r.ExitCode = state.Exit.Code
		if hint := hintText(c.hint(ctx, j, state.Exit)); hint != "" {
			r.Hint = hint
		}
	}
	return reply{value: r}, nil
}

// leftOf returns the processes that a session has left running after the end of its command. The server would give the
// name of such a session to a new one, and CliStop could then no longer reach these processes.
func (c *call) leftOf(ctx context.Context, id string) []int64 {
	j := c.bySession(ctx, id)
	if j == nil {
		return nil
	}
	info, err := c.get(ctx, j.handle)
	if err != nil || running(info.Status) {
		return nil // If the command runs, the server rejects the name; if get fails, the server has forgotten the session.
	}
	return pids(info.Background)
}

// newSessionID returns a name as in the seed's examples.
func newSessionID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // It never fails; see crypto/rand.
	return "session-" + hex.EncodeToString(id[:])
}

// sessionJob finds a session. If there is none, the job is nil, and the reply lists the sessions.
func (c *call) sessionJob(ctx context.Context, id string) (*job, reply) {
	if j := c.bySession(ctx, id); j != nil {
		return j, reply{}
	}
	return nil, c.noSession(ctx, id)
}

func (c *call) noSession(ctx context.Context, id string) reply {
	return reply{text: fmt.Sprintf("There is no session %q.\n%s", id, c.sessionsText(ctx)), failed: true}
}

// sessionsText lists the sessions of which a process is running.
func (c *call) sessionsText(ctx context.Context) string {
	var lines []string
	if alive, err := c.alive(ctx); err == nil {
		for _, j := range alive {
			id := c.front.jobs.sessionOf(j.Handle)
			if id == "" {
				continue
			}
			line := fmt.Sprintf("- %s (pid %d, %s)", id, j.PID, commandOf(&j))
			if !running(j.Status) {
				line += leftRunning
			}
			lines = append(lines, line)
		}
	}
	if lines == nil {
		return "No session is running; CliSession starts one."
	}
	return "Running sessions:\n" + strings.Join(lines, "\n")
}

// sessionEnded returns the answer for a request that fails because the session has ended.
func (c *call) sessionEnded(ctx context.Context, j *job, not string) reply {
	text := fmt.Sprintf("The session %q has ended, and %s.", j.session, not)
	info, err := c.get(ctx, j.handle)
	switch {
	case err == nil:
		text += " " + howEnded(info.Exit) + " CliRead returns its last output."
		if left := pids(info.Background); len(left) > 0 {
			text += fmt.Sprintf(" Processes that it started run on (PID %s); CliStop with force=true ends them.", numbers(left))
		}
	case j.ended() != nil:
		text += " " + howEnded(j.ended())
		if size := j.fileSize(); size >= 0 {
			text += " Its output is in " + j.file + "."
		} else {
			text += " Its output is no longer kept."
		}
	case kindOf(err) == schema.KindJobNotFound:
		return c.noSession(ctx, j.session)
	}
	return reply{text: text + "\n" + c.sessionsText(ctx), failed: true}
}

// lostText returns a note about the unread output of a session that the server has forgotten. Forgetting does not
// delete its file.
func (j *job) lostText() string {
	j.reading.Lock()
	defer j.reading.Unlock()
	size := j.fileSize()
	switch {
	case j.missed == 0 && (j.toldAll || size == j.next):
		return ""
	case size >= 0:
		return fmt.Sprintf("[... %d bytes of its output were returned before; its output is in %s ...]\n", j.next-j.missed, j.file)
	}
	return fmt.Sprintf("[... %d bytes of its output were returned before; any later output is no longer kept ...]\n", j.next-j.missed)
}

// fileSize returns the size of the file with a job's output, or -1 if there is none any more.
func (j *job) fileSize() int64 {
	if j.file == "" {
		return -1
	}
	info, err := os.Stat(j.file)
	if err != nil {
		return -1
	}
	return info.Size()
}
