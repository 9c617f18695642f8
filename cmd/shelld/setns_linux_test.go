package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/schema"
)

// TestSetnsIsNotReached creates an orphan in a PID namespace from outside the job: it is reparented to the init of that
// namespace. docs/ending.md lists this among the limits: the job is closed without the orphan.
func TestSetnsIsNotReached(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can enter the pid namespace of any process")
	}
	for _, name := range []string{"nsenter", "setsid"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("SHELLD_CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	holder := exec.Command("sleep", "600")
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	if err := holder.Start(); err != nil {
		t.Skipf("there can be no pid namespace: %v", err)
	}
	defer func() {
		_ = holder.Process.Kill() // It ends all processes in the namespace.
		_ = holder.Wait()         // The status is known.
	}()
	dir := t.TempDir()
	s := startTortureServer(t, buildTorture(t), 0, 0, every, nil)
	var r schema.JobRunResult
	s.call(t, "job/run", map[string]any{"argv": []string{
		"nsenter", "-t", strconv.Itoa(holder.Process.Pid), "-p", "sh", "-c",
		"setsid sh -c 'echo $$ >" + filepath.Join(dir, "inner") + "; exec sleep 600' </dev/null >/dev/null 2>&1 & while ! [ -s " + filepath.Join(dir, "inner") + " ]; do :; done",
	}, "cwd": "/"}, &r)
	if r.Exit == nil || r.Exit.Code == nil || *r.Exit.Code != 0 {
		t.Fatalf("%+v", r)
	}
	s.call(t, "job/wait", map[string]any{"handle": r.Job.Handle, "until": []any{map[string]any{"closed": true}}}, nil)
	left := inNamespaceOf(t, holder.Process.Pid)
	if len(left) != 1 {
		t.Fatalf("in the namespace are %v", left)
	}
	_ = holder.Process.Kill()
	_ = holder.Wait()
	awaitExit(fmt.Sprint(left[0]), watchdog)
	if _, alive := processOf(left[0]); alive {
		t.Errorf("process %d has outlived its namespace", left[0])
	}
}

// inNamespaceOf lists the children of a PID namespace's init.
func inNamespaceOf(t *testing.T, init int) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", init))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}
