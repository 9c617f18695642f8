package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A diskServer is a server with a disk that a test causes trouble with.
type diskServer struct {
	*served
	t     *testing.T
	state string
	id    string
}

func startOnDisk(t *testing.T, state string) *diskServer {
	t.Helper()
	needJobs(t)
	d := &diskServer{startServed(t), t, state, ""}
	d.initialize()
	return d
}

func (d *diskServer) initialize() {
	d.t.Helper()
	var r schema.InitializeResult
	d.call(d.t, "initialize", schema.InitializeParams{Options: &schema.Options{
		Events: []string{}, Persist: &schema.PersistOptions{Directory: &d.state}, Limits: &schema.LimitOptions{SpoolMemoryBytes: ptr(int64(1 << 20))},
	}}, &r)
	d.id = r.SessionID
}

// run runs a command to its end, and returns the information about the job.
func (d *diskServer) run(command string) schema.JobInfo {
	d.t.Helper()
	var r schema.JobStartResult
	d.call(d.t, "job/start", map[string]any{
		"command": command, "mode": "pipe", "stderr": "merge",
		"wait": map[string]any{"until": []map[string]any{{"closed": true}}, "maxBytes": 0, "timeoutMs": watchdog.Milliseconds()},
	}, &r)
	j := d.get(r.Job.Handle)
	if j.Status != schema.StatusClosed || j.Exit == nil || j.Exit.Code == nil || *j.Exit.Code != 0 {
		d.t.Errorf("%s: %s, %+v", command, j.Status, j.Exit)
	}
	return j
}

func (d *diskServer) get(handle int64) schema.JobInfo {
	d.t.Helper()
	var r schema.JobGetResult
	d.call(d.t, "job/get", map[string]any{"handle": handle}, &r)
	return r.Job
}

// fails checks that the job's files have failed for this reason, and that its newest output can still be read.
func (d *diskServer) fails(j schema.JobInfo, reason string) {
	d.t.Helper()
	if j.OutputFileError == nil || j.OutputFileError.Reason != reason || !strings.HasPrefix(j.OutputFileError.Path, d.state) {
		d.t.Errorf("job %d: the error is %+v, not %s", j.Handle, j.OutputFileError, reason)
	}
	d.newest(j)
}

func (d *diskServer) newest(j schema.JobInfo) {
	d.t.Helper()
	end := j.Streams["stdout"].NextOffset
	var r schema.JobReadResult
	d.call(d.t, "job/read", map[string]any{"handle": j.Handle, "stream": "stdout", "offset": -1000}, &r)
	if r.Text == nil || *r.Text != string(rulerAt(end-1000, 1000)) {
		d.t.Errorf("job %d: the end of its %d bytes is wrong", j.Handle, end)
	}
}

// lives checks that a job that ran all the time still works.
func (d *diskServer) lives(handle int64) {
	d.t.Helper()
	var r schema.JobWriteResult
	d.call(d.t, "job/write", map[string]any{
		"handle": handle, "input": "ping", "appendNewline": true, "wait": map[string]any{"until": []map[string]any{{"pattern": "got ping"}}},
	}, &r)
	if r.Outcome == nil || r.Outcome.Reason != schema.OutcomeReasonPattern {
		d.t.Errorf("the other job: %+v", r.Outcome)
	}
}

const answerer = `while read x; do echo "got $x"; done`

