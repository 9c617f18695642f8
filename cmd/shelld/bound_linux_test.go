package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// These servers run on a system that lacks something. The lack is set up in a process that then becomes the server:
// shelld-bound LACK [VALUE].
func init() { programs["shelld-bound"] = bound }

func bound() {
	runtime.LockOSThread() // The server inherits the filter of this thread.
	server, err := exec.LookPath("shelld")
	if err == nil {
		switch lack := os.Args[1]; lack {
		case "descriptors":
			err = limit(unix.RLIMIT_NOFILE, os.Args[2])
		case "file-size":
			err = limit(unix.RLIMIT_FSIZE, os.Args[2])
		case "terminals":
			err = refuseTerminals()
		case "last-terminals":
			err = lastTerminals(os.Args[2])
		default:
			err = fmt.Errorf("nothing is known of %q", lack)
		}
	}
	if err == nil {
		err = syscall.Exec(server, []string{server, "serve"}, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "shelld-bound:", err)
	os.Exit(3)
}

func limit(resource int, value string) error {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return err
	}
	// Package unix is not used, because Exec would restore the old limit.
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n})
}

// refuseTerminals makes the kernel return ENOSPC for every terminal that is unlocked for use, as it does for one too
// many. The real limit is not changed, because it affects the whole machine.
func refuseTerminals() error {
	const number, request = 0, 24 // Offsets in struct seccomp_data: of the number, and of the low half of the second argument.
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_IOCTL, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: request},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.TIOCSPTLCK, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSPC)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// startBound starts such a server and initializes it.
func startBound(t *testing.T, lack ...string) *served {
	t.Helper()
	s := beginBound(t, lack...)
	s.call(t, "initialize", schema.InitializeParams{RootDirectory: ptr(t.TempDir()), Options: &schema.Options{
		Events: []string{}, Limits: &schema.LimitOptions{ShutdownGraceMs: ptr(int64(0))},
	}}, nil)
	return s
}

// beginBound starts one without initializing it.
func beginBound(t *testing.T, lack ...string) *served {
	t.Helper()
	needJobs(t)
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	s := &served{cmd: exec.CommandContext(ctx, "shelld-bound", lack...), log: &bytes.Buffer{}}
	s.cmd.Stderr = s.log
	in, out := startPiped(t, s.cmd)
	s.client = client.NewConn(out, in, func(client.Event) {}, nil)
	t.Cleanup(func() {
		_ = in.Close() // This ends the server and its jobs.
		<-s.client.Done()
		_ = s.cmd.Wait() // The status shows only that no client has shut it down.
		cancel()
		if t.Failed() {
			t.Logf("the server logged:\n%s", s.log)
		}
	})
	return s
}

type object = map[string]any

