// Package record is a proxy between a client and a server that records their messages as a session of the
// conformance suite. Of the suite it uses only the contract, the parser of sessions and their syntax.
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

	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/conformance/internal/process"
)

const (
	// defaultGrace is the maximum time that a server may take to end after a signal: its own grace period of two
	// seconds, on a busy machine.
	defaultGrace = 15 * time.Second
	// holdTime is how long a server's stdout may stay open and silent after the server has ended, before the
	// recorder assumes that another process holds it.
	holdTime = 2 * time.Second
)

// A Recorder is a proxy between a client and a server that records their messages as a session. The client has
// started it in the server's place.
type Recorder struct {
	Contract *conformance.Contract
	Command  []string // the server's; [0] is a path, or a name to find on PATH
	File     string   // the session file; an existing file is kept: a number is added to the name
	Options  Options

	Stdin  io.ReadCloser  // the client's messages; closed when the server has ended
	Stdout io.WriteCloser // the messages to the client
	Stderr *os.File       // the server's
	// Signals are forwarded to the server, which must end within Grace (0: 15 s). After that, and at a second
	// signal, it is killed.
	Signals <-chan os.Signal
	Grace   time.Duration
}

// Options control the contents of the session.
type Options struct {
	Prose   string // the description; "": the client and the programs
	Level   string // "": the lowest that fits
	Matched bool   // of output, only matches of the client's own patterns
}

// A Recorded is the result of a recording.
type Recorded struct {
	Status int      // the server's exit status; 128 and the signal's number if a signal ended it
	File   string   // the session file
	Steps  int      // number of steps
	Notes  []string // points for the user to check; the session has each of them as a comment
}

// Record forwards bytes until the server has ended, and then writes the session. It returns an error if there is
// no session, or if the server cannot be started. Two goroutines forward bytes and a third waits for the process;
// all have ended when it returns, except the one that reads Stdin, which ends when its Read returns.
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

// writable reports early, before the recording, that the file cannot be created.
func (r *Recorder) writable() error {
	f, err := os.CreateTemp(filepath.Dir(r.File), ".record-*")
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err // The temporary file's name means nothing to the caller.
	}
	if err != nil {
		return fmt.Errorf("no file can be made in the directory of %s: %w", r.File, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// A proxy is a running recorder.
type proxy struct {
	*Recorder
	tape   *tape
	cmd    *exec.Cmd
	died   chan struct{} // closed after the process is reaped
	outEnd chan struct{} // closed when serverToClient has ended

	stdin  *os.File // the server's; closed under once
	stdout *os.File
	once   sync.Once

	handing atomic.Bool // a write to the client is pending
}

func (p *proxy) start() error {
	program, err := process.Path(p.Command[0])
	if err != nil {
		return err
	}
	p.cmd = exec.Command(program, p.Command[1:]...)
	process.OwnGroup(p.cmd) // a signal from the terminal reaches it once, through the recorder
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
	_ = inR.Close() // The recorder has read and written nothing on these ends.
	_ = outW.Close()
	if err != nil {
		p.closeStdin()
		return errors.Join(err, outR.Close())
	}
	return nil
}

func (p *proxy) closeStdin() {
	p.once.Do(func() { _ = p.stdin.Close() }) // Bytes written to a pipe stay in it.
}

func (p *proxy) wait() {
	_ = p.cmd.Wait() // The status is in ProcessState, and there is nothing to copy.
	close(p.died)
}

// clientToServer ends when the client's stdin ends, or when the server reads no more.
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

// serverToClient ends when the server's stdout ends, or when the client reads no more: then the server's next
// write fails, as it would without the recorder.
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

// supervise returns when the server has ended and all its output was forwarded.
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
	_ = p.stdout.Close() // It may be closed already.
	_ = p.Stdout.Close() // The client sees the end at once; unread output stays in the pipe.
	_ = p.Stdin.Close()
}

// lastWords waits until the server's output is forwarded, however slowly the client reads it; a signal stops the
// wait. If another process holds the server's stdout open, the wait ends once nothing has come for holdTime.
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
			_ = p.stdout.Close() // This unblocks a pending read.
			return
		}
		seen = len(entries)
	}
}

// signalName returns the name of a signal in sessions.
func signalName(s os.Signal) string {
	switch s {
	case os.Interrupt:
		return "INT"
	case syscall.SIGHUP:
		return "HUP"
	}
	return "TERM"
}

// writeNew writes a file atomically: it appears whole or not at all. An existing file of that name is kept, and a
// number is added: an editor restarts a server that has died, and the second recording must not replace the
// first.
func writeNew(name string, text []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".record-*") // private mode: other users may not read the typed text
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
			err = os.Rename(f.Name(), target) // for file systems without links
		}
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return target, err
		}
	}
}
