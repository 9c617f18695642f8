package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// This file completes the SDK's answers about resources: it returns empty texts, and an error about an unknown resource
// lists the known ones.

// readResources does so for the answers to resources/read.
func (f *front) readResources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if method != "resources/read" {
			return res, err
		}
		if missing, ok := errors.AsType[*jsonrpc.Error](err); ok && missing.Code == jsonrpc.CodeInvalidParams {
			return nil, &jsonrpc.Error{Code: missing.Code, Message: missing.Message + ". " + f.whichResources(ctx), Data: missing.Data}
		}
		if err != nil {
			return nil, err // The SDK's result is then a typed nil.
		}
		if read, ok := res.(*mcp.ReadResourceResult); ok && len(read.Contents) == 1 && read.Contents[0].Text == "" && read.Contents[0].Blob == nil {
			return emptyText{read}, nil
		}
		return res, nil
	}
}

// An emptyText is the result of reading an empty text. In MCP the member text identifies a text resource, but the SDK
// omits it if it is empty.
type emptyText struct{ *mcp.ReadResourceResult }

// MarshalJSON adds the empty text to the SDK's encoding.
func (r emptyText) MarshalJSON() ([]byte, error) {
	type content struct {
		*mcp.ResourceContents
		Text string `json:"text"`
	}
	body, err := r.ReadResourceResult.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	members["contents"] = encode([]content{{ResourceContents: r.Contents[0]}})
	return encode(members), nil
}

// notFound returns the error for a missing resource, with the reason. readResources appends the list of existing ones.
func notFound(uri, why string) error {
	data, _ := json.Marshal(map[string]string{"uri": uri}) // Strings can always be encoded.
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found: " + why, Data: data}
}

// resourceError returns the error for a resource that cannot be read for another reason. An error without a code would
// be sent with code 0, which is invalid.
func resourceError(err error) error {
	if coded, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return coded
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: explained("", err).Error()}
}

// mostNamed is the maximum number of jobs that an error lists.
const mostNamed = 32

// whichResources returns a text with the existing resources.
func (f *front) whichResources(ctx context.Context) string {
	var known schema.JobListResult
	if err := f.ask(ctx, "job/list", schema.JobListParams{}, &known); err != nil {
		return "resources/list lists the resources."
	}
	if len(known.Jobs) == 0 {
		return "There are no resources, because no job is known: start a command with a tool first."
	}
	jobs, first := known.Jobs, "The known jobs are "
	if len(jobs) > mostNamed {
		jobs, first = jobs[len(jobs)-mostNamed:], fmt.Sprintf("The last %d of the known jobs are ", mostNamed)
	}
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = fmt.Sprint(j.Handle)
	}
	return first + strings.Join(names, ", ") + ". Each has shelld://job/HANDLE/stdout and info; with a terminal also screen and screen.png, without one stderr."
}
