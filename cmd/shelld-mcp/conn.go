package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine is the longest message that is taken, as in the Shell Server Protocol.
	maxLine = 16 << 20
	// maxCalls is how many requests of the host's may be in flight. Each is a goroutine, and
	// the SDK itself knows no bound.
	maxCalls = 1024
	// flushTime is how long the end waits for answers that are owed, and for a stdout that
	// nobody reads.
	flushTime = 2 * time.Second
)

// A conn carries messages between a host and the SDK: one JSON text a line, as the stdio
// transport of MCP has it. The SDK's own one ends with the first line that is no message;
// this one answers it, and reading goes on at the next.
//
// It also does what the protocol asks for and the SDK leaves open: nothing is answered that
// was cancelled, and what is in flight is bounded.
type conn struct {
	// Immutable:
	log    *slog.Logger
	end    func() error  // ends the engine, so that what is in flight is answered
	lines  chan []byte   // from readLines
	eof    chan struct{} // closed when in has ended
	out    chan []byte   // to writeLines
	broken chan struct{} // closed when out is, or nobody wants to write any more
	stop   chan struct{} // closed by Stop
	closed chan struct{} // closed by Close
	late   chan struct{} // closed by finish: nobody waits for a slow reader any more
	idle   chan struct{} // closed by settled, once finishing, when nothing is in flight
	stops  sync.Once
	closes sync.Once

	mu        sync.Mutex
	inFlight  map[jsonrpc.ID]bool // requests of the host's, and whether each was cancelled
	owed      int                 // those, and answers that were not handed to writeLines yet
	finishing bool
	writeErr  error // why out broke
}

// newConn reads in and writes out, which it closes neither of. end is called when in has
// ended: it ends what the answers wait for.
func newConn(in io.Reader, out io.Writer, end func() error, log *slog.Logger) *conn {
	c := &conn{
		log: log, end: end, inFlight: map[jsonrpc.ID]bool{},
		lines: make(chan []byte), eof: make(chan struct{}), out: make(chan []byte),
		broken: make(chan struct{}), stop: make(chan struct{}), closed: make(chan struct{}), idle: make(chan struct{}), late: make(chan struct{}),
	}
	go c.readLines(in)
	go c.writeLines(out)
	return c
}

// Connect returns c itself: there is one host.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is for transports of several sessions.
func (c *conn) SessionID() string { return "" }

// Read returns the next message of the host's. Before it tells the end it sees to it that
// what is in flight is answered: the SDK answers nothing after that.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case line := <-c.lines:
			if msg := c.take(line); msg != nil {
				return msg, nil
			}
		case <-c.eof:
			c.finish()
			return nil, io.EOF
		case <-c.stop:
			c.finish()
			return nil, io.EOF
		case <-c.broken:
			c.finish()
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Stop has the connection end as the end of in does.
func (c *conn) Stop() { c.stops.Do(func() { close(c.stop) }) }

// finish ends the engine, and waits until its answers are on their way.
func (c *conn) finish() {
	if err := c.end(); err != nil {
		c.log.Error("something was left behind", "error", err)
	}
	c.mu.Lock()
	c.finishing = true
	c.settled()
	c.mu.Unlock()
	t := time.NewTimer(flushTime)
	defer t.Stop()
	select {
	case <-c.idle:
	case <-c.broken:
	case <-t.C: // A call asks its host something, or nobody reads stdout.
		close(c.late)
	}
}

// settled tells finish that nothing is in flight. c.mu is held.
func (c *conn) settled() {
	if !c.finishing || c.owed > 0 {
		return
	}
	select {
	case <-c.idle:
	default:
		close(c.idle)
	}
}

// take returns the message of a line, or nil where there is none that the SDK should see.
func (c *conn) take(line []byte) jsonrpc.Message {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	if !json.Valid(line) {
		c.refuse(nil, jsonrpc.CodeParseError, "this line is no JSON: send one message, and nothing else, a line")
		return nil
	}
	if line[0] == '[' {
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "there are no batches: send each message on a line of its own")
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.refuse(idOf(line), jsonrpc.CodeInvalidRequest, "this is no message of JSON-RPC 2.0: "+err.Error())
		return nil
	}
	req, ok := msg.(*jsonrpc.Request)
	switch {
	case !ok: // An answer; the SDK knows to what.
	case req.IsCall():
		if !c.begin(req.ID, line) {
			return nil
		}
	case req.Method == "notifications/cancelled":
		c.cancelled(req.Params)
	}
	return msg
}

