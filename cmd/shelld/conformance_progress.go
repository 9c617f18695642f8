package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"shelld/conformance"
)

// A conformanceProgress passes results on to a report, and shows how far the run has come.
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

// play runs the sessions. An interrupt ends the servers and then the process: the servers are in
// process groups of their own.
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

// interrupted ends the process with what is known so far. It keeps the lock: sessions that fail because
// their server was ended here are not results.
func (p *conformanceProgress) interrupted(s os.Signal) {
	p.mu.Lock()
	conformance.KillServers()
	p.clear()
	_ = p.report.Done() // The exit status does not depend on it any more.
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

// clear removes the line that show has written.
func (p *conformanceProgress) clear() {
	if p.shown {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
