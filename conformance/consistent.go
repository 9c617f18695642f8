package conformance

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file checks facts that a server reports several times, and must report alike.

// state checks a job's state for consistency, in itself and with earlier reports.
func (j *jobView) state(job map[string]any) string {
	ended := job["status"] == "exited" || job["status"] == "closed"
	if ended != (job["exit"] != nil) {
		return fmt.Sprintf("job %s is %s, and its exit is %s: there is one where it has ended", j.handle, wire.Show(job["status"]), wire.Show(job["exit"]))
	}
	if pid, ok := wire.Int(job["pid"]); ok {
		if j.pid != 0 && j.pid != pid {
			return fmt.Sprintf("the pid of job %s is %d, and was %d", j.handle, pid, j.pid)
		}
		j.pid = pid
	}
	if why := j.waits(job); why != "" {
		return why
	}
	return j.exit(job["exit"])
}

// exit checks that a job's exit is the same in every message, and has a limit if and only if that was the reason.
func (j *jobView) exit(exit any) string {
	o, _ := exit.(map[string]any)
	switch {
	case exit == nil:
	case (o["reason"] == "limit") != (o["limit"] != nil):
		return fmt.Sprintf("the exit of job %s is told as %s: the limit is told with the reason limit, and only then", j.handle, wire.Show(exit))
	case j.exitTold == nil:
		j.exitTold = exit
	case !equal(j.exitTold, exit):
		return fmt.Sprintf("the exit of job %s is told as %s, and was as %s", j.handle, wire.Show(exit), wire.Show(j.exitTold))
	}
	return ""
}

// change checks that changed names exactly the members that are present.
func change(o map[string]any) string {
	values := []string{"status", "title", "cwd", "bell", "size", "foreground", "outputFileError"}
	changed, _ := o["changed"].([]any)
	for _, name := range values {
		_, there := o[name]
		named := slices.Contains(changed, any(strings.TrimSuffix(name, "Error")))
		if named != there {
			return fmt.Sprintf("changed is %s, and the member %s is there: %v", wire.Show(changed), name, there)
		}
	}
	return ""
}

// matched checks that the matches of a watch in a stream do not overlap.
func (j *jobView) matched(o map[string]any) string {
	key := wire.Show(o["watchId"]) + wire.Show(o["stream"])
	offset, _ := wire.Int(o["offset"])
	end, _ := wire.Int(o["endOffset"])
	switch before, ok := j.matches[key]; {
	case end < offset:
		return fmt.Sprintf("a match ends at %d, before it begins at %d", end, offset)
	case ok && offset < before:
		return fmt.Sprintf("matches of a watch of job %s do not overlap: one ends at %d, and the next begins at %d", j.handle, before, offset)
	}
	j.matches[key] = end
	return ""
}

// screenChanged checks that the revision grows, and that the event comes after the output that it refers to. A
// new subscription repeats the current revision.
func (c *checker) screenChanged(j *jobView, o map[string]any) string {
	offset, _ := wire.Int(o["offset"])
	revision, _ := wire.Int(o["revision"])
	if next := j.stream("pty").next; j.sub == nil && c.wants(j, "output") && offset > next {
		return fmt.Sprintf("job/screenChanged of job %s speaks of bytes up to %d, and its output was sent up to %d", j.handle, offset, next)
	}
	if revision < j.revision || revision == j.revision && j.sub == nil {
		return fmt.Sprintf("job/screenChanged of job %s tells the revision %d after %d", j.handle, revision, j.revision)
	}
	j.revision = revision
	return ""
}

