// Package record stands between a client and a server, and writes down what goes over the wire as a session of the
// conformance suite. Of the suite it uses the contract, the parser of sessions and their syntax alone.
package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"shelld/conformance"
	"shelld/conformance/internal/process"
)

const (
	// defaultGrace is how long a server has to end after a signal: its own grace of two seconds, on a busy machine.
	defaultGrace = 15 * time.Second
	// holdTime is how long a server's stdout may stay open and silent after the server has ended, before the recorder
	// takes it that another process holds it.
	holdTime = 2 * time.Second
)

// A Recorder stands between a client and a server, and writes down what goes over the
// wire as a session. The client has started it in the server's place.
type Recorder struct {
	Contract *conformance.Contract
	Command  []string // the server's; [0] is a path, or a name that is looked for on PATH
	File     string   // where the session goes; one that is there is not touched: a number is added
	Options  Options

	Stdin  io.ReadCloser  // the client's end; closed when the server has ended
	Stdout io.WriteCloser // the client's other end
	Stderr *os.File       // the server's
	// Signals are passed on to the server, which has Grace to end then (0: 15 s). After
	// that, and at a second signal, it is killed.
	Signals <-chan os.Signal
	Grace   time.Duration
}

// Options say what is written down.
type Options struct {
	Prose   string // what the session shows; "": who drove what
	Level   string // "": the lowest that fits
	Matched bool   // of output only what the client's own patterns matched
}

// A Recorded is what became of a recording.
type Recorded struct {
	Status int      // the server's exit status; 128 and the signal's number where one ended it
	File   string   // where the session is
	Steps  int      // how many it has
	Notes  []string // what somebody has to look at; the session has each of them as a comment
}

// Record passes bytes on until the server has ended, and then writes the session. Its
// error says why there is no session, or why the server could not be started. Two
// goroutines pass bytes on, a third waits for the process; all have ended when it returns
// but for the one that reads Stdin, which ends when its Read returns.
func (r *Recorder) Record() (Recorded, error) {
	if err := r.writable(); err != nil {
		return Recorded{Status: 2}, err
	}
	p := &proxy{Recorder: r, tape: newTape(), died: make(chan struct{}), outEnd: make(chan struct{})}
	if err := p.start(); err != nil {
		return Recorded{Status: 2}, err
	}
	go p.clientToServer()
	go p.serverToClient()
	go p.wait()
	p.supervise()
	done := Recorded{Status: process.ExitStatus(p.cmd.ProcessState)}
	entries, framing := p.tape.done()
	text, notes := compose(r.Contract, r.Options, surroundings(p.tape.began), entries, framing)
	done.Notes = notes
	file, err := writeNew(r.File, text)
	if err != nil {
		return done, fmt.Errorf("the session cannot be written: %w", err)
	}
	done.File = file
	s, err := conformance.Parse(filepath.Base(file), text)
	if err != nil {
		return done, fmt.Errorf("the session is written, and cannot be read (a fault of the recorder): %w", err)
	}
	done.Steps = s.Steps()
	return done, nil
}

// writable says at once, and not when all is over, that the file cannot be made.
func (r *Recorder) writable() error {
	f, err := os.CreateTemp(filepath.Dir(r.File), ".record-*")
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err // The file has a name that the caller does not know.
	}
	if err != nil {
		return fmt.Errorf("no file can be made in the directory of %s: %w", r.File, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// A proxy is a recorder at work.
type proxy struct {
	*Recorder
	tape   *tape
	cmd    *exec.Cmd
	died   chan struct{} // closed when the process was reaped
	outEnd chan struct{} // closed when serverToClient has ended

	stdin  *os.File // the server's; whoever closes it has the lock
	stdout *os.File
	once   sync.Once

	handing atomic.Bool // bytes are with the client, who has not taken them yet
}

func (p *proxy) start() error {
	program, err := process.Path(p.Command[0])
	if err != nil {
		return err
	}
	p.cmd = exec.Command(program, p.Command[1:]...)
	process.OwnGroup(p.cmd) // a signal of the terminal reaches it once, through us
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inR.Close(), inW.Close())
	}
	p.stdin, p.stdout = inW, outR
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, p.Stderr
	err = p.cmd.Start()
	_ = inR.Close() // Nothing was read from it, or written to the other.
	_ = outW.Close()
	if err != nil {
		p.closeStdin()
		return errors.Join(err, outR.Close())
	}
	return nil
}

