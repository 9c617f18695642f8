// Package front waits in place of a client's server. The client has started this process, but speaks to the host of its
// session, which has the process's stdin and stdout. The two are connected by the link, a socket: it carries
// signals to the host and the exit status back, and each side sees the end of the other by the end of the link.
//
// On Linux the process executes its own binary again for that, and goes no further than the init of this package, to
// save memory: a front lives as long as its client. So the package imports as little as it can.
package front

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// StatusGone is the exit status of a front whose host has ended without naming one.
const StatusGone = 75

// maxLine is the maximum length of a message of the host.
const maxLine = 4096

// unheard is how long a front that got a signal waits for its host to say something.
const unheard = 5 * time.Second

// A Front is what a process needs to know for this.
type Front struct {
	Link  *os.File
	Host  int    // the pid of the host, if this process has started it; 0: another one has
	Again string // a command line that attaches to the session again
}

// Wait returns the exit status of the process: the one that the host names. A signal is passed on to the host, which
// ends the connection; another one ends the wait.
func (f Front) Wait() int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	signal.Ignore(syscall.SIGPIPE) // If stderr is closed, the exit status counts all the more.
	ended := make(chan int, 1)
	go func() { ended <- f.read() }()
	var late <-chan time.Time
	for {
		select {
		case status := <-ended:
			return status
		case s := <-signals:
			if _, err := io.WriteString(f.Link, message(s)); err != nil || late != nil {
				return StatusGone
			}
			late = time.After(unheard)
		case <-late:
			complain("the host of the session does not answer; its jobs may be alive. To attach again: " + f.Again)
			return StatusGone
		}
	}
}

func message(s os.Signal) string {
	name := map[os.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP", syscall.SIGINT: "INT"}[s]
	return `{"signal":"` + name + `"}` + "\n"
}

// read reads the link to its end or to an exit status.
func (f Front) read() int {
	var all []byte
	b := make([]byte, 512)
	for {
		n, err := f.Link.Read(b)
		all = append(all, b[:n]...)
		for {
			line, rest, ok := bytes.Cut(all, []byte("\n"))
			if !ok {
				break
			}
			if status, is := exitStatus(string(line)); is {
				return status
			}
			all = rest
		}
		if err != nil || len(all) > maxLine {
			f.reap()
			complain("the host of the session has ended, and its jobs with it. To start the session anew: " + f.Again)
			return StatusGone
		}
	}
}

// exitStatus reads the message with the status. Others are for later versions. It has no use for package json, which
// would cost memory.
func exitStatus(line string) (status int, is bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), `{"exit":`)
	digits, ok2 := strings.CutSuffix(rest, "}")
	status, err := strconv.Atoi(digits)
	return status, ok && ok2 && err == nil
}

func complain(text string) {
	_, _ = io.WriteString(os.Stderr, "shelld connect: "+text+"\n") // There is no other place to report it.
}
