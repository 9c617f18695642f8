package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// pipeTime is how long the pipes of a server may stay open after its process has ended: only a process that it has left
// behind holds them then.
const pipeTime = time.Second

// Start starts a server as a child process, and initializes it. When ctx is done, the server and all its jobs are
// ended, as by Close.
//
// The program is Options.Path, or $SHELLD, or shelld on PATH. It is started directly, without a shell, and in a process
// group of its own: Ctrl-C in a terminal reaches this process alone. The death of this process ends the server, and
// that of the server all its jobs.
func Start(ctx context.Context, o Options) (*Client, error) {
	path := o.Path
	if path == "" {
		path = os.Getenv("SHELLD")
	}
	if path == "" {
		path = "shelld"
	}
	if _, err := exec.LookPath(path); err != nil {
		return nil, &StartError{Path: path, Err: fmt.Errorf("%w; build it with: go build ./cmd/shelld, and name it in Options.Path or $SHELLD, or put it on PATH", errors.Unwrap(err))}
	}
	p, err := startProcess(path, o)
	if err != nil {
		return nil, &StartError{Path: path, Err: err}
	}
	c := newClient(p.stdout, p.stdin, transport{out: p.stdin, ended: p.ended, late: errKilled, kill: p.kill, why: p.lost}, o)
	p.watch(c.conn)
	return c.begin(ctx, path, o)
}

// A process is a server that is a child process.
//
// Goroutines: one reads stderr; one waits for the end of the connection, which is to end the process; one waits for the
// end of the process.
type process struct {
	// Immutable:
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File      // our ends
	copy                  io.Writer     // gets stderr too; nil: nothing does
	ended                 chan struct{} // closed when the process has ended and was read to its end
	said                  chan struct{} // closed when stderr has ended

	exit error // of the process; read only after ended is closed

	mu   sync.Mutex
	last []byte // the end of stderr
}

// startProcess starts the program. Only watch waits for it.
func startProcess(path string, o Options) (*process, error) {
	p := &process{cmd: exec.Command(path, o.Args...), copy: o.Stderr, ended: make(chan struct{}), said: make(chan struct{})}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	p.stdin = in
	out, stdout, err := os.Pipe()
	if err != nil {
		p.close()
		return nil, err
	}
	defer stdout.Close()
	p.stdout = out
	log, stderr, err := os.Pipe()
	if err != nil {
		p.close()
		return nil, err
	}
	defer stderr.Close()
	p.stderr = log
	// Files, and no other readers and writers: then the package os/exec has no goroutines and closes nothing.
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
	p.cmd.SysProcAttr = ownGroup()
	if err := p.cmd.Start(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close closes our ends of the pipes. An error means that one is closed, or was not made.
func (p *process) close() { _, _, _ = p.stdin.Close(), p.stdout.Close(), p.stderr.Close() }

// watch begins to wait for the end.
func (p *process) watch(conn *Conn) {
	go p.listen()
	go func() {
		<-conn.Done()
		_, _ = p.stdin.Close(), p.stdout.Close() // A server that has closed its stdout, or sends no messages, is to end.
	}()
	go func() {
		p.exit = p.cmd.Wait()
		late := time.AfterFunc(pipeTime, p.close)
		<-conn.Done()
		<-p.said
		late.Stop()
		p.close()
		close(p.ended)
	}()
}

// listen reads stderr, and keeps its end.
func (p *process) listen() {
	defer close(p.said)
	buf := make([]byte, 4096)
	for {
		n, err := p.stderr.Read(buf)
		if p.copy != nil {
			_, _ = p.copy.Write(buf[:n]) // Nothing can be done for a copy that fails.
		}
		p.mu.Lock()
		p.last = append(p.last, buf[:n]...)
		p.last = p.last[max(0, len(p.last)-tailBytes):]
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// kill ends the process at once. Its jobs end too, by their keepers.
func (p *process) kill() { _ = p.cmd.Process.Kill() } // An error means that it has ended.

// lost returns the error for calls that were not answered. It gives the process some time to end, and to say why.
func (p *process) lost(bad error) error {
	late := time.NewTimer(3 * time.Second)
	defer late.Stop()
	e := &GoneError{Cause: bad}
	select {
	case <-p.ended:
		if e.Cause == nil && p.exit != nil {
			e.Cause = p.exit
		}
	case <-late.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e.Stderr = strings.TrimSpace(string(p.last))
	return e
}
