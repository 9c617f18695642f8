package rpc

import (
	"time"

	"shelld.dev/shelld/schema"
)

// A client that has said so is asked for a sign of life when it has been silent, and is gone if it stays silent: the
// system may take hours to notice that a network is.
const (
	defaultPing = 15 * time.Second
	defaultLost = time.Minute
)

// listen has the client watched, if it answers pings and could come back, and says how.
func (s *Server) listen(p *schema.InitializeParams, told *schema.Limits) {
	if !s.in.shared || !or(or(p.Capabilities, schema.ClientCapabilities{}).Ping, false) {
		return
	}
	limits := or(or(p.Options, schema.Options{}).Limits, schema.LimitOptions{})
	ping, lost := milliseconds(limits.PingMs, defaultPing), milliseconds(limits.LostMs, defaultLost)
	ping = min(ping, lost/2) // Nobody is given up who was not pinged.
	told.PingMs, told.LostMs = optional(millis(ping)), optional(millis(lost))
	s.stream.hears()
	go s.watch(ping, lost)
}

// watch ends the connection when its client is lost. It returns when the connection has ended.
func (s *Server) watch(ping, lost time.Duration) {
	t := time.NewTimer(ping)
	defer t.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-s.out.done:
			return
		case <-t.C:
		}
		silent := time.Since(s.stream.heard())
		switch {
		case silent >= lost:
			s.log.Info("the client is lost", "silent", silent)
			s.end()
			return
		case silent >= ping:
			s.out.sendOwn(notification("$/ping", schema.PingParams{}))
			t.Reset(min(ping, lost-silent))
		default:
			t.Reset(ping - silent)
		}
	}
}

// ping answers a client's own question whether the server lives.
func (s *Server) ping(params []byte) {
	var p schema.PingParams
	if err := schema.DecodeParams("$/ping", params, &p); err != nil {
		s.log.Debug("bad ping", "error", err)
		return
	}
	s.out.send(notification("$/pong", schema.PongParams{T: p.T}))
}
