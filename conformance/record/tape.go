package record

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"

	"shelld.dev/shelld/conformance/internal/wire"
)

// mostTaped is the maximum memory of a recording. Later messages are forwarded but not recorded.
const mostTaped = 64 << 20

// A tapeKind is the kind of a tape's entry.
type tapeKind int

const (
	tapeFrame    tapeKind = iota // the body of one message of the framing
	tapeRaw                      // bytes that are no message
	tapeEnd                      // the client's end: its stdin ended, or it stopped reading the recorder's stdout
	tapeSignal                   // a signal to end; raw has its name
	tapeExit                     // the server's end; raw has its exit status
	tapeOverflow                 // no further entries were kept
)

// A taped is one entry of a tape.
type taped struct {
	at   time.Duration
	kind tapeKind
	dir  wire.Direction
	raw  []byte
	echo echoState // of the terminal that a job/write goes to, just before it is sent
}

// A tape records the messages of both directions. It records each under one lock before it is forwarded: an entry
// always comes before its effects.
type tape struct {
	began time.Time

	mu      sync.Mutex
	framing string // "": no bytes yet
	entries []taped
	cost    int
	full    bool
	client  splitter
	server  splitter
	pids    map[string]int    // of jobs, by handle
	handles map[string]string // by name
}

func newTape() *tape {
	return &tape{began: time.Now(), pids: map[string]int{}, handles: map[string]string{}}
}

// fromClient records bytes that are about to go to the server.
func (t *tape) fromClient(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.framing == "" && len(data) > 0 {
		t.framing = "header"
		if strings.IndexByte("{[ \t\r\n\xef", data[0]) >= 0 {
			t.framing = "line"
		}
		t.client.framing, t.server.framing = t.framing, t.framing
	}
	t.client.add(data, func(kind tapeKind, raw []byte) {
		e := taped{kind: kind, dir: wire.ToServer, raw: raw}
		if kind == tapeFrame {
			e.echo = t.echo(raw)
		}
		t.add(e)
	})
}

// fromServer records bytes that are about to go to the client.
func (t *tape) fromServer(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.server.add(data, func(kind tapeKind, raw []byte) {
		if kind == tapeFrame && bytes.Contains(raw, []byte(`"pid"`)) {
			t.learn(raw)
		}
		t.add(taped{kind: kind, dir: wire.FromServer, raw: raw})
	})
}

// note records an event other than bytes.
func (t *tape) note(kind tapeKind, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir := wire.ToServer
	if kind == tapeExit {
		dir = wire.FromServer
		t.flush(&t.server, wire.FromServer)
	} else {
		t.flush(&t.client, wire.ToServer)
	}
	t.add(taped{kind: kind, dir: dir, raw: []byte(what)})
}

// flush records an incomplete message that will not be completed.
func (t *tape) flush(s *splitter, dir wire.Direction) {
	if rest := s.rest(); len(rest) > 0 {
		t.add(taped{kind: tapeRaw, dir: dir, raw: rest})
	}
}

// add keeps an entry, if there is room. The server's end is always kept, since it carries the exit status.
func (t *tape) add(e taped) {
	e.at = time.Since(t.began)
	if t.full && e.kind != tapeExit {
		return
	}
	if t.cost += len(e.raw) + wire.MessageCost; t.cost > mostTaped && !t.full {
		t.full = true
		e = taped{at: e.at, kind: tapeOverflow}
	}
	t.entries = append(t.entries, e)
}

// done returns all entries.
func (t *tape) done() (entries []taped, framing string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries, t.framing
}

// learn records the process ids and names of jobs in a message.
func (t *tape) learn(raw []byte) {
	v, err := wire.Decode(raw)
	if err != nil {
		return // The error is reported when the session is written.
	}
	o, _ := v.(map[string]any)
	for _, part := range []string{"params", "result"} {
		p, _ := o[part].(map[string]any)
		job, _ := p["job"].(map[string]any)
		pid, ok := wire.Int(job["pid"])
		if !ok {
			continue
		}
		handle := wire.Show(job["handle"])
		t.pids[handle] = int(pid)
		if name, ok := job["name"].(string); ok {
			t.handles[name] = handle
		}
	}
}

// echo probes the terminal into which a message of the client types.
func (t *tape) echo(raw []byte) echoState {
	if !bytes.Contains(raw, []byte("job/write")) && !bytes.Contains(raw, []byte(`job\/write`)) {
		return echoUnknown
	}
	v, err := wire.Decode(raw)
	if err != nil {
		return echoUnknown
	}
	o, _ := v.(map[string]any)
	params, _ := o["params"].(map[string]any)
	handle := wire.Show(params["handle"])
	if name, ok := params["handle"].(string); ok {
		handle = t.handles[name]
	}
	if pid := t.pids[handle]; pid > 0 {
		return terminalEcho(pid)
	}
	return echoUnknown
}

// An echoState is how a terminal treats typed text.
type echoState int

const (
	echoUnknown echoState = iota // the terminal cannot be probed
	echoOn                       // the kernel shows it
	echoOff                      // canonical mode without echo: as programs ask for passwords
	echoRaw                      // raw mode, in which the program decides about echo
)

// A splitter splits one direction of the connection into the messages of its framing.
type splitter struct {
	framing string
	buf     []byte
	broken  bool // no more messages can be found
}

// add takes bytes, and passes complete messages to tell.
func (s *splitter) add(data []byte, tell func(tapeKind, []byte)) {
	if s.broken || s.framing == "" {
		tell(tapeRaw, bytes.Clone(data))
		return
	}
	s.buf = append(s.buf, data...)
	for {
		body, n, ok := s.next()
		switch {
		case !ok:
			s.broken = true
			tell(tapeRaw, s.rest())
			return
		case n == 0:
			return
		}
		if body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")); len(bytes.TrimSpace(body)) > 0 || s.framing == "header" {
			tell(tapeFrame, bytes.Clone(body))
		}
		s.buf = s.buf[n:]
	}
}

// rest removes and returns the incomplete rest.
func (s *splitter) rest() []byte {
	rest := bytes.Clone(s.buf)
	s.buf = nil
	return rest
}

// next finds the first message: its body, and its length with the framing; 0: it is incomplete. If ok is false,
// the bytes can never become a message.
func (s *splitter) next() (body []byte, n int, ok bool) {
	if s.framing == "line" {
		end := bytes.IndexByte(s.buf, '\n')
		if end < 0 {
			return nil, 0, len(s.buf) <= wire.MaxFrame
		}
		return bytes.TrimSuffix(s.buf[:end], []byte("\r")), end + 1, true
	}
	const mostHeader = 64 << 10
	head, length := 0, -1
	for {
		end := bytes.IndexByte(s.buf[head:], '\n')
		if end < 0 {
			return nil, 0, len(s.buf)-head <= mostHeader
		}
		line := strings.TrimSuffix(string(s.buf[head:head+end]), "\r")
		head += end + 1
		if line == "" {
			break
		}
		name, v, isHeader := strings.Cut(line, ":")
		if !isHeader || head > mostHeader {
			return nil, 0, false
		}
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			var err error
			if length, err = strconv.Atoi(strings.TrimSpace(v)); err != nil || length > wire.MaxFrame {
				return nil, 0, false
			}
		}
	}
	if length < 0 {
		return nil, 0, false
	}
	if len(s.buf)-head < length {
		return nil, 0, true
	}
	return s.buf[head : head+length], head + length, true
}
