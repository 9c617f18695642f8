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

	"shelld/jobs"
	"shelld/rpc"
	"shelld/schema"
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
	s, err := startLocal(rpc.Options{}, func(rpc.Notice) {})
	if err != nil {
		advice := "report this as a bug in shelld"
		if errors.Is(err, errNoJobs) {
			advice = "run shelld on Linux, macOS or Windows, where jobs can be run"
		}
		t.add("keeper", jobs.GradeMissing, "no server", err.Error(), adviceFor(err, advice), nil)
		return
	}
	var init schema.InitializeResult
	if err := s.Call(ctx, "initialize", map[string]any{"options": map[string]any{"persist": map[string]any{"mode": "memory"}}}, &init); err != nil {
		t.add("keeper", jobs.GradeMissing, "no server", explainCall(err), adviceFor(err, "report this as a bug in shelld"), nil)
	} else {
		t.modes(ctx, s, began)
	}
	if t.canRun {
		t.tree(ctx, s)
		t.askVersions(ctx, s)
	}
	if err := s.end(); err != nil {
		t.add("treeControl", jobs.GradeLimited, "something was left behind", err.Error(), "report this as a bug in shelld", nil)
	}
}

// modes runs the shortest possible command in each mode. The first run includes the start of a keeper.
func (t *trial) modes(ctx context.Context, s *localServer, began time.Time) {
	if err := t.tryShort(ctx, s, schema.ModePipe); err != nil {
		fix := "allow fork, exec and sockets in the sandbox around shelld, and raise the limits on processes"
		if call, ok := errors.AsType[*rpc.CallError](err); ok && call.Kind == schema.KindBadWorkingDirectory {
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
		err := t.tryShort(ctx, s, mode.mode)
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

func (t *trial) tryShort(ctx context.Context, s *localServer, mode schema.Mode) error {
	var res schema.JobRunResult
	err := s.Call(ctx, "job/run", map[string]any{"argv": t.short, "mode": mode, "timeoutMs": 5000}, &res)
	switch {
	case err != nil:
		return err
	case res.TimedOut:
		return fmt.Errorf("%s did not end within 5 s", t.shortName())
	case res.Exit == nil || res.Exit.Code == nil || *res.Exit.Code != 0:
		return fmt.Errorf("%s did not exit with 0", t.shortName())
	}
	return nil
}

// tree starts a command with a child and an orphan, examines it, and ends all of them.
func (t *trial) tree(ctx context.Context, s *localServer) {
	const name = "treeControl"
	if runtime.GOOS == "windows" {
		t.add(name, jobs.GradeLimited, "each job is in a job object, which the kernel ends as one", "it was not tested", "not reached: "+strings.Join(jobs.Platform().NotReached, "; "), nil)
		return
	}
	fault := func(reason string) {
		t.add(name, jobs.GradeLimited, "a kill does not reach every process", reason, "see the lines subreaper and /proc; processes that a job leaves behind may outlive it", nil)
	}
	var started schema.JobStartResult
	err := s.Call(ctx, "job/start", map[string]any{
		"command": "(sleep 60 &); sleep 60 & echo ready; wait", "shell": "sh", "mode": "pipe", "events": []string{}, "env": t.env,
		"wait": map[string]any{"until": []any{map[string]any{"pattern": "ready"}}, "timeoutMs": 5000},
	}, &started)
	if err != nil {
		t.add(name, jobs.GradeLimited, "not tested", explainCall(err), adviceFor(err, "install sh, and try again"), nil)
		return
	}
	t.findings = append(t.findings, jobs.ExamineProcess(int(started.Job.PID)))
	began := time.Now()
	var killed schema.JobKillResult
	err = s.Call(ctx, "job/kill", map[string]any{"handle": started.Job.Handle, "graceMs": 1000}, &killed)
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
func (t *trial) askVersions(ctx context.Context, s *localServer) {
	found, _ := jobs.FindShells()
	for _, sh := range found {
		if !sh.Versioned {
			continue
		}
		var res schema.JobRunResult
		err := s.Call(ctx, "job/run", map[string]any{"argv": []string{sh.Path, "--version"}, "timeoutMs": 5000}, &res)
		if err == nil && res.Stdout != nil {
			t.versions[sh.Path] = number.FindString(*res.Stdout)
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
