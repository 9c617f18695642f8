//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/schema"
)

// catchSignals passes signals to the loop, except ignored ones: those that nohup or a shell has switched off stay
// ignored.
func (r *runner) catchSignals() {
	// Writing to a pipe without a reader must return an error, and not end this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, s := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH,
	} {
		if !signal.Ignored(s) {
			signal.Notify(r.sigs, s)
		}
	}
}

func (r *runner) onSignal(s os.Signal) {
	switch s {
	case syscall.SIGWINCH:
		r.resize()
	case syscall.SIGTSTP:
		r.signal("SIGTSTP", schema.SignalTargetForeground, func(error) {
			if !r.tellsStops {
				r.suspend()
			}
		})
	case syscall.SIGCONT:
		r.resume()
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		r.fatal++
		switch {
		case r.fatal == 1 && r.handle == 0:
			r.early = append(r.early, s)
		case r.fatal == 1:
			r.forward(s)
		case r.fatal == 2 && r.handle != 0:
			r.kill(0)
		default: // It was killed already, or has not even started.
			r.status, r.finished = statusSignal+int(s.(syscall.Signal)), true
		}
	default:
		r.forward(s)
	}
}

// forward passes a signal on: signals of a terminal go to the foreground process group, those that end a session go to
// the whole tree, and all others only to the command.
func (r *runner) forward(s os.Signal) {
	target := schema.SignalTargetLeader
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT:
		target = schema.SignalTargetForeground
	case syscall.SIGTERM, syscall.SIGHUP:
		target = schema.SignalTargetTree
	}
	if r.handle != 0 {
		r.signal(unix.SignalName(s.(syscall.Signal)), target, func(error) {})
	}
}

// signal sends a signal to the job. An error means that no process is left to receive it.
func (r *runner) signal(name string, target schema.SignalTarget, then func(error)) {
	r.ask("job/signal", map[string]any{"handle": r.handle, "signal": name, "target": target}, nil, then)
}

// resize gives the job's terminal the size of ours.
func (r *runner) resize() {
	if cols, rows, ok := r.console.size(); ok && r.opts.pty && r.handle != 0 {
		r.ask("job/resize", map[string]any{"handle": r.handle, "cols": cols, "rows": rows}, nil, func(error) {})
	}
}

// stopped handles a stop of the job. If we have a terminal, its user has stopped the job, so we stop too: otherwise the
// parent process would not know that we must be continued.
func (r *runner) stopped() {
	if r.console.isTerminal && r.console.readable {
		r.suspend()
	}
}

// suspend stops this process, as the job was stopped, so that our parent takes the terminal back.
func (r *runner) suspend() {
	r.console.restore()
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // It cannot fail; it returns after we were continued.
}

// resume continues after a stop.
func (r *runner) resume() {
	if r.opts.pty {
		_ = r.console.raw() // In the background the terminal keeps its modes.
	}
	if r.handle != 0 {
		r.signal("SIGCONT", schema.SignalTargetTree, func(error) {})
	}
	r.resize() // The size may have changed meanwhile.
}
