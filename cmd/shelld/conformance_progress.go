package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"shelld.dev/shelld/conformance"
)

// A conformanceProgress passes results on to a report, and shows the progress of the run.
type conformanceProgress struct {
	// Immutable:
	report conformance.Report
	known  conformance.Baseline
	total  int
	shown  bool // on stderr, which is a terminal

	mu     sync.Mutex
	tried  int
	failed int
}

// play runs the sessions. An interrupt ends the servers, which are in process groups of their own, and then this
// process.
func (p *conformanceProgress) play(run func(tell func(conformance.Result))) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case s := <-signals:
			p.interrupted(s)
		case <-over:
		}
	}()
	p.show()
	run(p.tell)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	var err error
	if p.failed > 0 {
		err = errNotConforming
	}
	return errors.Join(err, p.report.Done())
}

func (p *conformanceProgress) tell(r conformance.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r = p.known.Judge(r)
	p.tried++
	if r.Bad() {
		p.failed++
	}
	p.clear() // The report may go to the same terminal.
	p.report.Tell(r)
	p.show()
}

// interrupted ends the process with the results so far. It keeps the lock: sessions that fail because interrupted has
// ended their server are not results.
func (p *conformanceProgress) interrupted(s os.Signal) {
	p.mu.Lock()
	conformance.KillServers()
	p.clear()
	_ = p.report.Done() // The exit status no longer depends on it.
	fmt.Fprintf(os.Stderr, "shelld conformance run: interrupted; %d of %d tried\n", p.tried, p.total)
	status := statusSignal
	if n, ok := s.(syscall.Signal); ok {
		status += int(n)
	}
	os.Exit(status)
}

func (p *conformanceProgress) show() {
	if p.shown {
		fmt.Fprintf(os.Stderr, "%d of %d tried, %d failed", p.tried, p.total, p.failed)
	}
}

// clear removes the line written by show.
func (p *conformanceProgress) clear() {
	if p.shown {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
