//go:build linux || darwin

package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"shelld.dev/shelld/internal/front"
)

// The descriptors of a host when it starts.
const (
	readyFD    = 3 // the writing end of a pipe: readyText, or the reason why it has not started
	lockFD     = 4
	startingFD = 5
)

const readyText = "ready\n"

// maxReason is the maximum length of a reason for a host that has not started.
const maxReason = 2 << 10

// start starts the host of a session, and waits until it is ready. It runs detached from the front: in a session of its
// own, with none of the front's descriptors. The caller holds both locks.
func (f *folder) start(c Call, lock, starting *os.File) (*os.Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	defer w.Close()
	log, err := f.root.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, f.absolute(err, logFile)
	}
	defer log.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	program := c.Program
	switch {
	case program != "":
	case runtime.GOOS == "linux":
		program = "/proc/self/exe" // the running image, even if its file has been replaced
	default:
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if err := front.CloseOnExec(3); err != nil {
		return nil, err
	}
	p, err := os.StartProcess(program, c.Host, &os.ProcAttr{
		Files: []*os.File{null, log, log, w, lock, starting},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	_ = w.Close() // The end of the pipe is the host's.
	if err := r.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxReason))
	if string(text) == readyText {
		return p, nil
	}
	return nil, f.notStarted(p, string(text), err)
}

// notStarted ends what there is of a host, and returns the reason why it has not started.
func (f *folder) notStarted(p *os.Process, text string, err error) error {
	if err != nil {
		text = fmt.Sprintf("it is not ready after %s", startTime)
		_ = p.Kill() // It may have ended just now.
	}
	state, waitErr := p.Wait()
	if text == "" {
		text = state.String()
		if end, err := f.read(logFile, maxReason); err == nil && len(end) > 0 {
			text += "; its log ends with: " + strings.TrimSpace(string(end))
		}
	}
	return errors.Join(fmt.Errorf("the host of the session %s has not started: %s", f.name, strings.TrimSpace(text)), waitErr)
}