// outcome checks that the index is that of a condition with the reason's name.
func outcome(r *request, o map[string]any) string {
	wait := r.params
	if r.method != "job/wait" {
		wait, _ = r.params["wait"].(map[string]any)
	}
	until, ok := wait["until"].([]any)
	reason, _ := o["reason"].(string)
	if !ok || o == nil {
		return ""
	}
	i, isIndex := wire.Int(o["index"])
	if !isIndex && r.method == "job/exec" && reason == "command" {
		return "" // by the command's own end
	}
	if !isIndex {
		if slices.Contains([]string{"closed", "pattern", "quietMs", "bytes", "input", "command"}, reason) {
			return fmt.Sprintf("a wait has ended by its condition %s, and index does not say which", reason)
		}
		return ""
	}
	member := map[string]string{"patternFailed": "pattern", "portInUse": "port"}[reason]
	if member == "" {
		member = reason
	}
	if i < 0 || int(i) >= len(until) {
		return fmt.Sprintf("a wait has %d conditions, and index is %d", len(until), i)
	}
	condition, _ := until[i].(map[string]any)
	if condition[member] == nil {
		return fmt.Sprintf("a wait has ended with the reason %s, and its condition %d is %s", reason, i, wire.Show(until[i]))
	}
	if reason == "input" {
		job, _ := o["job"].(map[string]any)
		return accepted(condition["input"], job)
	}
	return ""
}

// A reading is the result of a job/read.
type reading struct {
	job, stream string
	run
}

// read records the result of a job/read. Plain text is skipped, since it has no offsets of its own.
func (c *checker) read(r *request, o map[string]any) string {
	job, _ := o["job"].(map[string]any)
	streams, _ := job["streams"].(map[string]any)
	stream, _ := r.params["stream"].(string)
	for name := range streams {
		if len(streams) == 1 {
			stream = name
		}
	}
	if r.params["format"] == "plain" || stream == "" {
		return ""
	}
	text, isText := o["text"].(string)
	data := []byte(text)
	if !isText {
		encoded, _ := o["base64"].(string)
		var err error
		if data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return "base64 cannot be decoded: " + err.Error()
		}
	}
	from, _ := wire.Int(o["offset"])
	to, _ := wire.Int(o["nextOffset"])
	if to-from != int64(len(data)) {
		return fmt.Sprintf("job/read gives %d bytes from %d on, and nextOffset is %d", len(data), from, to)
	}
	c.readings = append(c.readings, reading{wire.Show(job["handle"]), stream, run{offset: from, data: data}})
	return ""
}

// asRead checks that job/output and job/read returned the same bytes.
func (c *checker) asRead() string {
	for _, r := range c.readings {
		for _, pushed := range c.job(r.job).stream(r.stream).runs {
			if pushed.cut > 0 {
				continue
			}
			from := max(r.offset, pushed.offset)
			to := min(r.offset+int64(len(r.data)), pushed.offset+int64(len(pushed.data)))
			if from < to && !bytes.Equal(r.data[from-r.offset:to-r.offset], pushed.data[from-pushed.offset:to-pushed.offset]) {
				return fmt.Sprintf("job/read gave other bytes of job %s (%s) between %d and %d than job/output", r.job, r.stream, from, to)
			}
		}
	}
	return ""
}

// leastKnown is the minimum length of a secret that the checks look for.
const leastKnown = 6

// secretsOf returns the secrets in a job/write or env/set that have at least that length.
func secretsOf(params map[string]any) (all []string) {
	add := func(v any) {
		if s, ok := v.(string); ok && len(s) >= leastKnown {
			all = append(all, s)
		}
	}
	if params["secret"] != true {
		return nil
	}
	add(params["input"])
	add(params["value"])
	send, _ := params["send"].([]any)
	for _, v := range send {
		item, _ := v.(map[string]any)
		add(item["text"])
		add(item["paste"])
	}
	return all
}

// secretIn returns an error text if a record contains a secret that was written, or "". It is not used for
// output, which shows whatever the program prints.
func (c *checker) secretIn(where string, text string) string {
	for _, s := range c.secrets {
		if strings.Contains(text, s) {
			return where + " has what was written as a secret"
		}
	}
	return ""
}
