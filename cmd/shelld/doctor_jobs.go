package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/client/inprocess"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// trialTime limits all trials together. They take a tenth of a second; a shell that reports its version slowly may take
// longer.
const trialTime = 25 * time.Second

// A trial is the result of running jobs.
type trial struct {
	findings []jobs.Finding
	versions map[string]string // of shells, by path
	canRun   bool
	short    []string          // a command that ends at once
	env      map[string]string // variables of its jobs in addition to ours
}

func (t *trial) add(name string, grade jobs.Grade, found, reason, advice string, facts map[string]any) {
	t.findings = append(t.findings, jobs.Finding{Name: name, Grade: grade, Found: found, Reason: reason, Advice: advice, Facts: facts})
}

// tryJobs runs some jobs, each through the protocol, on a server of its own. Anything that hangs ends with this
// process.
func tryJobs() *trial {
	done := make(chan *trial, 1)
	go func() {
		t := &trial{versions: map[string]string{}, short: shortCommand(), env: map[string]string{"PATH": widePath()}}
		t.run()
		done <- t
	}()
	late := time.NewTimer(trialTime + 5*time.Second) // By then each call has ended.
	defer late.Stop()
	select {
	case t := <-done:
		return t
	case <-late.C:
		t := &trial{}
		t.add("keeper", jobs.GradeMissing, "no answer", "a test job did not end", "check whether the machine is overloaded, or a file system does not respond", nil)
		return t
	}
}

func (t *trial) run() {
	ctx, cancel := context.WithTimeout(context.Background(), trialTime)
	defer cancel()
	began := time.Now()
	s, err := inprocess.Start(ctx, client.Options{Initialize: schema.InitializeParams{
		Options: &schema.Options{Persist: &schema.PersistOptions{Mode: new(schema.PersistModeMemory)}},
	}}, localOptions(rpc.Options{}))
	if err != nil {
		advice := "report this as a bug in shelld"
		if errors.Is(err, inprocess.ErrNoJobs) {
			advice = "run shelld on Linux, macOS or Windows, where jobs can be run"
		}
		t.add("keeper", jobs.GradeMissing, "no server", explainCall(err), adviceFor(err, advice), nil)
		return
	}
	t.modes(ctx, s.Client, began)
	if t.canRun {
		t.tree(ctx, s.Client)
		t.askVersions(ctx, s.Client)
	}
	if err := s.Close(); err != nil {
		t.add("treeControl", jobs.GradeLimited, "something was left behind", err.Error(), "report this as a bug in shelld", nil)
	}
}

// modes runs the shortest possible command in each mode. The first run includes the start of a keeper.
func (t *trial) modes(ctx context.Context, c *client.Client, began time.Time) {
	if err := t.tryShort(ctx, c, schema.ModePipe); err != nil {
		fix := "allow fork, exec and sockets in the sandbox around shelld, and raise the limits on processes"
		if call, ok := errors.AsType[*client.Error](err); ok && call.Kind == schema.KindBadWorkingDirectory {
			fix = "cd to a directory that exists"
		}
		t.add("keeper", jobs.GradeMissing, "no job can be started", explainCall(err), adviceFor(err, fix), nil)
		return
	}
	first := time.Since(began)
	t.canRun = true
	t.add("keeper", jobs.GradeOK, fmt.Sprintf("a server, %sand a first job took %s", firstKeeper(), inMs(first)), "", "", map[string]any{"firstJobMs": millisecondsOf(first)})
	for _, mode := range []struct {
		name string
		mode schema.Mode
		fix  string
	}{
		{"pipeJobs", schema.ModePipe, "report this as a bug in shelld"},
		{"ptyJobs", schema.ModePty, ptyFix()},
	} {
		began := time.Now()
		err := t.tryShort(ctx, c, mode.mode)
		took := time.Since(began)
		switch {
		case err == nil:
			t.add(mode.name, jobs.GradeOK, fmt.Sprintf("%s took %s", t.shortName(), inMs(took)), "", "",
				map[string]any{"argv": t.short, "tookMs": millisecondsOf(took)})
		case isShort(err): // A job has run before, so there is room for one job, but perhaps not for more.
			t.add(mode.name, jobs.GradeLimited, "no further job can be started", explainCall(err), adviceFor(err, ""), nil)
		default:
			t.add(mode.name, jobs.GradeMissing, "no such job can be run", explainCall(err), mode.fix, nil)
		}
	}
}

