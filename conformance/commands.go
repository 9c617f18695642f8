package conformance

import (
	"fmt"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file has the invariants of shell commands, in all messages that report them.

// commandFinished checks that the end of a command is reported once, after the output that it refers to, and
// before the job's exit.
func (c *checker) commandFinished(j *jobView, o map[string]any) string {
	id := wire.Show(o["commandId"])
	output, _ := o["output"].(map[string]any)
	to, _ := wire.Int(output["to"])
	switch next := j.stream("pty").next; {
	case j.finished[id]:
		return fmt.Sprintf("job/commandFinished of job %s tells the end of command %s twice", j.handle, id)
	case j.exited && j.sub == nil:
		return fmt.Sprintf("job/commandFinished of job %s comes after its job/exited", j.handle)
	case j.sub == nil && c.wants(j, "output") && to > next:
		return fmt.Sprintf("job/commandFinished of job %s speaks of bytes up to %d, and its output was sent up to %d", j.handle, to, next)
	}
	if j.finished == nil {
		j.finished = map[string]bool{}
	}
	j.finished[id] = true
	return j.command(id, o["exitCode"], output)
}

// commands compares the finished commands in an answer with earlier reports of the same commands.
func (c *checker) commands(r *request, o map[string]any) string {
	outcome, _ := o["outcome"].(map[string]any)
	state, _ := outcome["job"].(map[string]any)
	if awaited, _ := outcome["command"].(map[string]any); awaited != nil {
		at, _ := awaited["output"].(map[string]any)
		if why := c.job(wire.Show(state["handle"])).command(wire.Show(awaited["commandId"]), awaited["exitCode"], at); why != "" {
			return why
		}
	}
	if r.method == "job/exec" && o["finished"] == true && o["range"] != nil {
		at, _ := o["range"].(map[string]any)
		return c.job(wire.Show(state["handle"])).command(wire.Show(o["commandId"]), o["exitCode"], at)
	}
	handle, isHandle := wire.Int(r.params["handle"])
	list, _ := o["commands"].([]any)
	if r.method != "job/history" || !isHandle {
		return "" // the name may belong to another job by now
	}
	for _, v := range list {
		one, _ := v.(map[string]any)
		at, _ := one["output"].(map[string]any)
		if one["finished"] != true {
			continue
		}
		if why := c.job(wire.Show(wire.Number(fmt.Sprint(handle)))).command(wire.Show(one["commandId"]), one["exitCode"], at); why != "" {
			return why
		}
	}
	return ""
}

// command checks that the exit status and output range of a finished command are the same in every message.
func (j *jobView) command(id string, exit any, output map[string]any) string {
	from, isFrom := wire.Int(output["from"])
	to, isTo := wire.Int(output["to"])
	if !isFrom || !isTo || from > to {
		return fmt.Sprintf("command %s of job %s has ended, and its output goes from %s to %s", id, j.handle, wire.Show(output["from"]), wire.Show(output["to"]))
	}
	is := fmt.Sprintf("exitCode %s, output from %d to %d", wire.Show(exit), from, to)
	if was, told := j.ends[id]; told && was != is {
		return fmt.Sprintf("command %s of job %s was told to have %s, and now %s", id, j.handle, was, is)
	}
	if j.ends == nil {
		j.ends = map[string]string{}
	}
	j.ends[id] = is
	return ""
}
