//go:build linux

package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/conformance/internal/wire"
)

// The test binary is also a proxy between the suite and a real server:
//
//	proxyWord FAULT COUNTFILE SERVER ARGS...
//
// It forwards everything unchanged, except for the one fault that it commits. The length of COUNTFILE is the
// number of times it did.
const proxyWord = "fault-proxy"

// A packet is one message in transit.
type packet struct {
	raw      []byte         // original bytes with the frame; sent if v is unchanged
	body     []byte         // without its frame
	v        map[string]any // nil: no message
	askedFor *askedFor      // the request that it answers, or nil
	back     bool           // from a hook for the client's messages: it goes to the client
}

// An askedFor is a request of the client.
type askedFor struct {
	method string
	params map[string]any
}

// touch marks v as changed.
func (m *packet) touch() { m.raw = nil }

// spoil replaces a message by bytes.
func (m *packet) spoil(wire string) { m.raw = []byte(wire) }

func (m *packet) method() string { s, _ := m.v["method"].(string); return s }

// object returns a member of a message that is an object; it is never nil.
func (m *packet) object(name string) map[string]any {
	if o, ok := m.v[name].(map[string]any); ok {
		return o
	}
	return map[string]any{}
}

// job returns the handle of an event, or "".
func (m *packet) job() string {
	if o := m.object("params"); o["seq"] != nil {
		return wire.Show(o["handle"])
	}
	return ""
}

// hooks implement a fault. Each receives a message and returns the messages to send instead. They run one at a
// time.
type hooks struct {
	server   func(p *faultProxy, m *packet) []*packet
	client   func(p *faultProxy, m *packet) []*packet
	last     func(p *faultProxy) []*packet // the messages still held back when the server has ended
	deaf     bool                          // the proxy hides the end of the client's stdin from the server, and does not end
	calm     bool                          // signals are not forwarded to the server
	lockstep bool                          // while the client does not read, the proxy reads nothing from it
	status   func(p *faultProxy, status int) int
}

type faultProxy struct {
	fault  *fault
	hooks  hooks
	count  *os.File
	cmd    *exec.Cmd
	stdin  io.WriteCloser // the server's
	stdout *os.File       // the server's

	mu       sync.Mutex // for the hooks and their state
	framing  string
	askedFor map[string][]*askedFor // by id: unanswered
	seqs     map[string]int64       // by job, if events are renumbered
	done     bool                   // shutdown was answered

	out sync.Mutex // held while a message is written to the client
}

func proxyMain(args []string) int {
	runtime.LockOSThread() // With Pdeathsig, the server dies with the thread that has started it.
	f := faultNamed(args[0])
	if f == nil {
		fmt.Fprintf(os.Stderr, "there is no fault %q\n", args[0])
		return 99
	}
	count, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	p := &faultProxy{fault: f, count: count, askedFor: map[string][]*askedFor{}, seqs: map[string]int64{}}
	if f.hooks != nil {
		p.hooks = f.hooks()
	}
	status, err := p.run(args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return status
}

// commit records that the fault is committed now, before its effect is visible.
func (p *faultProxy) commit() {
	if _, err := p.count.WriteString("x"); err != nil {
		panic(err) // Without the record the test would misjudge the fault.
	}
}

func (p *faultProxy) run(command []string) (int, error) {
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := p.cmd.StdinPipe()
	stdout, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	p.stdin, p.stdout = stdin, stdout.(*os.File) // os/exec makes it from a pipe.
	if err := p.cmd.Start(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		for s := range signals {
			if p.hooks.calm {
				p.commit()
				continue
			}
			_ = p.cmd.Process.Signal(s) // It may have ended.
		}
	}()
	go p.fromClient()
	p.fromServer(stdout)
	return p.end()
}

// end waits for the server, and returns its exit status.
func (p *faultProxy) end() (int, error) {
	var failed *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &failed) {
		return 0, err
	}
	status := p.cmd.ProcessState.ExitCode()
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		status = 128 + int(ws.Signal())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hooks.deaf {
		p.commit()
		select {} // The suite kills the proxy.
	}
	if p.hooks.status != nil {
		status = p.hooks.status(p, status)
	}
	return status, nil
}

// fromClient forwards the client's messages. Without a client hook it delays nothing, not even half a message: a
// client that sends a message in pieces may wait for their effect.
func (p *faultProxy) fromClient() {
	var cut cutter
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if p.hooks.lockstep {
			p.untilSaid()
		}
		for _, m := range cut.add(buf[:n], err != nil) {
			p.mu.Lock()
			if p.framing == "" {
				p.framing = cut.framing
			}
			ms := []*packet{m}
			p.note(m)
			if p.hooks.client != nil && m.v != nil {
				ms = p.hooks.client(p, m)
			}
			p.mu.Unlock()
			if p.hooks.client != nil {
				p.pass(ms)
			}
		}
		if p.hooks.client == nil {
			_, _ = p.stdin.Write(buf[:n]) // If the server has ended, the end of its stdout shows it.
		}
		if err != nil {
			if !p.hooks.deaf {
				_ = p.stdin.Close()
			}
			return
		}
	}
}

