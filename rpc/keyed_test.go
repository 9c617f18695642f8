package rpc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestRunOverACut: a job/run whose connection ends gives its result to the client's next one.
func TestRunOverACut(t *testing.T) {
	h := share(t)
	a := h.join("a")
	gate := newFifo(t)
	file := filepath.Join(t.TempDir(), "runs")
	params := obj{"command": `echo run >>"$FILE"; cat "$GATE"; echo done`, "shell": "sh", "env": obj{"FILE": file, "GATE": gate.path}, "key": "run 1", "name": "r"}
	a.begin("job/run", params)
	a.await("r", obj{"bytes": 0})
	a.cut()
	b := h.join("a")
	again := b.begin("job/run", params)
	gate.release()
	r := result[schema.JobRunResult](again)
	equal(t, "stdout", str(r.Stdout), "go\ndone\n")
	equal(t, "replayed", r.Replayed != nil, true)
	if text, err := os.ReadFile(file); err != nil || string(text) != "run\n" {
		t.Errorf("the command ran as %q, %v", text, err)
	}
	third := do[schema.JobRunResult](b, "job/run", params)
	equal(t, "stdout of the third", str(third.Stdout), "go\ndone\n")
}

// TestWriteOverACut: input whose answer was lost is typed once.
func TestWriteOverACut(t *testing.T) {
	h := share(t)
	a := h.join("a")
	job := a.pipe("cat", "stdin", "open", "onDetach", "keep")
	params := obj{"handle": job, "input": "once\n", "key": "w"}
	a.gate.let(false)
	a.begin("job/write", params)
	watcher := h.join("watcher")
	watcher.await(job, obj{"bytes": len("once\n")}, "from", "start")
	a.cut()
	a.gate.let(true)
	b := h.join("a")
	r := do[schema.JobWriteResult](b, "job/write", params)
	equal(t, "replayed", r.Replayed != nil, true)
	equal(t, "bytes", r.BytesWritten, int64(len("once\n")))
	b.write(job, "", "eof", true)
	watcher.await(job, obj{"closed": true})
	text := do[schema.JobReadResult](watcher, "job/read", obj{"handle": job, "stream": "stdout", "offset": 0})
	equal(t, "output", str(text.Text), "once\n")
}

// TestKeyOrder: the order of members and blanks do not make another request; other clients have keys of their own.
func TestKeyOrder(t *testing.T) {
	h := share(t)
	a, b := h.join("a"), h.join("b")
	one := result[schema.JobStartResult](a.begin("job/start", json.RawMessage(`{"key":"k","argv":["true"],"mode":"pipe"}`)))
	two := result[schema.JobStartResult](a.begin("job/start", json.RawMessage(`{ "mode":"pipe", "argv" : ["true"], "key":"k" }`)))
	other := result[schema.JobStartResult](b.begin("job/start", json.RawMessage(`{"key":"k","argv":["true"],"mode":"pipe"}`)))
	equal(t, "handle of the same request", two.Job.Handle, one.Job.Handle)
	equal(t, "replayed", two.Replayed != nil, true)
	equal(t, "another's is another job", other.Job.Handle != one.Job.Handle, true)
	d := refused[schema.KeyConflictData](a.begin("job/start", obj{"key": "k", "argv": []string{"false"}, "mode": "pipe"}), schema.KindKeyConflict)
	equal(t, "key", d.Key, "k")
}

// TestKeysWithoutID: clients without an id do not get each other's answers.
func TestKeysWithoutID(t *testing.T) {
	h := share(t)
	a, b := h.join(""), h.join("")
	params := obj{"key": "1", "argv": []string{"true"}, "mode": "pipe"}
	one := do[schema.JobStartResult](a, "job/start", params)
	two := do[schema.JobStartResult](b, "job/start", params)
	equal(t, "jobs are two", one.Job.Handle != two.Job.Handle, true)
}

// TestKeyOfARefusal: a request that could be made again after its error is not kept, and one with invalid params neither.
func TestKeyOfARefusal(t *testing.T) {
	h := share(t)
	a := h.joinWith("a", obj{}, "options", obj{"limits": obj{"maxJobs": 1}})
	job := a.pipe("read x", "stdin", "open")
	params := obj{"key": "k", "argv": []string{"true"}, "mode": "pipe"}
	refused[schema.LimitExceededData](a.begin("job/start", params), schema.KindLimitExceeded)
	refused[none](a.beginBad("job/start", obj{"key": "l", "argv": []string{}}), schema.KindInvalidParams)
	a.killNow(job)
	r := do[schema.JobStartResult](a, "job/start", params)
	equal(t, "replayed", r.Replayed != nil, false)
	a.await(r.Job.Handle, obj{"closed": true})
	do[schema.JobStartResult](a, "job/start", obj{"key": "l", "argv": []string{"true"}, "mode": "pipe", "wait": obj{"until": []obj{{"closed": true}}}})
}

// TestKeyOfALongAnswer: an answer that is too long to be kept is replaced by an error.
func TestKeyOfALongAnswer(t *testing.T) {
	h := share(t)
	a := h.join("a")
	params := obj{"key": "k", "argv": []string{"sh", "-c", "head -c 1100000 /dev/zero | tr '\\0' x"}, "maxBytes": 1 << 20, "format": "text"}
	r := do[schema.JobRunResult](a, "job/run", params)
	if len(str(r.Stdout)) < 1<<20 {
		t.Fatalf("%d bytes of output", len(str(r.Stdout)))
	}
	d := refused[schema.LimitExceededData](a.begin("job/run", params), schema.KindLimitExceeded)
	equal(t, "limit", d.Limit, "keptAnswerBytes")
}

// TestAnswersAfterLeaving: long answers that are made when the client has left are kept for it, however many.
func TestAnswersAfterLeaving(t *testing.T) {
	h := share(t)
	a := h.join("a")
	others := h.join("others")
	over := filepath.Join(t.TempDir(), "over")
	params := func(i int) obj {
		return obj{"key": encode(i), "name": "r" + encode(i), "maxBytes": 1 << 20, "format": "text", "env": obj{"OVER": over},
			"argv": []string{"sh", "-c", `until [ -e "$OVER" ]; do sleep 0.05; done; head -c 900000 /dev/zero | tr '\0' x`}}
	}
	const runs = 12 // together more than may wait to be sent
	for i := range runs {
		a.begin("job/run", params(i))
	}
	do[schema.JobWaitResult](others, "job/wait", obj{"handle": runs, "until": []obj{{"bytes": 0}}})
	a.cutOff.Store(true) // The runs are not answered.
	a.leave()
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		others.await(i+1, obj{"closed": true}, "maxBytes", 0)
	}
	b := h.join("a")
	for i := range runs {
		r := do[schema.JobRunResult](b, "job/run", params(i))
		equal(t, "replayed", r.Replayed != nil, true)
		equal(t, "bytes", len(str(r.Stdout)), 900_000)
	}
}

// TestNewestKeys: the newest 1,024 keys are kept.
func TestNewestKeys(t *testing.T) {
	h := share(t)
	a := h.join("a")
	set := func(key string) schema.EnvSetResult {
		return do[schema.EnvSetResult](a, "env/set", obj{"name": "A", "value": "1", "key": key})
	}
	set("first")
	for i := range 1023 {
		set(strings.Repeat("k", i%120+1) + encode(i))
	}
	equal(t, "replayed", set("first").Replayed != nil, true)
	set("one more")
	equal(t, "replayed", set("first").Replayed != nil, false)
}
