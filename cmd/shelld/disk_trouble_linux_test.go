package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A troubled server has a disk that rejects writes after a while, during which jobs write, and a client that reads
// their events.
type troubled struct {
	*diskServer
	reason string // the system's error for it

	mu     sync.Mutex
	heard  map[int64]int64 // offset up to which the client has each job's output, without gaps
	wrong  []string
	failed map[int64][]schema.OutputFileError // reported errors

	failing, closed map[int64]chan struct{} // see moment
}

func startTroubled(t *testing.T, disk, reason string) *troubled {
	t.Helper()
	d := &troubled{
		reason: reason, heard: map[int64]int64{}, failed: map[int64][]schema.OutputFileError{},
		failing: map[int64]chan struct{}{}, closed: map[int64]chan struct{}{},
	}
	d.diskServer = &diskServer{startHeard(t, d.hear), t, filepath.Join(disk, "state"), ""}
	d.initialize()
	d.call(t, "job/start", map[string]any{"command": answerer}, nil)
	d.lives(1)
	d.awaitInfo(1)
	return d
}

// awaitInfo waits until the information about a job is stored, which is some time after its start.
func (d *troubled) awaitInfo(handle int64) {
	d.t.Helper()
	wait := "until [ -e '" + filepath.Join(*d.get(handle).OutputDirectory, "info.json") + "' ]; do sleep 0.01; done"
	d.call(d.t, "job/run", schema.JobRunParams{Command: &wait}, nil)
}

func (d *troubled) hear(n client.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch n.Method {
	case "job/output":
		var p schema.JobOutputParams
		if err := json.Unmarshal(n.Params, &p); err != nil || p.Text == nil {
			d.wrong = append(d.wrong, fmt.Sprintf("%s, %v", n.Params, err))
		} else if p.Gap != nil || p.Offset != d.heard[p.Handle] || !bytes.Equal([]byte(*p.Text), rulerAt(p.Offset, len(*p.Text))) {
			d.wrong = append(d.wrong, fmt.Sprintf("job %d at %d, after %d; gap %v", p.Handle, p.Offset, d.heard[p.Handle], p.Gap))
		} else {
			d.heard[p.Handle] = p.Offset + p.Bytes
		}
	case "job/stateChanged":
		var p schema.JobStateChangedParams
		if err := json.Unmarshal(n.Params, &p); err != nil {
			d.wrong = append(d.wrong, err.Error())
		} else if p.OutputFileError != nil {
			if d.failed[p.Handle] = append(d.failed[p.Handle], *p.OutputFileError); len(d.failed[p.Handle]) == 1 {
				close(moment(d.failing, p.Handle))
			}
		}
	case "job/closed":
		var p schema.JobClosedParams
		if err := json.Unmarshal(n.Params, &p); err != nil {
			d.wrong = append(d.wrong, err.Error())
		}
		close(moment(d.closed, p.Handle))
	}
}

// start starts a command, of which the client gets all output.
func (d *troubled) start(command string, more map[string]any) int64 {
	d.t.Helper()
	p := map[string]any{
		"command": command, "mode": "pipe", "stderr": "discard", "stdin": "open", "whenSlow": "block",
		"events": []string{"output", "stateChanged", "closed"},
	}
	for name, v := range more {
		p[name] = v
	}
	var r schema.JobStartResult
	d.call(d.t, "job/start", p, &r)
	return r.Job.Handle
}