// begin notes a request that the SDK will answer; false: it is refused.
func (c *conn) begin(id jsonrpc.ID, line []byte) bool {
	c.mu.Lock()
	_, twice := c.inFlight[id]
	full := len(c.inFlight) >= maxCalls
	if !twice && !full {
		c.inFlight[id] = false
		c.owed++
	}
	c.mu.Unlock()
	switch {
	case twice:
		// With the id itself it would be taken for the answer to the other one.
		c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a request with the id %v is in flight: give each its own", id.Raw()))
	case full:
		c.refuse(idOf(line), codeBusy, fmt.Sprintf("%d requests are in flight, which is as many as may be: wait for answers, or cancel some", maxCalls))
	}
	return !twice && !full
}

// codeBusy is one of the codes that JSON-RPC leaves to servers.
const codeBusy = -32000

// cancelled notes that a request needs no answer any more.
func (c *conn) cancelled(params json.RawMessage) {
	var p mcp.CancelledParams
	if err := json.Unmarshal(params, &p); err != nil {
		return // The SDK sees it too, and ignores it.
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.inFlight[id]; there {
		c.inFlight[id] = true
	}
}

// idOf is the id of a message, as it is spelled; nil where it has none that can be answered.
func idOf(line []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(line, &m); err != nil || len(m.ID) == 0 {
		return nil
	}
	if first := m.ID[0]; first != '"' && first != '-' && (first < '0' || first > '9') {
		return nil
	}
	return m.ID
}

// refuse answers what the SDK does not get to see. A nil id is null.
func (c *conn) refuse(id json.RawMessage, code int, why string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.log.Debug("the host sent what is refused", "code", code, "why", why)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return // It is made of what was marshalled before.
	}
	_ = c.send(body) // Where out is broken, Read sees that.
}

// Write sends a message to the host.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	resp, ok := msg.(*jsonrpc.Response)
	if ok {
		defer c.answered()
		if !c.wanted(resp.ID) {
			return nil
		}
	}
	body, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return c.send(body)
}

// wanted takes a request out of those in flight, since the host may use its id again as soon
// as it sees the answer; false: it was cancelled, and "the receiver should not send a
// response".
func (c *conn) wanted(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancelled := c.inFlight[id]
	delete(c.inFlight, id)
	return !cancelled
}

// answered notes that an answer is on its way.
func (c *conn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed--
	c.settled()
}

// send hands a message to writeLines, which then has written those before it.
func (c *conn) send(body []byte) error {
	select {
	case c.out <- append(body, '\n'):
		return nil
	case <-c.broken:
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.writeErr != nil {
			return c.writeErr
		}
		return errGone
	case <-c.late:
		return errGone
	}
}

// errGone says that nobody writes any more.
var errGone = errors.New("the connection to the host has ended")

// Close ends the writing. What was handed over is written, unless nobody reads it.
func (c *conn) Close() error {
	c.closes.Do(func() { close(c.closed) })
	t := time.NewTimer(flushTime)
	defer t.Stop()
	select {
	case <-c.broken:
	case <-c.late:
	case <-t.C:
		c.log.Warn("the host does not read what it is sent; the rest is dropped")
	}
	return nil
}

// writeLines is the only writer of out.
func (c *conn) writeLines(out io.Writer) {
	defer close(c.broken)
	for {
		select {
		case body := <-c.out:
			if _, err := out.Write(body); err != nil {
				c.mu.Lock()
				c.writeErr = err
				c.mu.Unlock()
				return
			}
		case <-c.closed:
			return
		}
	}
}

// readLines is the only reader of in.
func (c *conn) readLines(in io.Reader) {
	defer close(c.eof)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := c.nextLine(r)
		if len(line) > 0 {
			select {
			case c.lines <- line:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				c.log.Debug("stdin ended", "error", err)
			}
			return
		}
	}
}

// nextLine returns a line without its end. One that is too long is skipped to its end and
// refused; an announced length never allocates, since there is none.
func (c *conn) nextLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	skip := false
	for {
		part, err := r.ReadSlice('\n')
		if !skip && len(line)+len(part) > maxLine {
			line, skip = nil, true
		}
		if !skip {
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if skip {
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message may have %d bytes: send less at a time", maxLine))
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}
