package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"shelld.dev/shelld/schema"
)

// This file finds the job that a model means, and makes the answers if there is none.

// find finds a job by its handle, by its PID, or by the PID of a process that it has started: the host may have kept
// any of them. If several jobs match, the kind of number that the parameter is named after comes first, and among PIDs
// a living process: on systems with small PIDs, such as containers, a process may well have the number of a job. A PID
// of an ended process comes last, because it may have been reused. If there is no such job, find returns nil.
func (c *call) find(ctx context.Context, n int64, pidFirst bool) (*job, error) {
	byHandle, byPID, alive := c.front.jobs.byNumber(n)
	if byHandle == nil && c.lookUp(ctx, handleID(n)) {
		byHandle, byPID, alive = c.front.jobs.byNumber(n)
	}
	switch {
	case !pidFirst && byHandle != nil:
		return byHandle, nil
	case !pidFirst && c.front.jobs.given(n):
		return nil, nil // The job has ended and is forgotten; a process that has this PID now was not meant.
	case alive:
		return byPID, nil
	}
	j, err := c.owner(ctx, n)
	if byPID == nil {
		_, byPID, _ = c.front.jobs.byNumber(n) // The owner was looked for among all jobs of the session.
	}
	switch {
	case err != nil || j != nil:
		return j, err
	case byPID != nil:
		return byPID, nil
	}
	return byHandle, nil
}

// owner returns the live job that has started a process; nil: none has. It asks the server, but only about PIDs that
// are not those of live jobs' leaders: no notification reports other processes.
func (c *call) owner(ctx context.Context, pid int64) (*job, error) {
	live, err := c.live(ctx)
	if err != nil {
		return nil, err
	}
	for _, known := range live {
		info, err := c.get(ctx, known.Handle)
		switch {
		case kindOf(err) == schema.KindJobNotFound:
		case err != nil:
			return nil, err
		case slices.Contains(pids(info.Background), pid):
			return c.front.jobs.started(c.connection(), info, ""), nil
		}
	}
	return nil, nil
}

// namedJob finds a job by its number, its PID or its name.
func (c *call) namedJob(ctx context.Context, name string) (*job, error) {
	j := c.bySession(ctx, name)
	var n json.Number
	if json.Unmarshal([]byte(name), &n) == nil {
		if i, err := n.Int64(); err == nil {
			numbered, err := c.find(ctx, i, false)
			if err != nil {
				return nil, err
			}
			if numbered != nil {
				j = numbered
			}
		}
	}
	if j == nil {
		return nil, fmt.Errorf("there is no job %q.\n%s", name, c.shellJobsText(ctx))
	}
	return j, nil
}

// livesElsewhere reports whether a process with this PID exists, for PIDs that belong to no job.
func livesElsewhere(pid int64) bool {
	if pid != int64(int32(pid)) {
		return false // No system has such a PID; truncated to 32 bits, it would be a different one.
	}
	p, err := os.FindProcess(int(pid))
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || os.IsPermission(err)
}

// notRunning returns the answer to input for a process that is not running: the reason, the job's last output, which no
// other of the seeds' command tools would return, and the running processes.
func (c *call) notRunning(ctx context.Context, n int64, j *job) reply {
	text := fmt.Sprintf("Process %d is not running.", n)
	if j != nil {
		if info, err := c.get(ctx, j.handle); err == nil {
			text = notReading(n, info)
		}
		if last := c.tellUntold(ctx, j, telling{maxBytes: defaultOutput, echo: true}); last != "" {
			text += "\nIts last output:\n" + strings.TrimRight(last, "\n")
		}
	}
	return reply{text: text + "\n" + c.liveText(ctx), failed: true}
}

// notReading returns why a job whose command has ended takes no input. n is the number that the host has used for it.
func notReading(n int64, info *schema.JobInfo) string {
	left := pids(info.Background)
	switch {
	case info.Exit == nil:
		return fmt.Sprintf("Process %d takes no input.", n)
	case slices.Contains(left, n):
		return fmt.Sprintf("Process %d runs, but takes no input: the command of job %d, which has started it, has ended. kill ends it.", n, info.Handle)
	case len(left) > 0:
		return fmt.Sprintf("Process %d is not running. %s Processes that it started run on (PID %s), but take no input; kill ends them.", n, howEnded(info.Exit), numbers(left))
	}
	return fmt.Sprintf("Process %d is not running. %s", n, howEnded(info.Exit))
}

// liveText lists the running jobs, for an error about an unknown one.
func (c *call) liveText(ctx context.Context) string {
	alive, err := c.alive(ctx)
	if err != nil || len(alive) == 0 {
		return "No running background processes."
	}
	lines := []string{"Running Processes:"}
	for _, j := range alive {
		line := fmt.Sprintf("Handle: %d, PID: %d, Command: %s", j.Handle, j.PID, commandOf(&j))
		if !running(j.Status) {
			line += leftRunning
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// leftRunning follows a job in a list if its command has ended.
const leftRunning = " (it has ended, but processes that it started run on)"

// commandOf returns the command of a job in one line.
func commandOf(j *schema.JobInfo) string {
	switch {
	case j.Command != nil:
		return *j.Command
	case j.Shell != nil:
		return *j.Shell
	}
	return strings.Join(j.Argv, " ")
}
