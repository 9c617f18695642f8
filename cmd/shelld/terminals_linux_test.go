package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/schema"
)

// lastTerminals replaces the directory in which the kernel reports the number of terminals, for this process and its
// children.
func lastTerminals(dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount(dir, "/proc/sys/kernel/pty", "", unix.MS_BIND, "")
}

// TestServerLeavesLastTerminals checks that the last terminals are left to other programs: a request for a terminal
// fails with their number, and other jobs run on pipes, until a terminal is free again.
func TestServerLeavesLastTerminals(t *testing.T) {
	probe := exec.Command("/proc/self/exe", "-test.run=^$")
	probe.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if err := probe.Run(); err != nil {
		t.Skip("may not hide a directory of /proc from a process:", err)
	}
	dir := t.TempDir()
	count := func(name, n string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(n+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	count("nr", "990")
	count("max", "1000")
	s := startBound(t, "last-terminals", dir)
	for _, method := range []string{"job/start", "job/run"} {
		data := s.refuses(t, schema.KindPtyUnavailable, method, object{"argv": []string{"true"}, "mode": "pty"})
		if data["inUse"] != 990.0 || data["max"] != 1000.0 || data["retryable"] != true || data["reason"] != nil {
			t.Errorf("%s: data %v", method, data)
		}
	}
	var r schema.JobStartResult
	s.call(t, "job/start", object{"argv": []string{"true"}}, &r)
	if r.Job.Mode != schema.ModePipe || r.Job.ModeReason == nil || !strings.Contains(*r.Job.ModeReason, "990 of the machine's 1000 terminals") {
		t.Errorf("mode %s, because %v", r.Job.Mode, r.Job.ModeReason)
	}
	count("nr", "900")
	s.call(t, "job/start", object{"argv": []string{"true"}}, &r)
	if r.Job.Mode != schema.ModePty {
		t.Errorf("mode %s", r.Job.Mode)
	}
}
