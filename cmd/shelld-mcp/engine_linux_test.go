package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestEngineLimit: a message over the engine's limit is an error instead of being sent: the engine would skip it, and the
// call would have no end.
func TestEngineLimit(t *testing.T) {
	const limit = 1 << 20
	p := schema.InitializeParams{Options: &schema.Options{Limits: &schema.LimitOptions{MaxMessageBytes: new(int64(limit))}}}
	e, err := startEngine(p, slog.New(slog.DiscardHandler), func(*link, client.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	var long *client.TooLongError
	if _, err := e.link.Load().send(nil, "job/write", strings.Repeat("x", limit)); !errors.As(err, &long) || long.Limit != limit {
		t.Errorf("%v, want a TooLongError with the limit %d", err, limit)
	}
	if err := e.end(); err != nil {
		t.Error(err)
	}
}
