package inprocess_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/client/inprocess"
	"shelld.dev/shelld/rpc"
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