func (p *proxy) closeStdin() {
	p.once.Do(func() { _ = p.stdin.Close() }) // What was written to a pipe has been written.
}

func (p *proxy) wait() {
	_ = p.cmd.Wait() // The status is in ProcessState, and there is nothing to copy.
	close(p.died)
}

// clientToServer ends with the client's end of stdin, or with a server that reads no more.
func (p *proxy) clientToServer() {
	buf := make([]byte, 64<<10)
	for {
		n, err := p.Stdin.Read(buf)
		if n > 0 {
			p.tape.fromClient(buf[:n])
			if _, err := p.stdin.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			p.tape.note(tapeEnd, "")
			p.closeStdin()
			return
		}
	}
}

// serverToClient ends with the server's stdout, or with a client that takes no more: then
// the server sees what it would see without us.
func (p *proxy) serverToClient() {
	defer close(p.outEnd)
	buf := make([]byte, 64<<10)
	for {
		n, err := p.stdout.Read(buf)
		if n > 0 {
			p.tape.fromServer(buf[:n])
			p.handing.Store(true)
			_, err := p.Stdout.Write(buf[:n])
			p.handing.Store(false)
			if err != nil {
				p.tape.note(tapeEnd, "")
				_ = p.stdout.Close() // The server's next write fails.
				p.closeStdin()
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// supervise returns when the server has ended and all that it said was passed on.
func (p *proxy) supervise() {
	var late <-chan time.Time
	for over := false; !over; {
		select {
		case s := <-p.Signals:
			name := signalName(s)
			p.tape.note(tapeSignal, name)
			if late != nil || p.cmd.Process.Signal(s) != nil {
				process.KillGroup(p.cmd)
			}
			late = time.After(cmp.Or(p.Grace, defaultGrace))
		case <-late:
			process.KillGroup(p.cmd)
		case <-p.died:
			over = true
		}
	}
	p.lastWords()
	p.tape.note(tapeExit, fmt.Sprint(process.ExitStatus(p.cmd.ProcessState)))
	p.closeStdin()
	_ = p.stdout.Close() // It may be closed.
	_ = p.Stdout.Close() // The client sees the end at once, and what it has not read stays there.
	_ = p.Stdin.Close()
}

// lastWords waits until what the server has written is passed on, however slowly the client
// takes it; a signal ends that. Whoever else holds the server's stdout open is not waited
// for, once nothing has come for a while.
func (p *proxy) lastWords() {
	for seen := -1; ; {
		t := time.NewTimer(holdTime)
		select {
		case <-p.outEnd:
			t.Stop()
			return
		case <-p.Signals:
			t.Stop()
			return
		case <-t.C:
		}
		entries, _ := p.tape.done()
		if len(entries) == seen && !p.handing.Load() {
			_ = p.stdout.Close() // Frees whoever reads it.
			return
		}
		seen = len(entries)
	}
}

// signalName is the name of a signal as sessions have it.
func signalName(s os.Signal) string {
	switch s {
	case os.Interrupt:
		return "INT"
	case syscall.SIGHUP:
		return "HUP"
	}
	return "TERM"
}

// writeNew writes a file that is there whole or not at all. A file that has the name is
// kept: an editor starts its server again when that has died, and the second recording must
// not take the place of the first.
func writeNew(name string, text []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".record-*") // nobody else may read what was typed
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	ext := filepath.Ext(name)
	for n := 1; ; n++ {
		target := name
		if n > 1 {
			target = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
		}
		err := os.Link(f.Name(), target)
		if _, there := os.Lstat(target); err != nil && errors.Is(there, fs.ErrNotExist) {
			err = os.Rename(f.Name(), target) // a file system without links
		}
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return target, err
		}
	}
}