// refuses checks that a request fails with an error of this kind, which the schema must list for its method. It returns
// the error's data.
func (s *served) refuses(t *testing.T, kind schema.Kind, method string, params any) (data object) {
	t.Helper()
	err := s.client.Call(t.Context(), method, params, nil)
	e, ok := err.(*client.Error)
	if !ok {
		t.Fatalf("%s %v: %v, want the error %s", method, params, err, kind)
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || data["kind"] != string(kind) || !schema.MayAnswer(method, string(kind)) {
		t.Fatalf("%s %v: %d %s %s, want %s", method, params, e.Code, e.Message, e.Data, kind)
	}
	return data
}

// ways returns starts that need different resources of the system.
func ways() []object {
	return []object{
		{"argv": []string{"true"}, "mode": "pipe"}, {"argv": []string{"true"}, "mode": "pty"}, {"argv": []string{"true"}},
		{"argv": []string{"true"}, "mode": "pipe", "stdin": "open"}, {"argv": []string{"true"}, "mode": "pipe", "stdin": object{"text": "x"}},
		{"argv": []string{"true"}, "mode": "pipe", "stdin": object{"file": "/dev/null"}},
		{"argv": []string{"true"}, "mode": "pipe", "stdoutFile": "out", "stderr": "merge"},
	}
}

// TestServerShortOfDescriptors checks that each start that lacks a descriptor returns a retryable error, and that a
// retry succeeds.
func TestServerShortOfDescriptors(t *testing.T) {
	s := startBound(t, "descriptors", "40")
	sleep := object{"argv": []string{"sleep", "300"}, "mode": "pipe", "group": "all", "stdin": "open"}
	// A failed start or a spare keeper frees descriptors for a moment, so jobs are added until the next request fails.
	// They have the same shape as the request: a job that needs fewer descriptors would always fit, even if the request
	// does not.
	short := func(method string, params object) (e *client.Error) {
		for range 60 {
			err := s.client.Call(t.Context(), method, params, nil)
			if e, ok := err.(*client.Error); ok {
				return e
			} else if err != nil {
				t.Fatal(err)
			}
			more := maps.Clone(params)
			more["argv"], more["group"] = sleep["argv"], sleep["group"]
			_ = s.client.Call(t.Context(), "job/start", more, nil) // It fails in the end, which is as good.
		}
		t.Fatalf("%s %v finds descriptors without end", method, params)
		return nil
	}
	errors := []*client.Error{short("job/start", sleep)}
	for _, params := range ways() {
		errors = append(errors, short("job/run", params))
	}
	for _, e := range errors {
		var data schema.ResourceUnavailableData
		if err := json.Unmarshal(e.Data, &data); err != nil || data.Kind != "resourceUnavailable" || !data.Retryable {
			t.Errorf("%s %s", e.Message, e.Data)
		}
		t.Log(e.Message)
	}
	s.call(t, "job/kill", object{"group": "all", "graceMs": 0}, nil)
	for _, params := range ways() {
		s.call(t, "job/run", params, nil)
	}
}

// TestReadShortOfDescriptors checks that stored output is not reported as lost if no descriptor is available to read
// it, and that no read skips it.
func TestReadShortOfDescriptors(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	s := startServed(t)
	s.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{Persist: &schema.PersistOptions{Directory: &state}}}, nil)
	s.call(t, "job/run", object{"command": "seq 10", "stderr": "merge"}, nil)
	none := func(soft uint64) {
		t.Helper()
		var all unix.Rlimit
		pid := s.cmd.Process.Pid
		err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &all)
		if all.Cur = soft; err == nil {
			err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &all, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	none(3)
	for method, params := range map[string]object{
		"job/read":   {"handle": 1, "stream": "stdout"},
		"job/search": {"handle": 1, "literal": "9"},
	} {
		if data := s.refuses(t, schema.KindResourceUnavailable, method, params); data["retryable"] != true {
			t.Errorf("%s: %v", method, data)
		}
	}
	none(200)
	var r schema.JobReadResult
	s.call(t, "job/read", object{"handle": 1, "stream": "stdout"}, &r)
	if r.Offset != 0 || r.Gap != nil || r.NextOffset != 21 {
		t.Errorf("read by the cursor after that: %+v", r)
	}
	s.call(t, "shutdown", struct{}{}, nil)
	_ = s.stdin.Close()
	<-s.client.Done()
	s.ended(t, 0)
}

