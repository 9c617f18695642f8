package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// progressEvery is the interval between progress notifications. Hosts that end a call after a minute without a message
// count from the last one.
const progressEvery = time.Second

// progress is the state of a call's wait.
type progress struct {
	mu     sync.Mutex
	handle json.RawMessage // the awaited job; nil: none yet
	until  time.Time       // deadline of the wait; zero: none
}

// watch sets the awaited job and the deadline.
func (p *progress) watch(handle json.RawMessage, timeoutMs schema.Nullable[int64]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handle, p.until = handle, time.Time{}
	if timeoutMs.Set && !timeoutMs.Null {
		p.until = time.Now().Add(time.Duration(timeoutMs.Value) * time.Millisecond)
	}
}

// startedJob sets the job of a start with a wait.
func (p *progress) startedJob(handle json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handle = handle
}

// reportProgress sends progress notifications, if the host has asked for them, until stop is called.
func (c *call) reportProgress(ctx context.Context) (stop func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.tellProgress(ctx, token)
	}()
	// No notification may follow the answer to the call.
	return func() { cancel(); <-done }
}

func (c *call) tellProgress(ctx context.Context, token any) {
	begun := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.progress.mu.Lock()
		handle, until := c.progress.handle, c.progress.until
		c.progress.mu.Unlock()
		elapsed := time.Since(begun)
		p := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: elapsed.Seconds()}
		if !until.IsZero() {
			p.Total = until.Sub(begun).Seconds()
		}
		p.Message = fmt.Sprintf("%d s", int(elapsed.Seconds()))
		if line := c.lastLine(ctx, handle); line != "" {
			p.Message += ": " + line
		}
		if err := c.req.Session.NotifyProgress(ctx, p); err != nil {
			return // The host is gone, or the call is over.
		}
	}
}

// lastLine returns the last line of a terminal's output that is not empty.
func (c *call) lastLine(ctx context.Context, handle json.RawMessage) string {
	if handle == nil {
		return ""
	}
	var r schema.JobReadResult
	err := c.do(ctx, "job/read", schema.JobReadParams{Handle: handle, Offset: new(int64(-512)), Format: new(schema.ReadFormatPlain)}, &r)
	if err != nil || r.Text == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(*r.Text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