// untilSaid waits until the server has no more output, and the client has read it all.
func (p *faultProxy) untilSaid() {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for waited := false; ; <-look.C {
		if p.out.TryLock() {
			waiting, err := unix.IoctlGetInt(int(p.stdout.Fd()), unix.TIOCINQ)
			p.out.Unlock()
			if err != nil || waiting == 0 {
				return
			}
		}
		if !waited {
			p.commit()
			waited = true
		}
	}
}

// pass sends the messages that a hook returned for a client's message.
func (p *faultProxy) pass(ms []*packet) {
	for _, m := range ms {
		if !m.back {
			p.write(p.stdin, []*packet{m})
			continue
		}
		p.mu.Lock()
		delete(p.askedFor, wire.Show(m.v["id"]))
		p.mu.Unlock()
		p.tell([]*packet{m})
	}
}

// note registers a request until it is answered.
func (p *faultProxy) note(m *packet) {
	if m.v == nil || m.v["id"] == nil || m.v["method"] == nil {
		return
	}
	id := wire.Show(m.v["id"])
	p.askedFor[id] = append(p.askedFor[id], &askedFor{m.method(), m.object("params")})
}

func (p *faultProxy) fromServer(stdout io.Reader) {
	var cut cutter
	buf := make([]byte, 64<<10)
	for {
		n, err := stdout.Read(buf)
		for _, m := range cut.add(buf[:n], err != nil) {
			p.tell(p.served(m))
		}
		if err != nil {
			break
		}
	}
	if p.hooks.last != nil {
		p.mu.Lock()
		ms := p.hooks.last(p)
		p.mu.Unlock()
		p.tell(ms)
	}
}

// served returns the messages to send to the client in place of a server's message.
func (p *faultProxy) served(m *packet) []*packet {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := wire.Show(m.v["id"]); m.v["method"] == nil && len(p.askedFor[id]) > 0 {
		m.askedFor, p.askedFor[id] = p.askedFor[id][0], p.askedFor[id][1:]
		p.done = p.done || m.askedFor.method == "shutdown" && m.v["result"] != nil
	}
	if p.hooks.server == nil || m.v == nil {
		return []*packet{m}
	}
	return p.hooks.server(p, m)
}

// tell sends messages to the client.
func (p *faultProxy) tell(ms []*packet) {
	p.out.Lock()
	defer p.out.Unlock()
	for _, m := range ms {
		if job := m.job(); job != "" && p.fault.renumber {
			p.seqs[job]++
			if seq := wire.Number(strconv.FormatInt(p.seqs[job], 10)); m.object("params")["seq"] != seq {
				m.object("params")["seq"] = seq
				m.touch()
			}
		}
	}
	p.write(os.Stdout, ms)
}

func (p *faultProxy) write(w io.Writer, ms []*packet) {
	for _, m := range ms {
		raw := m.raw
		if raw == nil {
			raw = wire.Frame(p.framing, wire.Encode(m.v))
		}
		if _, err := w.Write(raw); err != nil && w == os.Stdout {
			_ = p.cmd.Process.Kill() // The client has closed its end.
		}
	}
}

// die ends the proxy and the server at once, as in a crash.
func (p *faultProxy) die(status int) {
	p.commit()
	_ = p.cmd.Process.Kill()
	os.Exit(status)
}

// A cutter splits a stream into messages. It forwards invalid bytes, and everything after them, unchanged.
type cutter struct {
	framing string
	buf     []byte
	lost    bool
}

func (c *cutter) add(chunk []byte, end bool) (all []*packet) {
	c.buf = append(c.buf, chunk...)
	for len(c.buf) > 0 {
		if c.framing == "" {
			c.framing = "header"
			if strings.IndexByte("{[ \t\r\n\xef", c.buf[0]) >= 0 {
				c.framing = "line"
			}
		}
		from, to, ok := 0, len(c.buf), true
		if !c.lost {
			from, to, ok = c.next()
		}
		if !ok && !end {
			return all
		}
		m := &packet{raw: slices.Clone(c.buf[:to])}
		m.body = m.raw[from:]
		if v, err := wire.Decode(m.body); err == nil {
			m.v, _ = v.(map[string]any)
		}
		all, c.buf = append(all, m), c.buf[to:]
	}
	return all
}

// next returns the begin and end of the next message's body. If ok is false, the message is incomplete.
func (c *cutter) next() (from, to int, ok bool) {
	if c.framing == "line" {
		i := bytes.IndexByte(c.buf, '\n')
		if i < 0 {
			return 0, len(c.buf), false
		}
		return 0, i + 1, true
	}
	head, _, ok := bytes.Cut(c.buf, []byte("\r\n\r\n"))
	if !ok {
		c.lost = len(c.buf) > 4096 // too long for a header
		return 0, len(c.buf), c.lost
	}
	for line := range strings.SplitSeq(string(head), "\r\n") {
		name, v, _ := strings.Cut(line, ":")
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && n >= 0 && strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			from = len(head) + 4
			if n > wire.MaxFrame {
				break
			}
			return from, min(from+n, len(c.buf)), from+n <= len(c.buf)
		}
	}
	c.lost = true
	return 0, len(c.buf), true
}
