package conformance

import (
	"fmt"
	"slices"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file has the invariants of jobs that wait for input.

// An inputView is the state of a job's waits for input, as the connection has received it.
type inputView struct {
	open   string // the waitId of the open wait, if reported; "": none
	how    string // its state and confidence
	same   string // its fixed members: kind and since
	unsure bool   // its end may have been missed, and it may be reported again: the subscription changed
	over   map[string]bool
}

// waitMembers are present if a job waits for input, and only then.
var waitMembers = []string{"waitId", "state", "kind", "since", "prompt", "why", "confidence"}

// waitsAsTold checks that a wait for input has all its members, and that without a wait none are present except
// may.
func waitsAsTold(o map[string]any, may ...string) string {
	waiting := o["waiting"] == true
	for _, name := range append(slices.Clone(waitMembers), "pid") {
		switch there := o[name] != nil; {
		case waiting && !there && name != "pid":
			return fmt.Sprintf("a wait for input is told without its %s", name)
		case !waiting && there && !slices.Contains(may, name):
			return fmt.Sprintf("the member %s is there, and there is no wait for input", name)
		}
	}
	return ""
}

// edge checks that one wait ends before the next one begins. The same wait is reported again only if its state or
// confidence has changed.
func (j *jobView) edge(o map[string]any) string {
	id, _ := o["waitId"].(string)
	w := &j.input
	unsure := w.unsure
	w.unsure = false
	if why := waitsAsTold(o, "waitId"); why != "" {
		return why
	}
	how, same := wire.Show(o["state"])+" "+wire.Show(o["confidence"]), wire.Show(o["kind"])+" "+wire.Show(o["since"])
	switch {
	case w.over[id]:
		return fmt.Sprintf("job %s is told of the wait for input %q, which was told to be over", j.handle, id)
	case o["waiting"] != true:
		if id != w.open && !unsure {
			return fmt.Sprintf("the wait for input %q of job %s is told to be over, and the one that was told is %q", id, j.handle, w.open)
		}
		if w.over == nil {
			w.over = map[string]bool{}
		}
		w.open, w.over[id] = "", true
		return ""
	case w.open != "" && w.open != id && !unsure:
		return fmt.Sprintf("the wait for input %q of job %s is told, and %q was not told to be over", id, j.handle, w.open)
	case w.open == id && same != w.same:
		return fmt.Sprintf("the wait for input %q of job %s has the kind and since %s, and had %s", id, j.handle, same, w.same)
	case w.open == id && how == w.how && !unsure:
		return fmt.Sprintf("the wait for input %q of job %s is told again, and is as it was told", id, j.handle)
	}
	w.open, w.how, w.same = id, how, same
	return ""
}

// waitsOver checks that no wait for input is open after the job's end.
func (j *jobView) waitsOver() string {
	if j.input.open != "" && !j.input.unsure {
		return fmt.Sprintf("job %s has ended, and its wait for input %q was not told to be over", j.handle, j.input.open)
	}
	return ""
}

// waits checks the wait for input in a job's state for consistency.
func (j *jobView) waits(job map[string]any) string {
	w, ok := job["waitingForInput"].(map[string]any)
	switch {
	case !ok:
		return ""
	case job["exit"] != nil:
		return fmt.Sprintf("job %s has ended, and waitingForInput is there", j.handle)
	}
	return waitsAsTold(w, "why")
}

// unlooked checks that only the answer to job/get, which probes the job, says that a job does not wait for input.
func unlooked(method string, jobs []any) string {
	for _, v := range jobs {
		job, _ := v.(map[string]any)
		if w, ok := job["waitingForInput"].(map[string]any); ok && w["waiting"] != true && method != "job/get" {
			return method + " tells that a job does not wait for input; job/get alone does"
		}
	}
	return ""
}

// asSure reports whether a confidence, or a tier, is at least as high as another one.
func asSure(is, least any) bool {
	a, _ := is.(string)
	b, _ := least.(string)
	return slices.Index(wire.Confidences, a) >= slices.Index(wire.Confidences, b)
}

// accepted checks that a wait that has ended by an input condition reports a wait for input that this condition
// accepts.
func accepted(condition any, job map[string]any) string {
	w, _ := job["waitingForInput"].(map[string]any)
	c, _ := condition.(map[string]any)
	least := c["minConfidence"]
	if least == nil {
		least = "likely"
	}
	kinds, some := c["kinds"].([]any)
	if w["waiting"] == true && asSure(w["confidence"], least) &&
		(!some || slices.Contains(kinds, w["kind"])) && (w["state"] == "reading" || c["listening"] == true) {
		return ""
	}
	return fmt.Sprintf("a wait has ended by the condition input %s, and waitingForInput is %s", wire.Show(condition), wire.Show(job["waitingForInput"]))
}
