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

// An Arrival is a client whose descriptors were handed over. The first read of In accepts it; until then it can be
// refused.
type Arrival struct {
	Client Client
	Since  time.Time
	In     io.Reader // the client's stdin
	Out    io.Writer // its stdout; also an rpc.DirectWriter
	// Context is done when the client is gone, or wants to be: its front has ended or got a signal.
	Context context.Context

	streams  []io.Closer
	closing  sync.Once
	link     *net.UnixConn
	answered sync.Once
	cancel   context.CancelCauseFunc
	read     chan struct{} // closed when readLink has returned
	gone     func()        // called at the end of close
}

// arrive takes over the descriptors of a client, and calls gone when the Arrival has released them. After an error all of
// them are closed.
func arrive(c *net.UnixConn, r received, gone func()) (*Arrival, error) {
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
	a := &Arrival{Since: time.Now(), Out: out, streams: []io.Closer{in, out}, link: c, read: make(chan struct{}), gone: gone}
	a.In = acceptedIn{a, in}
	if r.Client != nil {
		a.Client = *r.Client
	}
	a.Context, a.cancel = context.WithCancelCause(context.Background())
	go a.readLink(io.MultiReader(bytes.NewReader(r.rest), c))
	return a, nil
}

// An acceptedIn accepts its client when it is first read.
type acceptedIn struct {
	a  *Arrival
	in io.Reader
}

func (r acceptedIn) Read(p []byte) (int, error) {
	r.a.answer(answer{OK: true})
	return r.in.Read(p)
}

// answer answers the front, once. It reports whether it has not been answered before.
func (a *Arrival) answer(with answer) (is bool) {
	a.answered.Do(func() {
		is = true
		a.send(with)
	})
	return is
}

// send writes a message to the front. It gives up on a front that is gone or does not read.
func (a *Arrival) send(message any) {
	_ = a.link.SetWriteDeadline(time.Now().Add(firstTime))
	_, _ = a.link.Write(line(message))
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

// Refuse refuses a client that was not accepted. It reports whether that was possible. If the kind is Ending, the front
// waits for the end of this host and then starts another one.
func (a *Arrival) Refuse(kind Kind, why string) bool {
	if !a.answer(answer{Kind: kind, Message: why}) {
		return false
	}
	a.close()
	return true
}

// Exit closes the client's descriptors, and makes its front exit with the status.
func (a *Arrival) Exit(status int) {
	a.answer(answer{OK: true})
	a.closeStreams()
	a.send(linkMessage{Exit: &status})
	a.close()
}

// close releases everything.
func (a *Arrival) close() {
	a.closeStreams()
	_ = a.link.Close() // Everything was written.
	<-a.read
	a.gone()
}
