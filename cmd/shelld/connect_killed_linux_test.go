package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// killedGrace is the time for which a job of a killed client with onDetach end lives on.
const killedGrace = time.Second

// killedName is the name of this binary as a client that is killed.
const killedName = "shelld-killed-client"

func init() { programs[killedName] = killedClient }

// killedClient attaches to a session, starts a job with each onDetach, prints their handles and waits. The environment
// of each job, and so of all its processes, has its onDetach as FATE.
func killedClient() {
	err := func() error {
		cmd := exec.Command("shelld", "connect", "-session", "work")
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		conn := client.NewConn(out, in, func(client.Event) {}, nil)
		err = conn.Call(context.Background(), "initialize", schema.InitializeParams{Session: &schema.SessionParams{
			ClientID: ptr("killed"), Jobs: &schema.SessionJobOptions{GraceMs: ptr(killedGrace.Milliseconds())},
		}}, nil)
		if err != nil {
			return err
		}
		handles := map[schema.OnDetach]int64{}
		for _, fate := range []schema.OnDetach{schema.OnDetachEnd, schema.OnDetachKeep} {
			var r schema.JobStartResult
			err := conn.Call(context.Background(), "job/start", map[string]any{
				"argv": []string{"sh", "-c", "sleep 300 & setsid sleep 300 & (trap '' TERM HUP; sleep 300) & echo ready; wait"}, "onDetach": fate,
				"env":  map[string]string{"FATE": os.Getenv("XDG_STATE_HOME") + " " + string(fate)},
				"wait": map[string]any{"until": []any{map[string]any{"pattern": "ready"}}},
			}, &r)
			if err != nil {
				return err
			}
			handles[fate] = r.Job.Handle
		}
		if err := json.NewEncoder(os.Stdout).Encode(handles); err != nil {
			return err
		}
		return cmd.Wait()
	}()
	fmt.Fprintln(os.Stderr, "the client was not killed:", err)
	os.Exit(1)
}

// fated lists the processes of the killed client's jobs with this onDetach.
func (h *hosted) fated(fate schema.OnDetach) (pids []string) {
	h.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		h.Fatal(err)
	}
	for _, p := range procs {
		environ, _ := os.ReadFile(p + "/environ") // It may have ended.
		stat, err := os.ReadFile(p + "/stat")
		if err == nil && !hasEnded(stat) && slices.Contains(strings.Split(string(environ), "\x00"), "FATE="+h.state+" "+string(fate)) {
			pids = append(pids, filepath.Base(p))
		}
	}
	return pids
}

// After SIGKILL of a client its jobs with onDetach end live until the grace is over, and not longer. Those with keep live
// on, with all of their processes.
func TestKilledClient(t *testing.T) {
	h := newHosted(t)
	cmd := exec.Command(killedName)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+h.state)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // It was killed, unless the test has failed.
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var handles map[schema.OnDetach]int64
	if err := json.Unmarshal(line, &handles); err != nil {
		t.Fatal(err)
	}
	watcher := h.connect("-session", "work", "-existing")
	watcher.call("initialize", map[string]any{"session": map[string]any{"clientId": "watcher"}}, nil)
	kept := h.fated(schema.OnDetachKeep)
	if n := len(h.fated(schema.OnDetachEnd)); n < 4 || len(kept) < 4 {
		t.Errorf("the jobs have %d and %d processes, want at least 4 each", n, len(kept))
	}
	began := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var r schema.JobWaitResult
	await := func(fact string) {
		watcher.call("job/wait", map[string]any{
			"handle": handles[schema.OnDetachEnd], "until": []any{map[string]any{fact: true}}, "timeoutMs": watchdog.Milliseconds(),
		}, &r)
	}
	await("exit") // The command ends at the first signal.
	took := time.Since(began)
	await("closed")
	if left := h.fated(schema.OnDetachEnd); len(left) > 0 {
		t.Errorf("the processes %v have survived their job", left)
	}
	if exit := r.Outcome.Job.Exit; exit == nil || exit.Reason != schema.ExitReasonDetached {
		t.Errorf("it has ended with %+v", exit)
	}
	if took < killedGrace {
		t.Errorf("it has ended after %v, want at least %v", took, killedGrace)
	}
	t.Logf("the job has ended after %v", took.Round(time.Millisecond))
	if now := h.fated(schema.OnDetachKeep); !slices.Equal(now, kept) {
		t.Errorf("of the kept job live %v, want %v", now, kept)
	}
	var kill schema.JobKillResult
	watcher.call("job/kill", map[string]any{"handle": handles[schema.OnDetachKeep], "graceMs": 0}, &kill)
	if left := h.fated(schema.OnDetachKeep); len(left) > 0 {
		t.Errorf("the processes %v have survived", left)
	}
	h.end("work")
}
