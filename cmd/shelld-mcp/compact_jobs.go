package main

import (
	"context"
	"fmt"
	"strings"

	"shelld.dev/shelld/schema"
)

// This file has shell_jobs, of the compact set.

type shellJobsParams struct {
	Ended bool `json:"ended,omitempty" jsonschema:"Whether to list ended jobs that are still known, too (default: false)."`
}

type shellJobsResult struct {
	Jobs []shellJob `json:"jobs"`
}

type shellJob struct {
	Job            int64   `json:"job"`
	PID            int64   `json:"pid"`
	Name           string  `json:"name,omitempty" jsonschema:"The name that shell was given for it, or the sessionId of CliSession."`
	Command        string  `json:"command"`
	Description    string  `json:"description,omitempty"`
	Cwd            string  `json:"cwd" jsonschema:"The absolute directory in which it was started."`
	Duration       int64   `json:"duration" jsonschema:"Seconds since its start or, if it has ended, until its end."`
	Status         string  `json:"status" jsonschema:"running, stopped, background (the command has ended, but processes that it started run on) or ended."`
	ExitCode       *int64  `json:"exitCode"`
	Signal         *string `json:"signal"`
	BackgroundPIDs []int64 `json:"backgroundPIDs"`
}

// noJobs replaces an empty list.
const noJobs = "No job is running; shell starts one."

func shellJobs(ctx context.Context, c *call, p shellJobsParams) (reply, error) {
	r, err := c.shellJobs(ctx)
	if err != nil {
		return reply{}, err
	}
	if p.Ended {
		var closed schema.JobListResult
		if err := c.do(ctx, "job/list", schema.JobListParams{Live: new(false)}, &closed); err != nil {
			return reply{}, err
		}
		for _, j := range closed.Jobs {
			r.Jobs = append(r.Jobs, c.endedShellJob(&j))
		}
	}
	return reply{text: r.text(), value: r}, nil
}

// shellJobs returns the jobs of which a process is running.
func (c *call) shellJobs(ctx context.Context) (r shellJobsResult, err error) {
	alive, err := c.jobs(ctx)
	if err != nil {
		return r, err
	}
	r.Jobs = []shellJob{}
	for _, e := range alive.Jobs {
		r.Jobs = append(r.Jobs, shellJob{
			Job: e.Handle, PID: e.PID, Name: e.SessionID, Command: e.Command, Description: e.Description, Cwd: e.Directory,
			Duration: e.Duration, Status: e.Status, BackgroundPIDs: e.BackgroundPIDs,
		})
	}
	return r, nil
}

func (c *call) endedShellJob(j *schema.JobInfo) shellJob {
	e := shellJob{
		Job: j.Handle, PID: j.PID, Name: c.front.jobs.sessionOf(j.Handle), Command: commandOf(j), Cwd: j.Cwd,
		Duration: j.DurationMs / 1000, Status: "ended", BackgroundPIDs: []int64{},
	}
	if j.Description != nil {
		e.Description = *j.Description
	}
	if j.Exit != nil {
		e.ExitCode, e.Signal = j.Exit.Code, j.Exit.Signal
	}
	return e
}

// shellJobsText lists the jobs, for an error about an unknown job.
func (c *call) shellJobsText(ctx context.Context) string {
	r, err := c.shellJobs(ctx)
	if err != nil {
		return "shell_jobs lists the running jobs."
	}
	return r.text()
}

func (r *shellJobsResult) text() string {
	if len(r.Jobs) == 0 {
		return noJobs
	}
	lines := make([]string, len(r.Jobs))
	for i := range r.Jobs {
		lines[i] = r.Jobs[i].text()
	}
	return strings.Join(lines, "\n")
}

// text returns one line about a job: its state, as at the start of shell's answers, and then its command.
func (j *shellJob) text() string {
	words := []string{fmt.Sprintf("job %d", j.Job)}
	if j.Name != "" {
		words = append(words, "name "+j.Name)
	}
	words = append(words, j.Status)
	switch {
	case j.ExitCode != nil:
		words = append(words, fmt.Sprintf("exit code %d", *j.ExitCode))
	case j.Signal != nil:
		words = append(words, *j.Signal)
	}
	words = append(words, fmt.Sprintf("pid %d", j.PID))
	if len(j.BackgroundPIDs) > 0 {
		words = append(words, "background pids "+numbers(j.BackgroundPIDs))
	}
	return "[" + strings.Join(append(words, fmt.Sprintf("%d s", j.Duration)), ", ") + "] " + j.Command
}
