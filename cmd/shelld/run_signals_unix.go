//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"shelld/schema"
)

// catchSignals lets the loop have the signals that are not ignored: what nohup or a
// shell has switched off stays so.
func (r *runner) catchSignals() {
	// Writing to a pipe that nobody reads must be an error, and not our end.
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
		default: // it was killed, or does not even start
			r.status, r.finished = statusSignal+int(s.(syscall.Signal)), true
		}
	default:
		r.forward(s)
	}
}

// forward passes a signal on: what a terminal would send goes to the foreground, what
// means the end of a session to all of it, anything else to the command alone.
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

// signal sends the job a signal. An error means that nobody is there to get it.
func (r *runner) signal(name string, target schema.SignalTarget, then func(error)) {
	r.ask("job/signal", map[string]any{"handle": r.handle, "signal": name, "target": target}, nil, then)
}

// resize gives the job's terminal the size of ours.
func (r *runner) resize() {
	if cols, rows, ok := r.console.size(); ok && r.opts.pty && r.handle != 0 {
		r.ask("job/resize", map[string]any{"handle": r.handle, "cols": cols, "rows": rows}, nil, func(error) {})
	}
}

// stopped is told that the job was. Where a person has done that at our terminal, it
// is stopped as a whole; nobody else would know that we have to be continued.
func (r *runner) stopped() {
	if r.console.isTerminal && r.console.readable {
		r.suspend()
	}
}

// suspend stops us, as the job was: whoever has started us takes the terminal back.
func (r *runner) suspend() {
	r.console.restore()
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // It cannot fail; it returns when we were continued.
}

// resume goes on after a stop.
func (r *runner) resume() {
	if r.opts.pty {
		_ = r.console.raw() // In the background it stays as it is.
	}
	if r.handle != 0 {
		r.signal("SIGCONT", schema.SignalTargetTree, func(error) {})
	}
	r.resize() // It may have changed meanwhile.
}