// within5s is an edit that limits a command.
func within5s(p *schema.JobRunParams) { p.TimeoutMs = schema.ValueOf[int64](5000) }

func (t *trial) tryShort(ctx context.Context, c *client.Client, mode schema.Mode) error {
	res, err := c.Run(ctx, client.Argv(t.short[0], t.short[1:]...), within5s, func(p *schema.JobRunParams) { p.Mode = &mode })
	switch {
	case err != nil:
		return err
	case res.TimedOut:
		return fmt.Errorf("%s did not end within 5 s", t.shortName())
	case res.Code != 0:
		return fmt.Errorf("%s did not exit with 0", t.shortName())
	}
	return nil
}

// tree starts a command with a child and an orphan, examines it, and ends all of them.
func (t *trial) tree(ctx context.Context, c *client.Client) {
	const name = "treeControl"
	if runtime.GOOS == "windows" {
		t.add(name, jobs.GradeLimited, "each job is in a job object, which the kernel ends as one", "it was not tested", "not reached: "+strings.Join(jobs.Platform().NotReached, "; "), nil)
		return
	}
	fault := func(reason string) {
		t.add(name, jobs.GradeLimited, "a kill does not reach every process", reason, "see the lines subreaper and /proc; processes that a job leaves behind may outlive it", nil)
	}
	job, err := c.Start(ctx, client.Line("(sleep 60 &); sleep 60 & echo ready; wait"), func(p *schema.JobStartParams) {
		p.Shell, p.Mode, p.Env = new("sh"), new(schema.ModePipe), map[string]*string{}
		for name, value := range t.env {
			p.Env[name] = &value
		}
		p.Wait = &schema.Wait{Until: []schema.Condition{{Pattern: new("ready")}}, TimeoutMs: schema.ValueOf[int64](5000)}
	})
	if err != nil {
		t.add(name, jobs.GradeLimited, "not tested", explainCall(err), adviceFor(err, "install sh, and try again"), nil)
		return
	}
	t.findings = append(t.findings, jobs.ExamineProcess(int(job.Info.PID)))
	began := time.Now()
	killed, err := job.Kill(ctx, time.Second)
	took := time.Since(began)
	switch {
	case err != nil:
		fault(explainCall(err))
	case len(killed.Survivors) > 0:
		fault(fmt.Sprintf("process %d is alive: %s", killed.Survivors[0].PID, killed.Survivors[0].Why))
	case killed.Job == nil || killed.Job.Status != schema.StatusClosed:
		fault("the kill did not close the job")
	case jobs.Platform().SurvivesServer:
		t.add(name, jobs.GradeLimited, fmt.Sprintf("a kill ended %d processes, one of them an orphan, in %s", len(killed.Killed), inMs(took)),
			"this system does not report the former parent of an orphan", "not reached: "+strings.Join(jobs.Platform().NotReached, "; "),
			map[string]any{"killed": len(killed.Killed), "killMs": millisecondsOf(took)})
	default:
		t.add(name, jobs.GradeOK, fmt.Sprintf("a kill ended %d processes, one of them an orphan, in %s", len(killed.Killed), inMs(took)), "", "",
			map[string]any{"killed": len(killed.Killed), "killMs": millisecondsOf(took)})
	}
}

// number matches a version.
var number = regexp.MustCompile(`\d+\.\d+[^\s,(]*`)

// askVersions runs each installed shell as a job to get its version.
func (t *trial) askVersions(ctx context.Context, c *client.Client) {
	found, _ := jobs.FindShells()
	for _, sh := range found {
		if !sh.Versioned {
			continue
		}
		if res, err := c.Run(ctx, client.Argv(sh.Path, "--version"), within5s); err == nil {
			t.versions[sh.Path] = number.FindString(res.Stdout)
		}
	}
}

func millisecondsOf(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}

func inMs(d time.Duration) string { return fmt.Sprintf("%.1f ms", millisecondsOf(d)) }

// firstKeeper returns the words for the keeper that is started before the first job, or "" on a system without keepers.
func firstKeeper() string {
	if jobs.Platform().Tree == "keeper" {
		return "its first keeper "
	}
	return ""
}

// ptyFix returns the advice if no job runs on a terminal.
func ptyFix() string {
	if !slices.Contains(jobs.Platform().Modes, jobs.ModePTY) {
		return "nothing can be done: jobs run in pipe mode on this system"
	}
	return `see "terminals"; until then jobs run in pipe mode`
}
