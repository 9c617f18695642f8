//go:build linux || darwin

package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// An Arrival is a client whose descriptors were handed over.
type Arrival struct {
	Client Client
	Since  time.Time
	In     io.Reader // the client's end of stdin; also an rpc.DirectWriter if possible
	Out    io.Writer
	// Context is done when the client is gone, or wants to be: its front has ended or got a signal.
	Context context.Context

	streams []io.Closer
	closing sync.Once
	link    *net.UnixConn
	cancel  context.CancelCauseFunc
	read    chan struct{} // closed when readLink has returned
}

// arrive takes over the descriptors of a client and answers its front. After an error all of them are closed.
func arrive(c *net.UnixConn, r received) (*Arrival, error) {
	in, err := openStream(r.fds[0], unix.O_RDONLY)
	if err != nil {
		closeAll(r.fds)
		return nil, err
	}
	out, err := openStream(r.fds[1], unix.O_WRONLY)
	if err != nil {
		_ = in.Close() // It was not read.
		closeAll(r.fds[1:])
		return nil, err
	}
	a := &Arrival{Since: time.Now(), In: in, Out: out, streams: []io.Closer{in, out}, link: c, read: make(chan struct{})}
	if r.Client != nil {
		a.Client = *r.Client
	}
	a.Context, a.cancel = context.WithCancelCause(context.Background())
	if _, err := c.Write(line(answer{OK: true})); err != nil {
		a.closeStreams()
		a.cancel(err)
		return nil, err
	}
	go a.readLink(io.MultiReader(bytes.NewReader(r.rest), c))
	return a, nil
}

// readLink reads the link until it ends. Then the client's descriptors are closed at once: a program such as ssh waits
// for the end of its pipes.
func (a *Arrival) readLink(link io.Reader) {
	defer close(a.read)
	lines := bufio.NewReaderSize(link, maxMessage)
	for {
		b, err := readLine(lines, maxMessage)
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
				err = errors.New("the front has ended")
			}
			a.cancel(err)
			a.closeStreams()
			return
		}
		var m linkMessage
		if json.Unmarshal(b, &m) == nil && m.Signal != "" {
			a.cancel(fmt.Errorf("the front got the signal %.16q", m.Signal))
		}
	}
}

func (a *Arrival) closeStreams() {
	a.closing.Do(func() {
		for _, s := range a.streams {
			_ = s.Close() // Everything was written, or the client is gone.
		}
	})
}

// Exit closes the client's descriptors, and makes its front exit with the status.
func (a *Arrival) Exit(status int) {
	a.closeStreams()
	_ = a.link.SetWriteDeadline(time.Now().Add(firstTime)) // A front that does not read harms nobody.
	_, _ = a.link.Write(line(linkMessage{Exit: &status}))  // It fails if the front is gone.
	_ = a.link.Close()
	<-a.read
}
