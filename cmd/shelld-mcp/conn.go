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
	// maxRefusals is how many refusals may wait for the host to read them. Reading goes on
	// meanwhile, so that the host can end the server whatever it reads.
	maxRefusals = 4096
	// refusalTime is how long one more waits for room, before a host that sends what is
	// refused and reads nothing is given up.
	refusalTime = 10 * time.Second
)

// A conn carries messages between a host and the SDK: one JSON text a line, as the stdio
// transport of MCP has it. The SDK's own one ends with the first line that is no message;
// this one answers it, and reading goes on at the next.
//
// It also does what the protocol asks for and the SDK leaves open: nothing is answered that
// was cancelled, and what is in flight is bounded, by number and by weight (weight.go).
type conn struct {
	// Immutable:
	log    *slog.Logger
	end    func() error  // ends the engine, so that what is in flight is answered
	lines  chan line     // from readLines
	eof    chan struct{} // closed when in has ended
	out    chan []byte   // to writeLines
	broken chan struct{} // closed when out is, or nobody wants to write any more
	stop   chan struct{} // closed by Stop
	closed chan struct{} // closed by Close
	late   chan struct{} // closed by giveUp: nobody waits for a slow reader any more
	last   chan struct{} // closed when finish is over
	refuse chan []byte   // to sendRefusals
	idle   chan struct{} // closed by settled, once finishing, when nothing is in flight
	room   chan struct{} // to Read, with room for one: what is held back may fit now
	// to Read, with room for one: the host is asked something, and is past answering
	orphaned chan struct{}
	// settle is told what became of the answer to a request, before it is sent; nil: nobody is.
	settle func(request *mcp.RequestExtra, dropped bool)
	stops  sync.Once
	closes sync.Once
	lates  sync.Once
	lasts  sync.Once

	mu        sync.Mutex
	inFlight  map[jsonrpc.ID]*flight // requests of the host's
	owed      int                    // those, and answers that were not handed to writeLines yet
	ballast   ballast                // what those weigh
	held      []*flight              // those that the SDK has not seen yet, in order
	finishing bool
	writeErr  error                 // why out broke
	asked     map[jsonrpc.ID]string // requests to the host that it has not answered, by method
	deaf      bool                  // nothing is read any more, and so none ever is
}

// newConn reads in and writes out, which it closes neither of. end is called when in has
// ended: it ends what the answers wait for.
func newConn(in io.Reader, out io.Writer, end func() error, log *slog.Logger) *conn {
	c := &conn{
		log: log, end: end, inFlight: map[jsonrpc.ID]*flight{}, asked: map[jsonrpc.ID]string{},
		lines: make(chan line), eof: make(chan struct{}), out: make(chan []byte),
		broken: make(chan struct{}), stop: make(chan struct{}), closed: make(chan struct{}), idle: make(chan struct{}), late: make(chan struct{}), last: make(chan struct{}),
		room: make(chan struct{}, 1), orphaned: make(chan struct{}, 1), refuse: make(chan []byte, maxRefusals),
	}
	go c.readLines(in)
	go c.writeLines(out)
	go c.sendRefusals()
	return c
}

// Connect returns c itself: there is one host.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is for transports of several sessions.
func (c *conn) SessionID() string { return "" }

// Read returns the next message of the host's. Before it tells the end it sees to it that
// what is in flight is answered: the SDK answers nothing after that.
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
				c.refused(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message may have %d bytes: send less at a time", maxLine))
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

// readLast is Read once the host is past saying anything: what is in flight is answered
// meanwhile, and what it waits to hear from the host is said in its place.
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

// Stop has the connection end as the end of in does.
func (c *conn) Stop() { c.stops.Do(func() { close(c.stop) }) }

// finish ends the engine, and waits until its answers are on their way.
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
	case <-t.C: // Nobody reads stdout.
		c.giveUp()
	}
}