// heardAll waits for the end of a job that has written this many bytes, all of which the client must have received. It
// returns the information about the job.
func (d *troubled) heardAll(handle, bytes int64) schema.JobInfo {
	d.t.Helper()
	d.await(d.closed, handle, "does not end")
	j := d.get(handle)
	if j.Exit == nil || j.Exit.Code == nil || *j.Exit.Code != 0 || j.Streams["stdout"].NextOffset != bytes {
		d.t.Errorf("job %d: %+v, %+v", handle, j.Exit, j.Streams)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.heard[handle] != bytes || len(d.wrong) > 0 {
		d.t.Errorf("job %d: of %d bytes %d were heard; wrong is %q", handle, bytes, d.heard[handle], d.wrong)
	}
	return j
}

// awaitFailure waits until a failure of a file of the job was reported to the client.
func (d *troubled) awaitFailure(handle int64) {
	d.t.Helper()
	d.await(d.failing, handle, "has no file that fails")
}

func (d *troubled) await(of map[int64]chan struct{}, handle int64, otherwise string) {
	d.t.Helper()
	d.mu.Lock()
	c := moment(of, handle)
	d.mu.Unlock()
	select {
	case <-c:
	case <-time.After(watchdog):
		d.t.Fatalf("job %d %s", handle, otherwise)
	}
}

// moment returns a channel for a job that is closed when a certain event has happened.
func moment(of map[int64]chan struct{}, handle int64) chan struct{} {
	if of[handle] == nil {
		of[handle] = make(chan struct{})
	}
	return of[handle]
}

// told checks that the failure of one of these files was reported to the client once, with its reason, and that other
// jobs are not affected.
func (d *troubled) told(j schema.JobInfo, files ...string) {
	d.t.Helper()
	d.mu.Lock()
	failed := slices.Clone(d.failed[j.Handle])
	d.mu.Unlock()
	if len(failed) != 1 || j.OutputFileError == nil || failed[0] != *j.OutputFileError {
		d.t.Fatalf("job %d: the event has %+v, and JobInfo has %+v", j.Handle, failed, j.OutputFileError)
	}
	file, err := filepath.Rel(*j.OutputDirectory, failed[0].Path)
	if err != nil || failed[0].Reason != d.reason || !slices.Contains(files, file) {
		d.t.Errorf("job %d: the event has %+v; want one of %q of %s, and %s", j.Handle, failed[0], files, *j.OutputDirectory, d.reason)
	}
	d.lives(1)
}

// wellStored checks that a job's files are complete.
func (d *troubled) wellStored(j schema.JobInfo) {
	d.t.Helper()
	if j.OutputFileError != nil {
		d.t.Errorf("job %d: %+v", j.Handle, j.OutputFileError)
	}
	n := j.Streams["stdout"].NextOffset
	if b, err := os.ReadFile(filepath.Join(*j.OutputDirectory, "stdout.txt")); err != nil || !bytes.Equal(b, rulerAt(0, int(n))) {
		d.t.Errorf("job %d: the file has %d bytes, which are not the %d; %v", j.Handle, len(b), n, err)
	}
	d.validInfo(j)
}

// validInfo checks that the stored information about a job is valid, and that no temporary file of it remains.
func (d *troubled) validInfo(j schema.JobInfo) {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(*j.OutputDirectory, "info.json"))
	if err == nil {
		err = schema.ValidateStored(b)
	}
	if err != nil {
		d.t.Errorf("info.json of job %d: %v", j.Handle, err)
	}
	d.noScraps(j)
}

func (d *troubled) noScraps(j schema.JobInfo) {
	d.t.Helper()
	all, err := os.ReadDir(*j.OutputDirectory)
	if err != nil {
		d.t.Error(err)
	}
	for _, f := range all {
		if !slices.Contains([]string{"info.json", "stdout.txt", "session.cast"}, f.Name()) {
			d.t.Errorf("job %d has left %s", j.Handle, f.Name())
		}
	}
}