// shelldJobs runs "shelld jobs" with args; it must exit with this status.
func shelldJobs(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, log strings.Builder
	cmd := exec.CommandContext(t.Context(), "shelld", append([]string{"jobs"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
		t.Errorf("shelld jobs %q: %v\n%s%s", args, err, &out, &log)
	}
	return out.String(), log.String()
}

// TestFullDisk checks that output that cannot be stored is reported and kept in memory, that other jobs are not
// affected, and that the disk is used again when there is room.
func TestFullDisk(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	d := startOnDisk(t, filepath.Join(mountDisk(t, "3m"), "state"))
	d.call(t, "job/start", map[string]any{"command": answerer}, nil)
	d.lives(1)
	first := d.run(ruler(8 << 20))
	d.fails(first, "no space left on device")
	var r schema.JobReadResult
	d.call(t, "job/read", map[string]any{"handle": first.Handle, "stream": "stdout", "offset": 0, "maxBytes": 5000}, &r)
	if r.Text == nil || *r.Text != string(rulerAt(0, 5000)) {
		t.Error("what was stored before cannot be read")
	}
	d.fails(d.run(ruler(100<<10)), "no space left on device")
	d.lives(1)
	d.call(t, "job/remove", map[string]any{"handle": first.Handle}, nil)
	again := d.run(ruler(100 << 10))
	if again.OutputFileError != nil {
		t.Errorf("with room again: %+v", again.OutputFileError)
	}
	d.newest(again)
	d.lives(1)
	d.shutDown(t)
	if j := jobsOf(t, d.state)[again.Handle]; j.state() != "exit 0" {
		t.Errorf("job %d is %s", again.Handle, j.state())
	}
}

// TestKilledOnAFullDisk checks that jobs that cannot be finished are reported, can be read, and can be deleted to make
// room.
func TestKilledOnAFullDisk(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	d := startOnDisk(t, filepath.Join(mountDisk(t, "3m"), "state"))
	d.call(t, "job/start", map[string]any{"command": answerer}, nil)
	d.lives(1)
	d.run(ruler(8 << 20))
	d.kill(t)
	list, _ := shelldJobs(t, 0, "-dir", d.state)
	if !strings.Contains(list, "/1 ") || !strings.Contains(list, "/2 ") || !strings.Contains(list, "lost") {
		t.Errorf("the list is\n%s", list)
	}
	out, log := shelldJobs(t, 0, "tail", "last", "-n", "1", "-dir", d.state)
	if !strings.HasSuffix(out, "x\n") {
		t.Errorf("the tail is %q; %s", out, log)
	}
	if out, log = shelldJobs(t, 0, "prune", "-all", "-dir", d.state); !strings.HasPrefix(out, "2 jobs deleted") {
		t.Errorf("pruned: %s%s", out, log)
	}
	if left, err := filepath.Glob(filepath.Join(d.state, "[0-9]*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestReadOnlyDisk checks that no server stores files on a read-only disk, and that stored jobs can be read.
func TestReadOnlyDisk(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	dir := mountDisk(t, "3m")
	state := filepath.Join(dir, "state")
	d := startOnDisk(t, state)
	d.run(ruler(rulerLine))
	d.call(t, "job/start", map[string]any{"command": answerer}, nil)
	d.lives(2)
	d.kill(t)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	list, log := shelldJobs(t, 0, "-dir", state)
	if !strings.Contains(list, "exit 0") || !strings.Contains(list, "lost") || log != "" {
		t.Errorf("the list is\n%s%s", list, log)
	}
	if out, _ := shelldJobs(t, 0, "tail", "last", "-dir", state); out != "ping\ngot ping\n" {
		t.Errorf("the tail is %q", out)
	}
	if _, log := shelldJobs(t, 1, "prune", "-dir", state); !strings.Contains(log, "read-only file system") {
		t.Errorf("prune says %q", log)
	}
	s := startServed(t)
	err := s.client.Call(t.Context(), "initialize", schema.InitializeParams{Options: &schema.Options{Persist: &schema.PersistOptions{Directory: &state}}}, nil)
	if e, ok := errors.AsType[*client.Error](err); !ok || !strings.Contains(e.Message, "read-only file system") {
		t.Errorf("initialize: %v", err)
	}
	// A failure in the default directory is not an error: output is then kept in memory.
	s.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{Persist: &schema.PersistOptions{Mode: ptr(schema.PersistModeMemory)}}}, nil)
	s.shutDown(t)
}

// TestPermissionLost takes the permissions on the directory from a running server.
func TestPermissionLost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can revoke permissions on a directory")
	}
	if !ownMounts(t) {
		return
	}
	state := filepath.Join(mountDisk(t, "20m"), "state")
	const nobody = 65534
	if err := errors.Join(os.Mkdir(state, 0o700), os.Chown(state, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	d := &diskServer{startAs(t, nobody), t, state, ""}
	d.initialize()
	d.call(t, "job/start", map[string]any{"command": answerer, "cwd": "/"}, nil)
	d.lives(1)
	if j := d.run("cd /; " + ruler(1<<20)); j.OutputFileError != nil {
		t.Errorf("before: %+v", j.OutputFileError)
	}
	session := filepath.Join(state, d.id)
	if err := os.Chown(session, 0, 0); err != nil {
		t.Fatal(err)
	}
	d.fails(d.run("cd /; "+ruler(1<<20)), "permission denied")
	d.lives(1)
	if err := os.Chown(session, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if j := d.run("cd /; " + ruler(1<<20)); j.OutputFileError != nil {
		t.Errorf("when it is back: %+v", j.OutputFileError)
	}
	d.lives(1)
	d.shutDown(t)
}

// startAs starts a server as another user.
func startAs(t *testing.T, uid uint32) *served {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "shelld")
	copyProgram(t, "shelld", path)
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) { // Other users have no access to the directories of tests.
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return startWith(t, func(client.Event) {}, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = path, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	})
}
