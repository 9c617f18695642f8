//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

const (
	// runWindow is the maximum output of a stream that we hold without having written it.
	runWindow = 1 << 20
	// runGrace is the time that a command has to end by itself after a kill.
	runGrace = 2 * time.Second
	// runStuck is how long we wait for a blocked output of ours if we or a signal have ended the command.
	runStuck = 2 * time.Second
)

// A runner runs one command, from its start to its end.
//
// Goroutines: loop owns everything below "Owned by loop". One pull per stream reads the job's output and writes it to
// ours; feed, if there is input, writes our input to the job. Each has its own blocking call, and passes functions to
// the loop, which runs them. A goroutine that is blocked on one of our descriptors stays blocked until the process
// ends.
type runner struct {
	// Immutable:
	opts    runOptions
	server  *localServer
	console *console
	sigs    chan os.Signal
	inbox   chan func()   // any goroutine -> loop
	moved   chan struct{} // pulls -> loop: output was written; capacity 1
	over    chan struct{} // closed when loop has returned

	// Owned by loop:
	handle     int64 // 0: not started yet
	tellsStops bool  // the server reports that the job was stopped
	outputs    []*runOutput
	early      []os.Signal // received before the start
	shot       screenshot
	exit       *schema.Exit
	exitAt     map[string]int64 // end of each stream after the leader's exit; nil: not known yet
	closed     bool
	ending     bool // we have requested the end of the job
	fatal      int  // number of signals that request the end
	status     int  // < 0: the command's own
	finished   bool
	stuck      *time.Timer
	messages   []string
}

// A runOutput is one stream of the job, and its target.
type runOutput struct {
	stream string
	to     *os.File
	done   atomic.Int64 // offset up to which output was written
	ended  bool         // owned by loop
}

// runJob runs a command and returns the exit status.
func runJob(o runOptions) int {
	r := &runner{
		opts: o, status: -1, console: newConsole(),
		sigs: make(chan os.Signal, 16), inbox: make(chan func()), moved: make(chan struct{}, 1), over: make(chan struct{}),
	}
	r.stuck = time.NewTimer(time.Hour)
	r.stuck.Stop()
	if err := r.shot.open(o.shot); err != nil {
		fmt.Fprintf(os.Stderr, "shelld run: the screenshot cannot be written to %s: %s\n", printable(o.shot), base.Reason(err))
		return statusFailed
	}
	r.catchSignals()
	err := r.run()
	r.shot.discard()
	r.console.restore()
	if err != nil {
		r.say("%v", err)
		r.status = statusFailed
	}
	for _, m := range r.messages {
		fmt.Fprintf(os.Stderr, "shelld run: %s\n", m)
	}
	if r.status < 0 {
		return exitStatus(r.exit)
	}
	return r.status
}

// run runs the command, and returns an error of the server. The server has ended in any case.
func (r *runner) run() error {
	var err error
	r.server, err = startLocal(rpc.Options{Window: runWindow, Unanswered: r.console.answers()}, r.notice)
	if err != nil {
		close(r.over)
		return err
	}
	err = r.begin()
	if err == nil {
		r.loop()
	}
	close(r.over)
	if r.finished && !r.closed && r.handle != 0 {
		r.server.Stop() // The end of the job is not awaited.
	}
	return errors.Join(err, r.server.end())
}