// TestReadUnreadable checks that stored output that cannot be read is reported neither as lost nor as not matching;
// when it can be read again, reading continues at the cursor.
func TestReadUnreadable(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	s := startServed(t)
	var init schema.InitializeResult
	s.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{Persist: &schema.PersistOptions{Directory: &state}}}, &init)
	s.call(t, "job/run", object{"command": "seq 10", "stderr": "merge"}, nil)
	s.call(t, "job/wait", object{"handle": 1, "until": []object{{"closed": true}}}, nil)
	folder := filepath.Join(state, init.SessionID, "1")
	if err := errors.Join(os.Rename(folder, folder+".moved"), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method string
		params object
	}{
		{"job/read", object{"handle": 1, "stream": "stdout"}},
		{"job/read", object{"handle": 1, "stream": "stdout", "offset": 3}},
		{"job/search", object{"handle": 1, "literal": "9"}},
		{"job/search", object{"literal": "9", "reverse": true}},
	} {
		data := s.refuses(t, schema.KindOutputFileError, c.method, c.params)
		if data["path"] != filepath.Join(folder, "stdout.txt") || data["reason"] != unix.ENOTDIR.Error() {
			t.Errorf("%s %v: %v", c.method, c.params, data)
		}
	}
	wait := object{"handle": 1, "until": []object{{"pattern": "9"}}, "from": "start"}
	var w schema.JobWaitResult
	s.call(t, "job/wait", wait, &w)
	if w.Outcome.Reason != schema.OutcomeReasonPatternFailed {
		t.Errorf("a wait for what is stored ended with %s", w.Outcome.Reason)
	}
	if err := errors.Join(os.Remove(folder), os.Rename(folder+".moved", folder)); err != nil {
		t.Fatal(err)
	}
	var r schema.JobReadResult
	s.call(t, "job/read", object{"handle": 1, "stream": "stdout"}, &r)
	if r.Offset != 0 || r.Gap != nil || r.NextOffset != 21 {
		t.Errorf("read by the cursor after that: %+v", r)
	}
	s.call(t, "job/wait", wait, &w)
	if w.Outcome.Reason != schema.OutcomeReasonPattern {
		t.Errorf("a wait after that ended with %s", w.Outcome.Reason)
	}
}

// TestTooManyAllowedDirectories checks that each directory is held by a descriptor and that, if there are too few, all
// are released.
func TestTooManyAllowedDirectories(t *testing.T) {
	s := beginBound(t, "descriptors", "40")
	all := []string{"/usr"}
	for i := range 60 {
		all = append(all, filepath.Join(t.TempDir(), strconv.Itoa(i)))
		if err := os.Mkdir(all[len(all)-1], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	allow := func(n int) object { return object{"allowedDirectories": all[:n]} }
	s.refuses(t, schema.KindResourceUnavailable, "initialize", allow(len(all)))
	s.call(t, "initialize", allow(2), nil)
	s.call(t, "job/run", object{"argv": []string{"true"}, "cwd": "/usr"}, nil)
}

// TestServerWithoutTerminals checks that a request for a terminal fails with the reason, and that other jobs run on
// pipes and report the reason.
func TestServerWithoutTerminals(t *testing.T) {
	s := startBound(t, "terminals")
	for _, method := range []string{"job/start", "job/run"} {
		data := s.refuses(t, schema.KindPtyUnavailable, method, object{"argv": []string{"true"}, "mode": "pty"})
		if reason, _ := data["reason"].(string); reason != unix.ENOSPC.Error() {
			t.Errorf("%s: data %v", method, data)
		}
	}
	var r schema.JobStartResult
	s.call(t, "job/start", object{"command": "echo out; echo err >&2", "wait": object{"until": []object{{"closed": true}}}}, &r)
	if r.Job.Mode != schema.ModePipe || r.Job.ModeReason == nil || !strings.Contains(*r.Job.ModeReason, unix.ENOSPC.Error()) {
		t.Errorf("mode %s, because %v", r.Job.Mode, r.Job.ModeReason)
	}
	if out := r.Outcome.Output["stderr"].Text; out == nil || *out != "err\n" {
		t.Errorf("output %+v", r.Outcome.Output)
	}
}

// TestServerSurvivesInternalError checks that an unforeseen failure is reported as an internal error, and that the server goes
// on: here it cannot write the file from which a keeper reads a long command. The text for a job's stdin has a
// workaround, which the error names.
func TestServerSurvivesInternalError(t *testing.T) {
	s := startBound(t, "file-size", "0")
	for _, method := range []string{"job/start", "job/run"} {
		data := s.refuses(t, schema.KindInternalError, method, object{"argv": []string{"true", strings.Repeat("x", 16<<10)}})
		if len(data) != 1 {
			t.Errorf("%s: data %v", method, data)
		}
	}
	data := s.refuses(t, schema.KindResourceUnavailable, "job/run", object{"argv": []string{"cat"}, "stdin": object{"text": "x"}})
	if data["retryable"] != false {
		t.Errorf("data %v: trying again does not help", data)
	}
	s.call(t, "job/list", nil, nil)
}
