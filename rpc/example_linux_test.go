package rpc_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// A server and a client in one process, with pipes between them. A server that is a child process is used alike,
// over its stdin and stdout.
func Example() {
	m, err := jobs.NewManager(jobs.Options{})
	if err != nil {
		log.Fatal(err)
	}
	serverIn, toServer := io.Pipe()
	fromServer, serverOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := rpc.Serve(context.Background(), serverIn, serverOut, m, rpc.Options{})
		_ = serverOut.Close() // It ends the client; the error is always nil.
		ended <- err
	}()

	conn := client.NewConn(fromServer, toServer, func(client.Event) {}, nil)
	ctx := context.Background()
	if err := conn.Call(ctx, "initialize", schema.InitializeParams{}, nil); err != nil {
		log.Fatal(err)
	}
	var result schema.JobRunResult
	command := "echo hello; exit 3"
	if err := conn.Call(ctx, "job/run", schema.JobRunParams{Command: &command}, &result); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q %d\n", *result.Stdout, *result.Exit.Code)
	if err := conn.Call(ctx, "shutdown", nil, nil); err != nil {
		log.Fatal(err)
	}
	_ = toServer.Close() // The end of its input ends the server.
	fmt.Println(<-ended)
	if err := m.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// "hello\n" 3
	// <nil>
}
