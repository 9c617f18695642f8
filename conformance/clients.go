package conformance

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// This file has the clients and the connections of a session. A session of another level than sessions has one of each.

// A client is one of those that speak in a session. It may have several connections, one after the other.
type client struct {
	name    string
	lines   []*line          // its connections, in order
	spots   map[string]int64 // by job and stream: the end of the last output step
	replies []*step          // to the server's requests
}

// A line is one connection of a client.
type line struct {
	*client
	conn    *connection
	check   *checker
	ids     int
	cursors map[string]int // in the log: after the last match of expect, by its label (or "")
	seen    int            // in the log: the number of checked entries
	nulls   int            // the number of answers with id null that the steps have asked for
	greeted bool           // initialize was sent
	closed  bool           // stdin is closed
	status  bool           // a step has checked the server's exit
	lost    bool           // a step has cut it
}

// defaultClient is the name of the first client, if the first step does not name it.
const defaultClient = "A"

// firstClient returns the name of the first client, and whether the runner initializes its connection.
func (s *Session) firstClient() (name string, greeted bool) {
	if st := s.steps[0]; st.verb == "client" {
		return st.words[0], !s.cold && len(st.words) == 1
	}
	return defaultClient, !s.cold
}

// joining returns the command that joins a new session.
func joining(command []string) (words []string) {
	var id [6]byte
	_, _ = rand.Read(id[:]) // Never fails; see crypto/rand.
	name := "conformance-" + hex.EncodeToString(id[:])
	for _, w := range command {
		words = append(words, strings.ReplaceAll(w, "{session}", name))
	}
	return words
}

// connect opens a connection of a client, which speaks from now on.
func (p *player) connect(name string, greet bool) error {
	conn, err := dial(p.command, p.framing, p.home)
	if err != nil {
		return err
	}
	c := p.clients[name]
	if c == nil {
		c = &client{name: name, spots: map[string]int64{}}
		p.clients[name] = c
	}
	p.line = &line{client: c, conn: conn, check: newChecker(p.facts), cursors: map[string]int{}}
	c.lines = append(c.lines, p.line)
	p.fresh = greet
	return nil
}

// speak makes another client speak. It opens a connection if the client has none.
func (p *player) speak(st *step) error {
	name := st.words[0]
	if c := p.clients[name]; c != nil {
		if last := c.lines[len(c.lines)-1]; !last.lost && !last.status {
			if len(st.words) == 2 && st != &p.session.steps[0] {
				return &syntaxError{st.position, "the client " + name + " is connected; its connection is cut with the step cut, or its end awaited with the step exit"}
			}
			p.line = last
			return nil
		}
	}
	if err := p.connect(name, len(st.words) == 1 && !p.session.cold); err != nil {
		return fmt.Errorf("the server cannot be started again: %w", err)
	}
	return nil
}

// cut ends the client's connection as the network does: without a word. Messages that had been sent by then count.
func (p *player) cut(st *step) error {
	p.lost, p.closed = true, true
	p.conn.cut()
	log, _, _ := p.conn.snapshot()
	return p.inspect(log)
}

// lines returns all connections of the session, in the order of their beginning.
func (p *player) lines() (all []*line) {
	for _, c := range p.clients {
		all = append(all, c.lines...)
	}
	slices.SortFunc(all, func(a, b *line) int { return a.conn.number - b.conn.number })
	return all
}

// on makes the steps be about a connection while it does something.
func (p *player) on(l *line, do func() error) error {
	was := p.line
	p.line = l
	defer func() { p.line = was }()
	return do()
}
