package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"shelld/jobs"
	"shelld/rpc"
	"shelld/schema"
)

// examined is what doctor finds where a shell has prepared the place.
func examined(t *testing.T, script string) (d diagnosis, text string) {
	t.Helper()
	needJobs(t)
	shelld, err := exec.LookPath("shelld")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command("sh", "-c", script+` && exec "$0" doctor -json`, shelld).Output() // The status tells of the jobs.
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return d, d.table(200)
}

// With few descriptors some jobs can be run and some cannot, or none. Whatever it is,
// what is said of each of them, the advice and the verdict go together.
func TestDoctorWithFewFiles(t *testing.T) {
	short := 0
	for n := 8; n <= 32; n += 4 {
		d, text := examined(t, fmt.Sprint("ulimit -n ", n))
		if strings.Contains(text, "fault of shelld") {
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

// Without /proc no keeper starts, and that is what has to be said first.
func TestDoctorWithoutProc(t *testing.T) {
	const hide = "umount -l /proc"
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
		return &rpc.CallError{ErrorObject: schema.ErrorObject{Message: message}, Kind: kind}
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
