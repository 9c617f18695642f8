package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A call is one call of a tool. It makes the tool's requests to the server.
type call struct {
	// Immutable:
	front *front
	req   *mcp.CallToolRequest
	tool  string
	said  *decision // the person's decision so far; nil: none

	asks    bool   // a person must be asked about it; set before its first request
	session string // the sessionId of the job that it starts; set before the start; "": none

	mu      sync.Mutex
	started int64     // the job that it has started; 0: none
	job     *job      // the same
	left    bool      // the started job was abandoned
	allowed bool      // no question is needed any more
	asked   *question // the pending question
	told    []span    // the output that is in its answer
	barred  bool      // denied because the host cannot ask a person
	news    *tiding   // what is in its answer about the session
	link    *link     // of all its requests; nil: it has made none

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

// do sends a request to the server and waits for its answer. If ctx is done, it cancels the request.
func (c *call) do(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.front.engine.ask(ctx, c, method, params, result)
}

// over returns the connection for the requests of the call.
func (c *call) over(ctx context.Context, e *engine) (*link, error) {
	if l := c.connection(); l != nil {
		return l, nil
	}
	l, err := e.connected(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil {
		c.link = l
	}
	return c.link, nil
}

// connection returns the connection of a call that has made a request.
func (c *call) connection() *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// wait waits for a job. If ctx is done first, the error is that of ctx.
func (c *call) wait(ctx context.Context, p schema.JobWaitParams) (*schema.Outcome, error) {
	c.progress.watch(p.Handle, p.TimeoutMs)
	var r schema.JobWaitResult
	if err := c.do(ctx, "job/wait", p, &r); err != nil {
		return nil, err
	}
	return &r.Outcome, nil
}

// write types into a job, and waits if p has a wait.
func (c *call) write(ctx context.Context, p schema.JobWriteParams) (*schema.Outcome, error) {
	if err := c.confirmKeys(ctx, &p); err != nil {
		return nil, err
	}
	if p.Wait != nil {
		c.progress.watch(p.Handle, p.Wait.TimeoutMs)
	}
	var r schema.JobWriteResult
	err := c.do(ctx, "job/write", p, &r)
	if c.takesInput(ctx, err) {
		err = c.do(ctx, "job/write", p, &r)
	}
	if err != nil {
		return nil, err
	}
	return r.Outcome, nil
}

// takesInput takes the input of a job over, if another front end holds it that has ended: a host may have started this one
// before that one's end. A person who has taken the input and is away keeps it.
func (c *call) takesInput(ctx context.Context, err error) bool {
	refusal, ok := errors.AsType[*client.Error](err)
	if !ok || refusal.Kind != schema.KindInputHeld {
		return false
	}
	var data schema.InputHeldData
	if json.Unmarshal(refusal.Data, &data) != nil || data.Away == nil || !strings.HasPrefix(data.Holder, clientPrefix) {
		return false
	}
	return c.do(ctx, "job/takeInput", schema.JobTakeInputParams{Handle: handleID(data.Handle)}, nil) == nil
}

// get returns the present information about a job.
func (c *call) get(ctx context.Context, handle int64) (*schema.JobInfo, error) {
	var r schema.JobGetResult
	if err := c.do(ctx, "job/get", schema.JobGetParams{Handle: handleID(handle)}, &r); err != nil {
		return nil, err
	}
	c.meet(&r.Job)
	c.front.jobs.left(&r.Job)
	return &r.Job, nil
}

// background returns the living processes that a job has left running after the end of its command.
func (c *call) background(ctx context.Context, handle int64, status schema.Status) []int64 {
	if status == schema.StatusClosed {
		return []int64{}
	}
	info, err := c.get(ctx, handle)
	if err != nil {
		return []int64{} // The job was forgotten meanwhile.
	}
	return pids(info.Background)
}

// live returns the jobs that are not closed.
func (c *call) live(ctx context.Context) ([]schema.JobInfo, error) {
	var r schema.JobListResult
	if err := c.do(ctx, "job/list", schema.JobListParams{Live: new(true)}, &r); err != nil {
		return nil, err
	}
	for i := range r.Jobs {
		c.meet(&r.Jobs[i])
	}
	return r.Jobs, nil
}

// alive returns the live jobs of which a process is running: a job that has left no process after the end of its
// command is closed soon. If the command has ended, Background has the remaining processes.
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

// runs reports whether the command of a job, or a process that it has left, is running.
func runs(info *schema.JobInfo) bool { return running(info.Status) || len(info.Background) > 0 }

// runsStill does the same if only the state of the job is known.
func (c *call) runsStill(ctx context.Context, s *schema.JobState) bool {
	return running(s.Status) || len(c.background(ctx, s.Handle, s.Status)) > 0
}

// screen returns the screen of a job's terminal.
func (c *call) screen(ctx context.Context, handle int64, format schema.ScreenFormat) (*schema.JobScreenResult, error) {
	var r schema.JobScreenResult
	if err := c.do(ctx, "job/screen", schema.JobScreenParams{Handle: handleID(handle), Format: new(format)}, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// explain returns the text of an error for models. It leaves out the kind, which is for programs.
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
		return "A person must allow this, and this host cannot ask one (elicitation in MCP). Nothing was done. " +
			"If the host itself asks before each call, start shelld-mcp with -confirm auto, which then relies on the host, or with -unasked allow."
	}
	return explained(c.tool, err).Error()
}

// kindOf returns the kind of an error from the server, or "".
func kindOf(err error) schema.Kind {
	if refusal, ok := errors.AsType[*client.Error](err); ok {
		return refusal.Kind
	}
	return ""
}

// seconds converts a time given by a model.
func seconds(s float64) time.Duration {
	const most = 30 * 24 * time.Hour // A longer time is as good as no limit, and would overflow a Duration.
	if s >= most.Seconds() {
		return most
	}
	return time.Duration(s * float64(time.Second))
}

func millis(d time.Duration) schema.Nullable[int64] { return schema.ValueOf(d.Milliseconds()) }
