package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// This file tells a model about jobs that it has not started in this process: the first answer after a start or after a
// lost connection begins with a list of the session's jobs.

// A tiding is a reason for that list.
type tiding struct {
	text  string
	empty bool // it is told even if there are no jobs
}

// news has the tiding that no answer has had yet.
type news struct {
	mu   sync.Mutex
	next *tiding
}

// add sets the next tiding, which may be nil, unless there is a later one.
func (n *news) add(t *tiding) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = t
	}
}

func (n *news) take() *tiding {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.next
	n.next = nil
	return t
}

// joined has the next answer list the jobs that a front end finds at its start.
func (n *news) joined(name string, was wasRecord) {
	switch was {
	case wasThis:
		n.add(&tiding{text: "shelld-mcp was started again; the session " + name + " went on. Its jobs:"})
	case wasOther:
		n.add(&tiding{"The session " + name + " of before has ended, and all its jobs with it: their numbers and names mean nothing now.", true})
	default:
		n.add(&tiding{text: "The session " + name + " has these jobs from before:"})
	}
}

// returned has the next answer say what became of the jobs when the connection to the session was lost.
func (n *news) returned(name string, anew bool) {
	text := "The connection to the session " + name + " was lost, and made again. Its jobs:"
	if anew {
		text = "The session " + name + " has ended, and all its jobs with it: their numbers and names mean nothing now. It was started anew."
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next = &tiding{text, anew}
}

// A preface is what an answer begins with.
type preface struct {
	call *call
	text string
}

// inFrontOf puts the preface, which may be nil, before an answer. A question for the host is no answer yet.
func (p *preface) inFrontOf(res *mcp.CallToolResult) *mcp.CallToolResult {
	switch {
	case p == nil:
	case res.InputRequests != nil:
		p.call.untellAll()
	default:
		res.Content = append([]mcp.Content{&mcp.TextContent{Text: legible(p.text)}}, res.Content...)
	}
	return res
}

// tidings returns what the answer to a call begins with; nil: nothing. If the connection to the session is lost, it makes
// a new one, so that this call can say so.
func (f *front) tidings(ctx context.Context, req *mcp.CallToolRequest, tool string) *preface {
	if f.engine.member == nil {
		return nil
	}
	c := f.newCall(req, tool, false)
	if _, err := c.over(ctx, f.engine); err != nil {
		return nil // The tool's own request has the same error.
	}
	if c.news = f.news.take(); c.news == nil {
		return nil
	}
	f.owed.await(c)
	lines, err := c.tidingLines(ctx)
	if err != nil {
		c.untellAll()
		return nil // As above; the next answer has the news.
	}
	if len(lines) == 0 && !c.news.empty {
		return nil
	}
	return &preface{c, strings.Join(append([]string{c.news.text}, lines...), "\n") + "\n\n"}
}

const (
	mostTidings = 20  // the maximum number of jobs in such a list
	mostCommand = 200 // the maximum length of a command in it
)

// tidingLines describes the jobs that run, and those of this front end whose end no answer has had.
func (c *call) tidingLines(ctx context.Context) (lines []string, err error) {
	var all schema.JobListResult
	if err := c.do(ctx, "job/list", schema.JobListParams{}, &all); err != nil {
		return nil, err
	}
	left := 0
	for i := range all.Jobs {
		info := &all.Jobs[i]
		if len(lines) == mostTidings {
			if running(info.Status) {
				left++
			}
			continue
		}
		c.meet(info)
		if c.isNews(ctx, c.front.jobs.of(c.connection(), info.Handle), &info) {
			lines = append(lines, c.tidingLine(info))
		}
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("[%d more jobs that run; %s lists them]", left, listTool(c.tool)))
	}
	return lines, nil
}

// isNews reports whether a job belongs into the list. It completes the information about one that runs.
func (c *call) isNews(ctx context.Context, j *job, info **schema.JobInfo) bool {
	if (*info).Status != schema.StatusClosed {
		now, err := c.get(ctx, j.handle)
		if err != nil {
			return false
		}
		*info = now
		if runs(now) {
			return true
		}
	}
	mine := (*info).StartedBy != nil && *(*info).StartedBy == c.link.clientID
	if !mine || (*info).Exit == nil || j.place.hasEnd() {
		return false
	}
	j.reading.Lock()
	defer j.reading.Unlock()
	c.tellsEnd(j)
	return true
}

// tidingLine describes a job as shell_jobs does.
func (c *call) tidingLine(info *schema.JobInfo) string {
	e := c.endedShellJob(info)
	e.Command = clip(e.Command, mostCommand)
	switch {
	case running(info.Status):
		e.Status = string(info.Status)
	case runs(info):
		e.Status, e.BackgroundPIDs = "background", pids(info.Background)
	}
	if is, question := asking(info.WaitingForInput); is && running(info.Status) {
		e.Status += ", waiting for input"
		if question != "" {
			e.Status += ": " + clip(question, mostCommand)
		}
	}
	text := e.text()
	if by := info.StartedBy; by != nil && *by != c.link.clientID {
		text += " (started by " + *by + ")"
	}
	return text
}
