//go:build linux || darwin

package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// maxDescriptors is the number of descriptors that come with an attach: stdin and stdout.
const maxDescriptors = 2

// received is the first message of a connection.
type received struct {
	request
	fds  []int  // stdin, stdout
	rest []byte // what came behind it
}

// receive reads the first message. After an error, all descriptors that came with it are closed.
func receive(c *net.UnixConn) (r received, err error) {
	defer func() {
		if err != nil {
			closeAll(r.fds)
			r.fds = nil
		}
	}()
	var text []byte
	b, control := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxDescriptors))
	for {
		n, nc, flags, _, err := c.ReadMsgUnix(b, control)
		fds, controlErr := descriptors(control[:max(nc, 0)])
		r.fds = append(r.fds, fds...)
		text = append(text, b[:max(n, 0)]...)
		message, rest, complete := bytes.Cut(text, []byte("\n"))
		switch {
		case controlErr != nil:
			return r, errorf(Malformed, "the descriptors cannot be taken: %w", controlErr)
		case flags&unix.MSG_CTRUNC != 0 && len(r.fds) < maxDescriptors: // There was room for all of them.
			return r, errorf(Refused, "its process has no descriptors left; detach other clients, or end the session and start it with a higher limit (ulimit -n)")
		case flags&unix.MSG_CTRUNC != 0 || len(r.fds) > maxDescriptors:
			return r, errorf(Malformed, "there must be %d descriptors with an attach, and none with other requests", maxDescriptors)
		case complete:
			r.rest = rest
			return r, r.parse(message)
		case len(text) >= maxMessage:
			return r, errorf(Malformed, "the first message is longer than %d bytes", maxMessage)
		case err != nil:
			return r, err
		case n == 0:
			return r, errors.New("the connection ended before the first message")
		}
	}
}

// parse reads the message and checks it.
func (r *received) parse(message []byte) error {
	if err := json.Unmarshal(message, &r.request); err != nil {
		return errorf(Malformed, "the first message is not understood: %w", err)
	}
	if r.V != messageVersion || r.Verb != verbAttach && r.Verb != verbStatus && r.Verb != verbEnd {
		return errorf(Version, "this host knows attach, status and end of version %d, and not %q of version %d", messageVersion, r.Verb, r.V)
	}
	want := 0
	if r.Verb == verbAttach {
		want = maxDescriptors
	}
	if len(r.fds) != want {
		return errorf(Malformed, "%d descriptors came with %s, not %d", len(r.fds), r.Verb, want)
	}
	return nil
}

// descriptors returns the descriptors in control data. Go has set their close-on-exec flag.
func descriptors(control []byte) (all []int, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // It is of another kind.
		}
		all = append(all, fds...)
	}
	return all, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // Nothing was written to it.
	}
}
