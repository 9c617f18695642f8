package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/rpc"
	"shelld/schema"
)

// A call is one call of a tool, on its way through the protocol.
type call struct {
	// Immutable:
	front *front
	req   *mcp.CallToolRequest
	tool  string
	said  *decision // what the person has said of it already; nil = nothing

	asks    bool   // a person is asked about it; set before its first request
	session string // the sessionId of what it starts, set before that; "" = none

	mu      sync.Mutex
	started int64     // the job that it has started; 0 = none
	left    bool      // that was abandoned
	allowed bool      // nobody has to be asked any more
	asked   *question // what nobody has answered yet
	told    []span    // what of jobs' output is in its answer
	barred  bool      // it was refused since nobody can be asked

	progress progress
}

func (f *front) newCall(req *mcp.CallToolRequest, tool string, asks bool) *call {
	switch f.cfg.confirm {
	case "all":
		asks = true
	case "none":
		asks = false
	}
	return &call{front: f, req: req, tool: tool, asks: asks, said: decisionIn(req.Params)}
}

// do makes a request of the protocol, and awaits its answer. When ctx is done the request is
// cancelled.
func (c *call) do(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.front.engine.ask(ctx, c, method, params, result)
}

// wait waits for a job. Where ctx is done first the error is that.
func (c *call) wait(ctx context.Context, p schema.JobWaitParams) (*schema.Outcome, error) {
	c.progress.watch(p.Handle, p.TimeoutMs)
	var r schema.JobWaitResult
	if err := c.do(ctx, "job/wait", p, &r); err != nil {
		return nil, err
	}
	return &r.Outcome, nil
}

// write types into a job, and waits where p says so.
func (c *call) write(ctx context.Context, p schema.JobWriteParams) (*schema.Outcome, error) {
	if err := c.confirmKeys(ctx, &p); err != nil {
		return nil, err
	}
	if p.Wait != nil {
		c.progress.watch(p.Handle, p.Wait.TimeoutMs)
	}
	var r schema.JobWriteResult
	if err := c.do(ctx, "job/write", p, &r); err != nil {
		return nil, err
	}
	return r.Outcome, nil
}

// get is all that is known of a job, as of now.
func (c *call) get(ctx context.Context, handle int64) (*schema.JobInfo, error) {
	var r schema.JobGetResult
	if err := c.do(ctx, "job/get", schema.JobGetParams{Handle: handleID(handle)}, &r); err != nil {
		return nil, err
	}
	c.front.jobs.left(&r.Job)
	return &r.Job, nil
}

// background is what a job whose command has ended has started, and is alive.
func (c *call) background(ctx context.Context, handle int64, status schema.Status) []int64 {
	if status == schema.StatusClosed {
		return []int64{}
	}
	info, err := c.get(ctx, handle)
	if err != nil {
		return []int64{} // It was forgotten meanwhile.
	}
	return pids(info.Background)
}

// live are the jobs that are not closed.
func (c *call) live(ctx context.Context) ([]schema.JobInfo, error) {
	var r schema.JobListResult
	if err := c.do(ctx, "job/list", schema.JobListParams{Live: new(true)}, &r); err != nil {
		return nil, err
	}
	return r.Jobs, nil
}

// alive are those of them of which anything runs: one whose command has ended, and which has left
// nothing, is closed in a moment. Of the others of these, Background has what runs on.
func (c *call) alive(ctx context.Context) ([]schema.JobInfo, error) {
	live, err := c.live(ctx)
	if err != nil {
		return nil, err
	}
	var alive []schema.JobInfo
	for _, j := range live {
		if running(j.Status) {
			alive = append(alive, j)
		} else if info, err := c.get(ctx, j.Handle); err == nil && runs(info) {
			alive = append(alive, *info)
		}
	}
	return alive, nil
}

// runs says whether anything of a job does: its command, or what that has left.
func runs(info *schema.JobInfo) bool { return running(info.Status) || len(info.Background) > 0 }

// runsStill is the same of one whose state is known alone.
func (c *call) runsStill(ctx context.Context, s *schema.JobState) bool {
	return running(s.Status) || len(c.background(ctx, s.Handle, s.Status)) > 0
}

// screen is what a job's terminal shows.
func (c *call) screen(ctx context.Context, handle int64, format schema.ScreenFormat) (*schema.JobScreenResult, error) {
	var r schema.JobScreenResult
	if err := c.do(ctx, "job/screen", schema.JobScreenParams{Handle: handleID(handle), Format: new(format)}, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// explain is an error in words for models. The kind is for programs, and left out.
func (c *call) explain(err error) string {
	c.mu.Lock()
	barred := c.barred
	c.mu.Unlock()
	if kindOf(err) == schema.KindConfirmationDenied && c.said != nil {
		if why := c.said.refusal(); why != "" {
			return why
		}
	}
	if barred {
		return "A person has to allow this, and this host has no way to ask one (MCP calls it elicitation). Nothing was done. " +
			"If the host itself asks before each call, start shelld-mcp with -confirm auto, which leaves it to such a host, or with -unasked allow."
	}
	return explained(c.tool, err).Error()
}

// kindOf is the kind of an error of the server's, or "".
func kindOf(err error) schema.Kind {
	if refusal, ok := errors.AsType[*rpc.CallError](err); ok {
		return refusal.Kind
	}
	return ""
}

// seconds is a time that a model has given.
func seconds(s float64) time.Duration {
	const most = 30 * 24 * time.Hour // Beyond that it is as good as never, and a Duration would overflow.
	if s >= most.Seconds() {
		return most
	}
	return time.Duration(s * float64(time.Second))
}

func millis(d time.Duration) schema.Nullable[int64] { return schema.ValueOf(d.Milliseconds()) }
