package inprocess_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/client/inprocess"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// TestMain keeps the servers' files out of the user's directory.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "shelld-inprocess-")
	if err != nil {
		log.Fatal(err)
	}
	os.Setenv("XDG_STATE_HOME", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// A server and a client in one process. A server that is a child process is used alike, with client.Start.
func Example() {
	ctx := context.Background()
	c, err := inprocess.Start(ctx, client.Options{}, rpc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Run(ctx, client.Line("echo hello; exit 3"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q %d\n", r.Stdout, r.Code)
	fmt.Println(c.Close())
	// Output:
	// "hello\n" 3
	// <nil>
}

// TestEnd: after Close nothing answers, and after a failed Start nothing is left.
func TestEnd(t *testing.T) {
	c, err := inprocess.Start(t.Context(), client.Options{}, rpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Run(t.Context(), client.Argv("true")); !errors.Is(err, client.ErrServerGone) {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inprocess.Start(over, client.Options{}, rpc.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestEndUnread: End returns an error if the Conn does not read on, as its event function does not return.
func TestEndUnread(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 15 seconds")
	}
	t.Parallel()
	s, err := inprocess.Serve(rpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	called, leave := make(chan bool, 1), make(chan bool)
	c := client.NewConn(s.Out, s.In, func(client.Event) { called <- true; <-leave }, nil)
	p := schema.InitializeParams{Options: &schema.Options{Limits: &schema.LimitOptions{ShutdownGraceMs: new(int64(0))}}}
	if err := c.Call(t.Context(), "initialize", p, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send("job/start", schema.JobStartParams{Argv: []string{"sleep", "1000"}, Events: []schema.EventName{schema.EventNameStarted}}); err != nil {
		t.Fatal(err)
	}
	<-called
	if err := s.End(c); err == nil || !strings.Contains(err.Error(), "event function has to return") {
		t.Error(err)
	}
	select {
	case <-s.Over():
	default:
		t.Error("the server has not ended")
	}
	close(leave)
	<-c.Done()
}

// TestRaw: a Conn drives the server without a Client, and End ends both.
func TestRaw(t *testing.T) {
	s, err := inprocess.Serve(rpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewConn(s.Out, s.In, func(client.Event) {}, nil)
	if err := c.Call(t.Context(), "initialize", struct{}{}, nil); err != nil {
		t.Error(err)
	}
	if err := s.End(c); err != nil {
		t.Error(err)
	}
}
