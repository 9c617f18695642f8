package main

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// Doctor must report whether jobs can be run even if PATH is wrong. So it looks for the programs that it runs outside
// PATH too, and uses our own binary if it finds none.

// usualDirectories are the usual directories of true, sh and sleep.
var usualDirectories = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// shortCommand returns a command that ends at once, with its absolute path.
func shortCommand() []string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), usualDirectories...) {
		if path, err := exec.LookPath(filepath.Join(dir, "true")); err == nil && filepath.IsAbs(path) {
			return []string{path}
		}
	}
	if own, err := os.Executable(); err == nil {
		return []string{own, "version"}
	}
	return []string{"true"}
}

func (t *trial) shortName() string {
	return strings.Join(append([]string{filepath.Base(t.short[0])}, t.short[1:]...), " ")
}

// widePath returns our PATH, followed by the usual directories.
func widePath() string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	return strings.Join(append(dirs, usualDirectories...), string(filepath.ListSeparator))
}

// isShort reports whether the error is a lack of a resource that an administrator can raise.
func isShort(err error) bool { return adviceFor(err, "") != "" }

// shortages lists the errors of the system for exhausted resources, with advice.
var shortages = []struct {
	errno  syscall.Errno
	advice string
}{
	{syscall.EMFILE, "raise the limit on open files: ulimit -n 2560"},
	{syscall.ENFILE, "raise the system's limit on open files (sysctl fs.file-max), or end the processes that hold them"},
	{syscall.EAGAIN, "raise the limits on processes: ulimit -u, and pids.max of the control group"},
	{syscall.ENOMEM, "free memory, or raise the memory limit of the control group"},
}

// adviceFor returns the advice for an exhausted resource; for any other error it returns otherwise.
func adviceFor(err error, otherwise string) string {
	call, _ := errors.AsType[*client.Error](err)
	refused := call != nil && call.Kind == schema.KindResourceUnavailable
	for _, s := range shortages {
		if errors.Is(err, s.errno) || refused && strings.Contains(call.Message, s.errno.Error()) {
			return s.advice
		}
	}
	if refused {
		return cmp.Or(otherwise, "raise the limits of shelld's processes: ulimit -a shows them")
	}
	return otherwise
}

// withoutProc corrects the reason for a keeper that has not started if /proc is missing: keepers are started from it.
func withoutProc(d *diagnosis) {
	var keeper, proc *check
	for i := range d.Checks {
		switch d.Checks[i].Name {
		case "keeper":
			keeper = &d.Checks[i]
		case "proc":
			proc = &d.Checks[i]
		}
	}
	if keeper != nil && proc != nil && keeper.Status == jobs.GradeMissing && proc.Status == jobs.GradeMissing {
		keeper.Reason, keeper.Advice = "/proc is missing, and keepers are started from it", proc.Advice
	}
}

// verdict returns a sentence that says whether jobs can be run, and with which limits.
func (d *diagnosis) verdict() string {
	if !d.CanRun {
		return "Jobs cannot be run here."
	}
	var bad []string
	for _, c := range d.Checks {
		switch c.Name {
		case "pipeJobs", "ptyJobs", "treeControl":
			if c.Status != jobs.GradeOK {
				bad = append(bad, `"`+checkTitles[checkOrder(c.Name)][1]+`"`)
			}
		}
	}
	if len(bad) > 0 {
		return "Jobs can be run here, but with limits: see " + strings.Join(bad, ", ") + "."
	}
	return "Jobs can be run here."
}
