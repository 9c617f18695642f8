package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// examined returns the output of doctor after a shell script has prepared the environment.
func examined(t *testing.T, script string) (d diagnosis, text string) {
	t.Helper()
	needJobs(t)
	shelld, err := exec.LookPath("shelld")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command("sh", "-c", noMoreFiles+script+` && exec "$0" doctor -json`, shelld).Output() // The status depends on the jobs.
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return d, d.table(200)
}

// noMoreFiles closes descriptors that the tests have inherited from their own parent, which would count against a
// limit.
const noMoreFiles = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; "

// TestDoctorWithFewFiles runs doctor with few descriptors, with which some or all jobs fail. In each case the reasons,
// the advice and the verdict must be consistent.
func TestDoctorWithFewFiles(t *testing.T) {
	short := 0
	for n := 8; n <= 32; n += 4 {
		d, text := examined(t, fmt.Sprint("ulimit -n ", n))
		if strings.Contains(text, "bug in shelld") {
			t.Errorf("with %d files a fault is seen:\n%s", n, text)
		}
		bad := false
		for _, c := range d.Checks {
			bad = bad || c.Name == "pipeJobs" && c.Status != jobs.GradeOK
			if strings.Contains(c.Reason, syscall.EMFILE.Error()) {
				short++
				if !strings.Contains(c.Advice, "ulimit -n") || d.CanRun && c.Status != jobs.GradeLimited {
					t.Errorf("with %d files: %+v", n, c)
				}
			}
		}
		if plain := strings.HasSuffix(text, "\nJobs can be run here.\n"); plain && bad {
			t.Errorf("with %d files the verdict is not what was found:\n%s", n, text)
		}
	}
	if short == 0 {
		t.Error("no number of files was too small")
	}
}

// TestDoctorWithoutProc checks that doctor reports a missing /proc first, because no keeper can start without it.
func TestDoctorWithoutProc(t *testing.T) {
	const hide = "while umount -l /proc 2>/dev/null; do :; done; ! test -e /proc/self" // There may be several mounts above each other.
	if err := exec.Command("unshare", "-m", "sh", "-c", hide).Run(); err != nil {
		t.Skipf("/proc cannot be hidden here: %v", err)
	}
	d, text := examined(t, `exec unshare -m sh -c '`+hide+` && exec "$0" doctor -json' "$0"; true`)
	first := d.Checks[0]
	if d.CanRun || first.Status != jobs.GradeMissing || !strings.Contains(first.Reason, "/proc is missing") ||
		!strings.Contains(first.Advice, "mount -t proc") {
		t.Errorf("it says\n%s", text)
	}
}

func TestAdviceForShortages(t *testing.T) {
	refusal := func(kind schema.Kind, message string) error {
		return &client.Error{ErrorObject: schema.ErrorObject{Message: message}, Kind: kind}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{refusal(schema.KindResourceUnavailable, "no room (too many open files)"), "ulimit -n"},
		{refusal(schema.KindResourceUnavailable, "no room (resource temporarily unavailable)"), "ulimit -u"},
		{refusal(schema.KindResourceUnavailable, "no room (cannot allocate memory)"), "memory"},
		{fmt.Errorf("pipe: %w", syscall.EMFILE), "ulimit -n"},
		{refusal(schema.KindInternalError, "too many open files"), "otherwise"},
	} {
		if got := adviceFor(c.err, "otherwise"); !strings.Contains(got, c.want) {
			t.Errorf("%v: the advice is %q, not %q", c.err, got, c.want)
		}
	}
}

// TestStartWithFewFiles checks that too few descriptors to start are reported as an error and not with a crash. With
// enough to start, a server can report what it lacks.
func TestStartWithFewFiles(t *testing.T) {
	if testing.CoverMode() != "" {
		t.Skip("a program that is measured for coverage needs descriptors of its own when it exits")
	}
	shelld, err := exec.LookPath("shelld")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"serve", "run true", "doctor"} {
		refused := 0
		for n := 4; n <= 12; n++ {
			cmd := exec.Command("sh", "-c", fmt.Sprintf(noMoreFiles+`ulimit -n %d && exec "$0" %s`, n, command), shelld)
			cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n")
			var said strings.Builder
			cmd.Stderr = &said
			out, _ := cmd.Output() // The status depends on the command.
			if len(out) > 0 || cmd.ProcessState.Success() {
				continue
			}
			refused++
			if text := said.String(); strings.Contains(text, "goroutine ") || !strings.Contains(text, syscall.EMFILE.Error()) {
				t.Errorf("%s with %d files: %s", command, n, text)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no number of files was too small", command)
		}
	}
}

// TestDoctorWithFewAddresses checks that a limit on address space is reported before it ends a server.
func TestDoctorWithFewAddresses(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector alone takes more addresses than that")
	}
	d, _ := examined(t, "ulimit -v 2000000")
	for _, c := range d.Checks {
		if c.Name == "addressSpace" && c.Status == jobs.GradeLimited && strings.Contains(c.Advice, "ulimit -v") {
			return
		}
	}
	t.Errorf("%+v", d.Checks)
}

// TestDoctorHidepid checks that doctor reports a /proc that hides undumpable processes from their own user, and the
// consequences.
func TestDoctorHidepid(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount /proc with hidepid")
	}
	if !ownMounts(t) {
		return
	}
	bin := buildTorture(t)
	mountHiding(t, "invisible")
	for uid, want := range map[uint32]jobs.Grade{0: jobs.GradeOK, nobody: jobs.GradeLimited} {
		cmd := exec.Command(filepath.Join(bin, "shelld"), "doctor", "-json")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, _ := cmd.Output() // The status depends on the jobs.
		var d diagnosis
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		i := slices.IndexFunc(d.Checks, func(c check) bool { return c.Name == "proc" })
		if c := d.Checks[i]; c.Status != want || (want == jobs.GradeLimited) != strings.Contains(c.Reason, "hidepid") || !d.CanRun {
			t.Errorf("uid %d: %+v", uid, c)
		}
	}
}