// wholeLines checks that a recording is valid as far as it goes, and returns its number of lines.
func wholeLines(t *testing.T, j schema.JobInfo) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(deref(t, j.OutputDirectory), "session.cast"))
	if err != nil {
		t.Error(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	last := len(lines) - 1
	for i, line := range lines[:last] {
		if !json.Valid(line) || (line[0] == '[') != (i > 0) {
			t.Errorf("line %d is %.100q", i+1, line)
		}
	}
	if len(lines[last]) > 0 {
		t.Errorf("it ends in the middle of a line: %.100q", lines[last])
	}
	return last
}

// TestFullDiskWhileJobsWrite checks that a full disk costs only the data that cannot be stored: output, a recording or
// the information about a job. The failure is reported once, the client gets every byte, other jobs and the server are
// not affected, and later data is stored again when there is room.
func TestFullDiskWhileJobsWrite(t *testing.T) {
	if ownMounts(t) {
		noRoom(t, mountDisk(t, "3m"), "no space left on device")
	}
}

// TestQuotaWhileJobsWrite does the same with a quota.
func TestQuotaWhileJobsWrite(t *testing.T) {
	if ownMounts(t) {
		noRoom(t, mountQuota(t, "3m"), "disk quota exceeded")
	}
}

func noRoom(t *testing.T, disk, reason string) {
	d := startTroubled(t, disk, reason)
	flood := d.heardAll(d.start(ruler(8<<20), nil), 8<<20)
	d.told(flood, "stdout.txt", "info.json") // the first one to fail
	d.newest(flood)
	d.noScraps(flood)
	var r schema.JobReadResult
	d.call(t, "job/read", map[string]any{"handle": flood.Handle, "stream": "stdout", "offset": 0, "maxBytes": 1 << 20}, &r)
	if r.Text == nil || *r.Text != string(rulerAt(0, 1<<20)) {
		t.Error("what was stored before cannot be read")
	}
	d.call(t, "job/remove", map[string]any{"handle": flood.Handle}, nil)

	// There is room for the output but not for its recording. Removing a partial line may need room too, which becomes
	// free before the job's end.
	filler := filepath.Join(disk, "filler")
	fill(t, filler, 512<<10)
	recorded := d.start(ruler(1280<<10)+"; read x", map[string]any{"record": true})
	d.awaitFailure(recorded)
	remove(t, filler)
	d.call(t, "job/write", map[string]any{"handle": recorded, "input": "\n"}, nil)
	taped := d.heardAll(recorded, 1280<<10)
	d.told(taped, "session.cast", "stdout.txt", "info.json")
	d.newest(taped)
	if n := wholeLines(t, taped); n < 2 {
		t.Errorf("the recording has %d lines", n)
	}
	d.call(t, "job/remove", map[string]any{"handle": taped.Handle}, nil)

	fill(t, filler, 8<<20)
	silent := d.heardAll(d.start("true", nil), 0)
	d.told(silent, "info.json", ".")
	d.validInfo(d.get(1))

	remove(t, filler)
	again := d.heardAll(d.start(ruler(1<<20), map[string]any{"record": true}), 1<<20)
	d.wellStored(again)
	if n := wholeLines(t, again); n < 2 {
		t.Errorf("with room again the recording has %d lines", n)
	}
	d.lives(1)
	d.shutDown(t)
	// The information about the jobs' ends was stored when there was room again.
	for _, j := range []schema.JobInfo{again, silent} {
		if got := jobsOf(t, d.state)[j.Handle]; got.state() != "exit 0" {
			t.Errorf("job %d is %q", j.Handle, got.state())
		}
	}
}

// fill creates a file of up to this size, or as large as the disk allows.
func fill(t *testing.T, path string, most int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 64 << 10; size > 0; size /= 2 {
		for err = nil; err == nil && most >= size; most -= size {
			_, err = f.Write(make([]byte, size))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// remove deletes a file, and returns when its space is free.
func remove(t *testing.T, path string) {
	t.Helper()
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := errors.Join(os.Remove(path), unix.Syncfs(int(dir.Fd()))); err != nil {
		t.Fatal(err)
	}
}

// TestDiskBecomesReadOnly makes the disk read-only, as after an error, while jobs with files on it run. The failure of
// each is reported once; stored output stays, and later output is kept in memory.
func TestDiskBecomesReadOnly(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	disk, abort := mountFragile(t)
	d := startTroubled(t, disk, "read-only file system")
	const half = 1 << 20
	// A shell reads the pipe, because getline of mawk reads until its buffer is full.
	halves := strings.Replace(ruler(2*half), ") printf", fmt.Sprintf(`) { if (i == %d) { fflush(); system("read line") } printf`, half), 1)
	halves = strings.TrimSuffix(halves, " }'") + " } }'"
	writes := d.start(halves, map[string]any{"record": true})
	var w schema.JobWaitResult
	d.call(t, "job/wait", map[string]any{"handle": writes, "until": []map[string]any{{"bytes": half}}, "from": "start", "maxBytes": 0}, &w)
	if w.Outcome.Reason != schema.OutcomeReasonBytes {
		t.Fatalf("the first half: %+v", w.Outcome)
	}
	d.awaitInfo(writes)
	abort()
	d.call(t, "job/write", map[string]any{"handle": writes, "input": "\n"}, nil)
	j := d.heardAll(writes, 2*half)
	d.told(j, "stdout.txt", "session.cast")
	d.newest(j)
	if b, err := os.ReadFile(filepath.Join(deref(t, j.OutputDirectory), "stdout.txt")); err != nil || !bytes.Equal(b, rulerAt(0, half)) {
		t.Errorf("the file has %d bytes, which are not the first half; %v", len(b), err)
	}
	if n := wholeLines(t, j); n < 2 {
		t.Errorf("the recording has %d lines", n)
	}
	d.validInfo(j)
	late := d.heardAll(d.start(ruler(1<<20), nil), 1<<20)
	if late.OutputFileError == nil || late.OutputFileError.Reason != d.reason {
		t.Errorf("one that began later: %+v", late.OutputFileError)
	}
	d.newest(late)
	d.lives(1)
	d.shutDown(t)
}
