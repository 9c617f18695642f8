package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/session"
)

// It is not called shelld: the front ends of other tests would take it for that.
func init() { programs["mute-host"] = muteHost }

// muteHost is a host of a session that takes clients and answers none of their requests, like one that is stopped. With
// the argument closing it closes their connections instead. It writes to the gate for each client that has sent
// something.
func muteHost() {
	way, gate, name, dir := os.Args[1], os.Args[2], os.Args[5], os.Args[7]
	d, err := session.Open(dir)
	if err != nil {
		panic(err)
	}
	h, err := d.Listen(session.HostOptions{Name: name, Status: func() any { return nil }}, slog.LevelWarn)
	if err != nil {
		panic(err)
	}
	h.Ready()
	for {
		select {
		case a := <-h.Arrivals():
			go func() {
				if _, err := a.In.Read(make([]byte, 1)); err == nil && way == "mute" {
					if err := os.WriteFile(gate, []byte("x"), 0); err != nil {
						panic(err)
					}
					_, _ = io.Copy(io.Discard, a.In) // Until the client has gone.
				}
				a.Exit(0)
			}()
			continue
		case <-h.EndAsked():
		}
		if err := h.Close(); err != nil {
			panic(err)
		}
		return
	}
}

// muted ends the host of a session, and makes those that a front end starts from now on mute, or closing.
func muted(t *testing.T, f *front, name, way, gate string) {
	t.Helper()
	ends(t, name)
	<-f.engine.link.Load().client.Done()
	program := filepath.Join(t.TempDir(), "host")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nexec mute-host %s %s \"$@\"\n", way, gate), 0o700); err != nil {
		t.Fatal(err)
	}
	f.engine.member.program = program
}

// ends ends a session.
func ends(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	d, err := session.Open("")
	if err == nil {
		err = d.End(ctx, name)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("the session %s does not end: %w", name, err))
	}
}

// TestClosingHost joins a session whose host closes the connection at once: the error names the session and the log of
// its host.
func TestClosingHost(t *testing.T) {
	t.Parallel()
	name := newSession(t)
	f := memberOf(t, name, t.TempDir())
	muted(t, f, name, "closing", "-")
	err := f.ask(t.Context(), "job/list", struct{}{}, nil)
	if !errors.Is(err, client.ErrServerGone) {
		t.Fatal(err)
	}
	text := explained("", err).Error()
	contains(t, text, "the session "+name+" is gone", "closed the connection", "/"+name+"/host.log")
	lacks(t, text, "shelld-mcp is ending")
	leaves(t, f)
}

// TestMuteHost cancels calls while the host of the session does not answer, and ends the front end: none of them hangs.
func TestMuteHost(t *testing.T) {
	t.Parallel()
	name, up := newSession(t), gate(t)
	f := memberOf(t, name, t.TempDir())
	muted(t, f, name, "mute", up)
	start := func(ctx context.Context) <-chan error {
		got := make(chan error, 1)
		go func() { got <- f.ask(ctx, "job/list", struct{}{}, nil) }()
		return got
	}

	ctx, cancel := context.WithCancel(t.Context())
	connecting := start(ctx)
	passed(t, up, 1)
	done, stop := context.WithCancel(t.Context())
	stop()
	if err := f.ask(&lateContext{Context: done}, "job/list", struct{}{}, nil); err != context.Canceled {
		t.Errorf("the canceled call that waits for the other one: %v", err)
	}
	cancel()
	if err := <-connecting; err != context.Canceled {
		t.Errorf("the canceled call that connects: %v", err)
	}

	connecting = start(t.Context())
	passed(t, up, 1)
	leaves(t, f)
	contains(t, (<-connecting).Error(), "shelld-mcp is ending; its jobs go on in the session "+name)
}
