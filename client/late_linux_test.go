package client_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"shelld.dev/shelld/client"
)

// TestLateStart: if the server answers a start that the client has given up, the client ends the job.
func TestLateStart(t *testing.T) {
	const request, withdrawal = `"method":"job/start"`, `"method":"$/cancelRequest"`
	tests := []struct {
		name, says string
		reads      []string // before the client gives up
		later      []string // after that
	}{
		{"no answer", "did not answer the cancellation", []string{request, withdrawal}, nil},
		{"not read", "does not read its input", nil, []string{request, withdrawal}},
	}
	for _, answer := range []string{
		`{"jsonrpc":"2.0","id":2,"result":{"job":{"handle":7}}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"cancelled","data":{"kind":"canceled","handle":7}}}`,
	} {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in, out := io.Pipe()
					theirs, end := io.Pipe()
					lines := bufio.NewReader(theirs)
					hears := func(want ...string) {
						t.Helper()
						for _, w := range want {
							line, err := lines.ReadString('\n')
							if err != nil {
								t.Fatal(err)
							}
							contains(t, "the client says", line, w)
						}
					}
					says := func(line string) { _, _ = io.WriteString(out, line+"\n") }
					done := make(chan error)
					var c *client.Client
					go func() {
						var err error
						c, err = client.Connect(context.Background(), in, end, client.Options{})
						done <- err
					}()
					hears(`"method":"initialize"`)
					says(`{"jsonrpc":"2.0","id":1,"result":` + newer + `}`)
					hears(`"method":"initialized"`)
					if err := <-done; err != nil {
						t.Fatal(err)
					}

					ctx, cancel := context.WithCancel(context.Background())
					go func() { _, err := c.Start(ctx, client.Line("make")); done <- err }()
					if test.reads == nil {
						synctest.Wait()
						cancel()
					} else {
						hears(test.reads[0])
						cancel()
						hears(test.reads[1:]...)
					}
					if err := <-done; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), test.says) {
						t.Error(err)
					}
					hears(test.later...)
					says(answer)
					hears(`"method":"job/kill","params":{"handle":7,"graceMs":500}`)
					says(`{"jsonrpc":"2.0","id":3,"result":{"killed":[],"survivors":[]}}`)

					go func() { done <- c.Close() }()
					hears(`"method":"shutdown"`, `"method":"exit"`)
					_ = out.Close()
					if err := <-done; err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
