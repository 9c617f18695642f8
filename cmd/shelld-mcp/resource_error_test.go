package main

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A resource of which the reading fails, as where it was taken back, is told as that. Beside the error the SDK
// returns a nil of its own type.
func TestResourceThatCannotBeRead(t *testing.T) {
	failed := errors.New("it was taken back")
	read := new(front).readResources(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return (*mcp.ReadResourceResult)(nil), failed
	})
	if res, err := read(t.Context(), "resources/read", nil); res != nil || !errors.Is(err, failed) {
		t.Errorf("%v, %v", res, err)
	}
}
