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
	// maxLine is the maximum length of a message, as in the Shell Server Protocol.
	maxLine = 16 << 20
	// maxCalls is the maximum number of the host's requests in flight. Each has a goroutine, and the SDK itself has no
	// limit.
	maxCalls = 1024
	// flushTime is how long the end waits for pending answers, and for a stdout that is not read.
	flushTime = 2 * time.Second
	// maxRefusals is the maximum number of error answers that wait for the host to read them. Reading of requests goes
	// on meanwhile, so that the host can end the server without reading any answer.
	maxRefusals = 4096
	// refusalTime is how long one more error answer waits for room. After that, a host that keeps sending invalid
	// messages and reads nothing is given up.
	refusalTime = 10 * time.Second
)

// A conn carries messages between a host and the SDK: one JSON text a line, as in the stdio transport of MCP. The SDK's
// own transport ends at the first line that is not a message; a conn answers such a line with an error, and goes on
// with the next one.
//
// It also does two things that the protocol requires and the SDK does not do: it never answers a cancelled request, and
// it limits the requests in flight, by number and by weight (weight.go).
type conn struct {
	// Immutable:
	log    *slog.Logger
	end    func() error  // ends the engine, so that requests in flight are answered
	lines  chan line     // from readLines
	eof    chan struct{} // closed at the end of in
	out    chan outgoing // to writeLines
	broken chan struct{} // closed when out fails, or when writeLines ends
	stop   chan struct{} // closed by Stop
	closed chan struct{} // closed by Close
	late   chan struct{} // closed by giveUp: nothing waits any more for a host that does not read
	last   chan struct{} // closed when finish has returned
	refuse chan []byte   // to sendRefusals
	idle   chan struct{} // closed by settled, after finishing is set, when nothing is in flight
	room   chan struct{} // to Read, with room for one: a held request may fit now
	// to Read, with room for one: the SDK has sent the host a request that it can no longer answer
	orphaned chan struct{}
	// settle reports an answer to a request before it is sent or, with dropped set, not sent; nil: no reports. It returns
	// a function for the moment when the answer was written; nil: none
	settle func(request *mcp.RequestExtra, dropped bool) (written func())
	stops  sync.Once
	closes sync.Once
	lates  sync.Once
	lasts  sync.Once

	mu        sync.Mutex
	inFlight  map[jsonrpc.ID]*flight // the host's requests
	owed      int                    // number of these, and of answers not yet handed to writeLines
	ballast   ballast                // their weight
	held      []*flight              // those of them that the SDK has not got yet, in order
	finishing bool
	writeErr  error                 // the error of out
	asked     map[jsonrpc.ID]string // methods of the requests to the host that it has not answered
	deaf      bool                  // the host sends nothing more, so no further request to it will be answered
}

// newConn reads in and writes out, and closes neither. It calls end at the end of in, to end everything that the
// pending answers wait for.
func newConn(in io.Reader, out io.Writer, end func() error, log *slog.Logger) *conn {
	c := &conn{
		log: log, end: end, inFlight: map[jsonrpc.ID]*flight{}, asked: map[jsonrpc.ID]string{},
		lines: make(chan line), eof: make(chan struct{}), out: make(chan outgoing),
		broken: make(chan struct{}), stop: make(chan struct{}), closed: make(chan struct{}), idle: make(chan struct{}), late: make(chan struct{}), last: make(chan struct{}),
		room: make(chan struct{}, 1), orphaned: make(chan struct{}, 1), refuse: make(chan []byte, maxRefusals),
	}
	go c.readLines(in)
	go c.writeLines(out)
	go c.sendRefusals()
	return c
}

// Connect returns c: there is one host.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID returns "": only transports with several sessions have IDs.
func (c *conn) SessionID() string { return "" }