// say keeps a message until the terminal is restored.
func (r *runner) say(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

// post passes a function to the loop.
func (r *runner) post(f func()) {
	select {
	case r.inbox <- f:
	case <-r.over:
	}
}

func (r *runner) loop() {
	var timeout <-chan time.Time
	if r.opts.timeout > 0 {
		t := time.NewTimer(r.opts.timeout)
		defer t.Stop()
		timeout = t.C
	}
	for !r.finished {
		select {
		case f := <-r.inbox:
			f()
		case s := <-r.sigs:
			r.onSignal(s)
		case <-r.moved:
			r.stuck.Stop() // review restarts it.
		case <-timeout:
			r.shoot(r.handle, func() { r.endWith(statusTimedOut, "") })
		case <-r.stuck.C:
			r.finished = true
		case <-r.server.Done():
			r.say("the server ended unexpectedly")
			r.status, r.finished = statusFailed, true
		}
		r.review()
	}
}

// review does everything that is due, after each event.
func (r *runner) review() {
	pulling := slices.ContainsFunc(r.outputs, func(o *runOutput) bool { return !o.ended })
	switch {
	case r.handle == 0: // The events of a short job may arrive before the answer to its start.
	case r.closed && !pulling && !r.shot.taking:
		r.finished = true
	case r.closed && (r.ending || r.fatal > 0):
		r.stuck.Reset(runStuck)
	case r.exitAt != nil && !r.closed && !r.ending && (r.fatal > 0 || r.caughtUp()):
		// Processes that the command has left behind end with it.
		r.kill(runGrace)
	}
}

// caughtUp reports whether all output of the leader was written.
func (r *runner) caughtUp() bool {
	return !slices.ContainsFunc(r.outputs, func(o *runOutput) bool { return !o.ended && o.done.Load() < r.exitAt[o.stream] })
}

// endWith ends the command. The exit status is then the given one and not the command's.
func (r *runner) endWith(status int, why string) {
	if why != "" {
		r.say("%s", why)
	}
	if r.status < 0 {
		r.status = status
	}
	if !r.ending {
		r.kill(runGrace)
	}
}

// kill ends the job. If the job has not started, it ends the loop instead.
func (r *runner) kill(grace time.Duration) {
	r.ending = true
	if r.handle == 0 {
		r.finished = true
		return
	}
	var res schema.JobKillResult
	r.ask("job/kill", map[string]any{"handle": r.handle, "graceMs": grace.Milliseconds()}, &res, func(err error) {
		if err != nil {
			r.say("the command cannot be ended: %v", err)
			r.finished = true
		}
		for _, s := range res.Survivors {
			r.say("process %d (%s) is still alive: %s", s.PID, s.Command, s.Why)
			r.finished = true
		}
	})
}

// ask sends a request now; the loop calls then after the answer.
func (r *runner) ask(method string, params, result any, then func(error)) {
	call, err := r.server.Send(method, params)
	if err != nil {
		then(err)
		return
	}
	go func() {
		err := call.Await(context.Background(), result)
		r.post(func() { then(err) })
	}()
}

// begin sends the request that starts the job. The loop handles the answer.
func (r *runner) begin() error {
	var init schema.InitializeResult
	err := r.server.Call(context.Background(), "initialize", map[string]any{
		"clientInfo": map[string]any{"name": "shelld run", "version": base.Version()},
		"options": map[string]any{
			// A command that a person runs gets that person's environment, including secrets, and its output belongs
			// only to the reader of our output.
			"env":     map[string]any{"inherit": "all", "include": []string{"*"}},
			"persist": map[string]any{"mode": "memory"},
			"limits":  map[string]any{"spoolMemoryBytes": 4 * runWindow, "shutdownGraceMs": runGrace.Milliseconds()},
		},
	}, &init)
	if err != nil {
		return err
	}
	params, err := r.startParams(init.Capabilities.Events)
	if err != nil {
		return err
	}
	var res schema.JobStartResult
	r.ask("job/start", params, &res, func(err error) { r.started(&res, err) })
	return nil
}

// startParams returns the parameters of the job. If the job gets a terminal, startParams makes ours raw.
func (r *runner) startParams(events []string) (map[string]any, error) {
	p := map[string]any{"events": []string{"exited", "closed"}}
	if r.tellsStops = slices.Contains(events, "stateChanged"); r.tellsStops {
		p["events"] = []string{"exited", "closed", "stateChanged"}
	}
	if len(r.opts.argv) > 0 {
		p["argv"] = r.opts.argv
	} else {
		p["command"] = r.opts.line
	}
	if r.opts.cwd != "" {
		p["cwd"] = r.opts.cwd
	}
	if !r.opts.pty {
		p["mode"], p["stdin"] = schema.ModePipe, "null"
		if r.feeds() {
			p["stdin"] = "open"
		}
		p["stderr"] = r.opts.stderrOf(os.Stdout, os.Stderr)
		return p, nil
	}
	p["mode"] = schema.ModePty
	if kind := os.Getenv("TERM"); kind != "" {
		p["env"] = map[string]string{"TERM": kind}
	}
	if cols, rows, ok := r.console.size(); ok {
		p["cols"], p["rows"] = cols, rows
	}
	if r.opts.cols != 0 {
		p["cols"], p["rows"] = r.opts.cols, r.opts.rows
	}
	return p, r.console.raw()
}

// feeds reports whether the command gets our input. With pipes, the null device is passed on as no input; on a terminal
// the end of file must be typed.
func (r *runner) feeds() bool {
	if r.opts.shot != "" && r.console.isNull {
		return false // There is no input, and the end of file would be typed into the picture.
	}
	return r.console.readable && (r.opts.pty || !r.console.isNull)
}

// started starts passing on output and input.
func (r *runner) started(res *schema.JobStartResult, err error) {
	if err != nil {
		r.status, r.finished = startStatus(err), true
		r.say("%s", r.opts.explainStart(err))
		return
	}
	r.handle = res.Job.Handle
	for stream := range res.Job.Streams {
		o := &runOutput{stream: stream, to: os.Stdout}
		if stream == "stderr" {
			o.to = os.Stderr
		}
		r.outputs = append(r.outputs, o)
		go r.pull(r.handle, o)
	}
	if r.feeds() {
		go r.feed(r.handle)
	}
	for _, s := range r.early {
		r.forward(s)
	}
}

// explainStart returns the reason why the command was not started. If the command is one word with blanks, a command
// line was probably meant; the directory is named as -cwd.
func (o *runOptions) explainStart(err error) string {
	if len(o.argv) == 1 && strings.ContainsAny(o.argv[0], " \t\n") && startStatus(err) == statusNotFound {
		return fmt.Sprintf("there is no command %q; to run that line in a shell, give -c %s", o.argv[0], shellWord(o.argv[0]))
	}
	text := explainCall(err)
	if call, ok := errors.AsType[*client.Error](err); ok && call.Kind == schema.KindBadWorkingDirectory {
		text = strings.Replace(text, "give a rootDirectory in initialize or an absolute path as cwd", "give an absolute path as cwd", 1)
		if before, ok := strings.CutSuffix(text, " as cwd"); ok {
			text = before + " as -cwd"
		}
	}
	return text
}

func startStatus(err error) int {
	call, _ := errors.AsType[*client.Error](err)
	switch {
	case call == nil:
		return statusFailed
	case call.Kind == schema.KindCommandNotFound:
		return statusNotFound
	case call.Kind == schema.KindPermissionDenied:
		return statusNotRunnable
	}
	return statusFailed
}

// exitStatus returns the exit status as the shells compute it.
func exitStatus(e *schema.Exit) int {
	switch {
	case e == nil:
		return statusFailed
	case e.Code != nil:
		return int(*e.Code)
	case e.Signal != nil:
		if n := unix.SignalNum(*e.Signal); n != 0 {
			return statusSignal + int(n)
		}
		var n int
		if _, err := fmt.Sscanf(*e.Signal, "SIG%d", &n); err == nil { // a signal without a name
			return statusSignal + n
		}
	}
	return statusFailed // The end is unknown.
}

// notice handles an event. It runs on the client's reading goroutine.
func (r *runner) notice(n client.Event) {
	switch n.Method {
	case "job/exited":
		var p schema.JobExitedParams
		err := json.Unmarshal(n.Params, &p)
		r.post(func() { r.exited(&p, err) })
	case "job/closed":
		r.post(func() { r.closed = true })
	case "job/stateChanged":
		var p struct{ Status string }
		if err := json.Unmarshal(n.Params, &p); err == nil && p.Status == "stopped" {
			r.post(r.stopped)
		}
	}
}

// exited asks how much output the leader has written: that much is written before the rest of the job is ended.
func (r *runner) exited(p *schema.JobExitedParams, err error) {
	if err != nil {
		r.endWith(statusFailed, err.Error())
		return
	}
	r.exit = &p.Exit
	r.shoot(p.Handle, func() {})
	if p.Exit.Reason == schema.ExitReasonLost {
		r.say("the exit status of the command is unknown: its keeper was killed")
	}
	var res schema.JobGetResult
	r.ask("job/get", map[string]any{"handle": p.Handle}, &res, func(error) { // After an error there is no output to wait for.
		r.exitAt = map[string]int64{}
		for name, s := range res.Job.Streams {
			r.exitAt[name] = s.NextOffset
		}
	})
}
