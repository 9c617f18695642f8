package main

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestResourceThatCannotBeRead checks that a failed read of a resource, for example one that was cancelled, returns its
// error. The SDK returns a typed nil beside the error.
func TestResourceThatCannotBeRead(t *testing.T) {
	failed := errors.New("it was taken back")
	read := new(front).readResources(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return (*mcp.ReadResourceResult)(nil), failed
	})
	if res, err := read(t.Context(), "resources/read", nil); res != nil || !errors.Is(err, failed) {
		t.Errorf("%v, %v", res, err)
	}
}