// Read returns the next message from the host. Before it returns the end, it makes sure that the requests in flight are
// answered: the SDK sends no answers after that.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	if c.isPast() {
		return c.readLast(ctx)
	}
	for {
		if req := c.release(); req != nil {
			return req, nil
		}
		select {
		case <-c.room:
		case l := <-c.lines:
			if l.tooLong {
				c.refused(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message may have at most %d bytes: send less at a time", maxLine))
			} else if msg := c.take(l.text); msg != nil {
				return msg, nil
			}
		case <-c.eof:
			return c.readLast(ctx)
		case <-c.stop:
			return c.readLast(ctx)
		case <-c.broken:
			return c.readLast(ctx)
		case <-c.late:
			return c.readLast(ctx)
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readLast is Read after the host can send nothing more: meanwhile the requests in flight are answered, and readLast
// returns an answer for the host to each request that the host has not answered.
func (c *conn) readLast(ctx context.Context) (jsonrpc.Message, error) {
	c.lasts.Do(func() {
		c.past()
		go func() {
			defer close(c.last)
			c.finish()
		}()
	})
	for {
		if answer := c.orphan(); answer != nil {
			return answer, nil
		}
		select {
		case <-c.orphaned:
		case <-c.last:
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Stop ends the connection as the end of in does.
func (c *conn) Stop() { c.stops.Do(func() { close(c.stop) }) }

// finish ends the engine, and waits until its answers have been sent.
func (c *conn) finish() {
	if err := c.end(); err != nil {
		c.log.Error("something was left behind", "error", err)
	}
	c.dropHeld()
	c.mu.Lock()
	c.finishing = true
	c.settled()
	c.mu.Unlock()
	t := time.NewTimer(flushTime)
	defer t.Stop()
	select {
	case <-c.idle:
	case <-c.broken:
	case <-c.late:
	case <-t.C: // The host does not read stdout.
		c.giveUp()
	}
}

// giveUp ends all waits for a host that does not read.
func (c *conn) giveUp() { c.lates.Do(func() { close(c.late) }) }

// settled wakes finish if nothing is in flight. The caller holds c.mu.
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

// take returns the message in a line, or nil if the SDK must not see one.
func (c *conn) take(line []byte) jsonrpc.Message {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	if !json.Valid(line) {
		c.refused(nil, jsonrpc.CodeParseError, "this line is not JSON: send exactly one message per line")
		return nil
	}
	if line[0] == '[' {
		c.refused(nil, jsonrpc.CodeInvalidRequest, "batches are not supported: send each message on a line of its own")
		return nil
	}
	if code, why := misfitText(line); why != "" {
		return c.noText(line, code, why)
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil && isAnswer(line) {
		return nil // An answer is never answered: two sides that do so would never end.
	}
	if err != nil {
		c.refused(idOf(line), jsonrpc.CodeInvalidRequest, "this is not a JSON-RPC 2.0 message: "+err.Error())
		return nil
	}
	req, ok := msg.(*jsonrpc.Request)
	switch {
	case !ok: // It is an answer. The SDK knows the request.
		if inexact(idOf(line)) != "" {
			return nil // No request has such an ID, and the SDK would match it with another one.
		}
		if answer, is := msg.(*jsonrpc.Response); is {
			c.heard(answer.ID)
		}
	case req.IsCall():
		if id := idOf(line); inexact(id) != "" {
			c.refused(id, jsonrpc.CodeInvalidRequest, "the id of a request "+inexact(id)+"; or give it a string")
			return nil
		}
		if !c.begin(req, line) {
			return nil
		}
	case req.Method == "notifications/cancelled":
		if inexact(cancelledID(req.Params)) != "" {
			return nil // No request has such an ID, and the SDK would match it with another one.
		}
		c.cancelled(req.Params)
	}
	return msg
}

// begin adds a request that the SDK will answer. It returns false if the request is refused, or held until there is
// room.
func (c *conn) begin(req *jsonrpc.Request, line []byte) bool {
	f := &flight{req: req, load: weigh(req, len(line)), id: idOf(line), tag: &mcp.RequestExtra{}}
	req.Extra = f.tag
	c.mu.Lock()
	_, twice := c.inFlight[req.ID]
	full := len(c.inFlight) >= maxCalls
	var fate fate
	if !twice && !full {
		fate = c.admit(f)
	}
	c.mu.Unlock()
	switch {
	case twice:
		// With the ID itself, the host would take the error for the answer to the other request.
		c.refused(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a request with the id %v is in flight: give each request its own id", req.ID.Raw()))
	case full:
		c.refused(f.id, codeBusy, fmt.Sprintf("%d requests are in flight, the most that are allowed: wait for answers, or cancel some", maxCalls))
	case fate == tooHeavy:
		c.refused(f.id, codeBusy, fmt.Sprintf("answers to the calls in flight may take about %d MiB, and there is no room for %d KiB more: wait for answers, cancel some, or ask for less output", waitingRoom>>20, f.load.bytes>>10))
	}
	return fate == goesOn
}

// codeBusy is one of the error codes that JSON-RPC leaves to servers.
const codeBusy = -32000

// cancelled marks a request as cancelled: it gets no answer.
func (c *conn) cancelled(params json.RawMessage) {
	var p mcp.CancelledParams
	if err := json.Unmarshal(params, &p); err != nil {
		return // The SDK sees the message too, and ignores it.
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.inFlight[id]; f != nil {
		f.cancelled = true
		c.dropLocked(f)
	}
}

// idOf returns the ID of a message as it is spelled; nil: it has no ID that can be used in an answer.
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

// inexact returns why the ID of a request cannot be used in an answer: the SDK would use a rounded number, which may be
// the ID of another request. It returns "" if the ID can be used.
func inexact(id json.RawMessage) string {
	if len(id) == 0 || id[0] == '"' {
		return ""
	}
	return misfitWhole(id)
}

// cancelledID returns the ID of the request to cancel as it is spelled; nil: there is none.
func cancelledID(params json.RawMessage) json.RawMessage {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil // The SDK sees the message, and ignores it.
	}
	return p.RequestID
}

// isAnswer reports whether a message is an answer, perhaps to an unknown request.
func isAnswer(line []byte) bool {
	var m struct{ Method, Result, Error json.RawMessage }
	return json.Unmarshal(line, &m) == nil && m.Method == nil && (m.Result != nil || m.Error != nil)
}

// refused sends an error for a message that the SDK does not get. A nil ID becomes null.
func (c *conn) refused(id json.RawMessage, code int, why string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.log.Debug("refused a message from the host", "code", code, "why", why)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return // It cannot fail: all parts have been marshalled before.
	}
	c.mu.Lock()
	c.owed++
	c.mu.Unlock()
	select {
	case c.refuse <- body:
		return
	default:
	}
	t := time.NewTimer(refusalTime)
	defer t.Stop()
	select {
	case c.refuse <- body:
		return
	case <-c.broken:
	case <-c.late:
	case <-t.C:
		c.log.Warn("the host sends invalid messages and reads no answers: closing the connection")
		c.giveUp()
	}
	c.answered()
}

// sendRefusals sends the error answers that refused has queued, so that the reading goroutine need not wait for the
// host.
func (c *conn) sendRefusals() {
	for {
		select {
		case body := <-c.refuse:
			_ = c.send(body) // If out has failed, Read ends.
			c.answered()
		case <-c.closed:
			return
		}
	}
}

// Write sends a message to the host.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	var written func()
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		var f *flight
		f, written = c.landed(msg.ID)
		defer c.unload(f)
		if f != nil && f.cancelled {
			return nil // MCP: "The receiver should not send a response."
		}
	case *jsonrpc.Request:
		if msg.IsCall() && !c.asks(msg) {
			return nil
		}
		if msg.Method == "notifications/cancelled" {
			c.withdrawn(msg.Params)
		}
	}
	body, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return c.sendThen(body, written)
}

// landed removes a request from those in flight before its answer is sent: the host may use its ID again as soon as it
// has the answer. It calls settle, and returns its result. The flight is nil if no request has this ID.
func (c *conn) landed(id jsonrpc.ID) (f *flight, written func()) {
	c.mu.Lock()
	f = c.inFlight[id]
	delete(c.inFlight, id)
	c.mu.Unlock()
	if f != nil && c.settle != nil {
		written = c.settle(f.tag, f.cancelled)
	}
	return f, written
}

// answered notes that an answer has been sent or dropped.
func (c *conn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed--
	c.settled()
}

// send hands a message to writeLines; by then, writeLines has written the messages before it.
func (c *conn) send(body []byte) error { return c.sendThen(body, nil) }

// An outgoing is a message for writeLines.
type outgoing struct {
	body    []byte
	written func() // called when it was written; may be nil
}

// sendThen is send with a function that is called when the message was written.
func (c *conn) sendThen(body []byte, written func()) error {
	select {
	case c.out <- outgoing{append(body, '\n'), written}:
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

// errGone is the error for a message that can no longer be written.
var errGone = errors.New("the connection to the host has ended")

// Close ends writing. Messages already handed to writeLines are written, unless the host does not read them.
func (c *conn) Close() error {
	c.closes.Do(func() { close(c.closed) })
	t := time.NewTimer(flushTime)
	defer t.Stop()
	select {
	case <-c.broken:
	case <-c.late:
	case <-t.C:
		c.log.Warn("the host does not read its messages; the rest is dropped")
	}
	return nil
}

// writeLines is the only writer of out.
func (c *conn) writeLines(out io.Writer) {
	defer close(c.broken)
	for {
		select {
		case o := <-c.out:
			if _, err := out.Write(o.body); err != nil {
				c.mu.Lock()
				c.writeErr = err
				c.mu.Unlock()
				return
			}
			if o.written != nil {
				o.written()
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
		l, err := nextLine(r)
		if len(l.text) > 0 || l.tooLong {
			select {
			case c.lines <- l:
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

// A line is a line from the host without its line end, or stands for one that is too long.
type line struct {
	text    []byte
	tooLong bool
}

// nextLine reads a line. It skips a line that is too long.
func nextLine(r *bufio.Reader) (line, error) {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		if len(l.text)+len(part) > maxLine {
			l = line{tooLong: true}
		}
		if !l.tooLong {
			l.text = append(l.text, part...)
		}
		if err != bufio.ErrBufferFull {
			l.text = bytes.TrimRight(l.text, "\r\n")
			return l, err
		}
	}
}