// giveUp has nobody wait any more for a host that does not read.
func (c *conn) giveUp() { c.lates.Do(func() { close(c.late) }) }

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
		c.refused(nil, jsonrpc.CodeParseError, "this line is no JSON: send one message, and nothing else, a line")
		return nil
	}
	if line[0] == '[' {
		c.refused(nil, jsonrpc.CodeInvalidRequest, "there are no batches: send each message on a line of its own")
		return nil
	}
	if code, why := misfitText(line); why != "" {
		return c.noText(line, code, why)
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil && isAnswer(line) {
		return nil // An answer is never answered: two that do would go on for ever.
	}
	if err != nil {
		c.refused(idOf(line), jsonrpc.CodeInvalidRequest, "this is no message of JSON-RPC 2.0: "+err.Error())
		return nil
	}
	req, ok := msg.(*jsonrpc.Request)
	switch {
	case !ok: // An answer; the SDK knows to what.
		if inexact(idOf(line)) != "" {
			return nil // No question has such an id, and the SDK would take it for another's.
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
			return nil // No request has such an id, and the SDK would take it for another's.
		}
		c.cancelled(req.Params)
	}
	return msg
}

// begin notes a request that the SDK will answer; false: it is refused, or held back.
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
		// With the id itself it would be taken for the answer to the other one.
		c.refused(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a request with the id %v is in flight: give each its own", req.ID.Raw()))
	case full:
		c.refused(f.id, codeBusy, fmt.Sprintf("%d requests are in flight, which is as many as may be: wait for answers, or cancel some", maxCalls))
	case fate == tooHeavy:
		c.refused(f.id, codeBusy, fmt.Sprintf("the calls in flight may be answered with some %d MiB, and this one with %d KiB, for which there is no room: wait for answers, cancel some, or ask for less output", waitingRoom>>20, f.load.bytes>>10))
	}
	return fate == goesOn
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
	if f := c.inFlight[id]; f != nil {
		f.cancelled = true
		c.dropLocked(f)
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

// inexact says why a request cannot be answered by its id: the SDK would answer by another
// number, which may be that of another request. "": it can.
func inexact(id json.RawMessage) string {
	if len(id) == 0 || id[0] == '"' {
		return ""
	}
	return misfitWhole(id)
}

// cancelledID is the id of the request that is to be cancelled, as it is spelled; nil where there
// is none.
func cancelledID(params json.RawMessage) json.RawMessage {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil // The SDK sees it, and ignores it.
	}
	return p.RequestID
}

// isAnswer says whether a message answers one, if to nothing that was asked.
func isAnswer(line []byte) bool {
	var m struct{ Method, Result, Error json.RawMessage }
	return json.Unmarshal(line, &m) == nil && m.Method == nil && (m.Result != nil || m.Error != nil)
}

// refused answers what the SDK does not get to see. A nil id is null.
func (c *conn) refused(id json.RawMessage, code int, why string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.log.Debug("the host sent what is refused", "code", code, "why", why)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return // It is made of what was marshalled before.
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
		c.log.Warn("the host sends what is refused, and reads no answer: it is given up")
		c.giveUp()
	}
	c.answered()
}

// sendRefusals sends what refused has queued, beside whoever reads.
func (c *conn) sendRefusals() {
	for {
		select {
		case body := <-c.refuse:
			_ = c.send(body) // Where out is broken, Read sees that.
			c.answered()
		case <-c.closed:
			return
		}
	}
}

// Write sends a message to the host.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		f := c.landed(msg.ID)
		defer c.unload(f)
		if f != nil && f.cancelled {
			return nil // "The receiver should not send a response."
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
	return c.send(body)
}

// landed takes a request out of those in flight, since the host may use its id again as soon
// as it sees the answer; nil: there is none with this id. Who has made the answer is told what
// becomes of it.
func (c *conn) landed(id jsonrpc.ID) *flight {
	c.mu.Lock()
	f := c.inFlight[id]
	delete(c.inFlight, id)
	c.mu.Unlock()
	if f != nil && c.settle != nil {
		c.settle(f.tag, f.cancelled)
	}
	return f
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

// A line is one of the host's, without its end, or says that there was one that is too long.
type line struct {
	text    []byte
	tooLong bool
}

// nextLine reads a line. One that is too long is skipped to its end.
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
