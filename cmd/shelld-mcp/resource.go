package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// The output of jobs is available as resources: shelld://job/HANDLE/PART, with a handle or a sessionId as HANDLE.

// maxResource is the maximum size of a resource; of more output, head and tail are returned. It is the server's limit
// for one answer.
const maxResource = 1 << 20

// resourceParts are the parts of a job, with MIME type and description.
var resourceParts = []struct{ name, mime, what string }{
	{"stdout", "text/plain", "What the job wrote to its terminal, or to stdout: escape sequences removed, redrawn lines in their last state"},
	{"stderr", "text/plain", "What a job without a terminal wrote to stderr"},
	{"screen", "text/plain", "The screen of the job's terminal"},
	{"screen.png", "image/png", "The screen as a picture"},
	{"info", "application/json", "Information about the job: command, directory, status, exit code, output files"},
}

func (f *front) addResources() {
	for _, part := range resourceParts {
		f.server.AddResourceTemplate(&mcp.ResourceTemplate{
			Name: "job-" + strings.ReplaceAll(part.name, ".", "-"), Title: part.what, Description: part.what + ".",
			URITemplate: "shelld://job/{handle}/" + part.name, MIMEType: part.mime,
		}, f.readResource)
	}
	f.server.AddReceivingMiddleware(f.listResources, f.readResources)
}

// listResources lists the resources of the jobs that are known at the time of the request, so that no list has to be
// maintained.
func (f *front) listResources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "resources/list" {
			return next(ctx, method, req)
		}
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListResourcesResult)
		if err != nil || !ok {
			return res, err
		}
		var known schema.JobListResult
		if err := f.ask(ctx, "job/list", schema.JobListParams{}, &known); err != nil {
			return nil, resourceError(err)
		}
		for _, j := range known.Jobs {
			list.Resources = append(list.Resources, &mcp.Resource{
				URI: fmt.Sprintf("shelld://job/%d/stdout", j.Handle), Name: fmt.Sprintf("job-%d-stdout", j.Handle), MIMEType: "text/plain",
				Title: fmt.Sprintf("Output of job %d (%s)", j.Handle, j.Status), Description: legible(clip(commandOf(&j), 200)),
			})
		}
		return list, nil
	}
}

// ask sends a request that belongs to no tool's call, and needs no confirmation.
func (f *front) ask(ctx context.Context, method string, params, result any) error {
	return (&call{front: f}).do(ctx, method, params, result)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func (f *front) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	escaped, part, ok := strings.Cut(strings.TrimPrefix(req.Params.URI, "shelld://job/"), "/")
	handle, err := url.PathUnescape(escaped) // A sessionId may contain any character.
	if err != nil {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	id := f.resourceJob(ctx, handle)
	if !ok || id == nil {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	content := &mcp.ResourceContents{URI: req.Params.URI}
	err = f.readPart(ctx, id, part, content)
	switch kindOf(err) {
	case schema.KindJobNotFound:
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	case schema.KindNotInteractive: // The job has no terminal, and so no screen.
		return nil, notFound(req.Params.URI, explained("", err).Error())
	}
	if err != nil {
		return nil, resourceError(err)
	}
	content.Text = legible(content.Text)
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{content}}, nil
}

// resourceJob returns the job's ID in the protocol; nil: there is no such job.
func (f *front) resourceJob(ctx context.Context, handle string) json.RawMessage {
	if n, err := strconv.ParseInt(handle, 10, 64); err == nil && n > 0 {
		return handleID(n)
	}
	if j := (&call{front: f}).bySession(ctx, handle); j != nil {
		return j.id()
	}
	return nil
}

func (f *front) readPart(ctx context.Context, id json.RawMessage, part string, to *mcp.ResourceContents) error {
	switch part {
	case "screen", "screen.png":
		format := schema.ScreenFormatText
		if part == "screen.png" {
			format = schema.ScreenFormatPng
		}
		var s schema.JobScreenResult
		if err := f.ask(ctx, "job/screen", schema.JobScreenParams{Handle: id, Format: new(format)}, &s); err != nil {
			return err
		}
		if s.Png == nil {
			to.MIMEType, to.Text = "text/plain", screenText(s.Lines)
			return nil
		}
		var err error
		to.MIMEType = "image/png"
		to.Blob, err = base64.StdEncoding.DecodeString(*s.Png)
		return err
	case "info":
		info, err := f.info(ctx, id)
		if err != nil {
			return err
		}
		to.MIMEType, to.Text = "application/json", string(encode(info))
		return nil
	}
	return f.readStream(ctx, id, part, to)
}

// readStream reads stdout or stderr. For a job with a terminal, stdout is the output of the terminal, and the only
// stream.
func (f *front) readStream(ctx context.Context, id json.RawMessage, part string, to *mcp.ResourceContents) error {
	var r schema.JobWaitResult
	err := f.ask(ctx, "job/wait", schema.JobWaitParams{
		Handle: id, From: fromStart, Until: []schema.Condition{}, TimeoutMs: schema.ValueOf(int64(0)), MaxBytes: new(int64(maxResource)),
	}, &r)
	if err != nil {
		return err
	}
	stream := part
	out, there := r.Outcome.Output[stream]
	if !there && part == "stdout" {
		stream = string(schema.StreamPty)
		out, there = r.Outcome.Output[stream]
	}
	if !there {
		return notFound(to.URI, "the job has no "+part+" of its own: its terminal's output is stdout")
	}
	to.MIMEType = "text/plain"
	if out.Text != nil {
		to.Text = *out.Text
		if out.Truncated != nil && out.Truncated.Mark != nil {
			info, _ := f.info(ctx, id) // Without the information, only the number of omitted bytes is shown.
			to.Text = withMark(*out.Text, out.Truncated.Mark, keptIn(info, schema.Stream(stream)))
		}
	}
	return nil
}
