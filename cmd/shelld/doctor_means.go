package main

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"shelld/jobs"
	"shelld/rpc"
	"shelld/schema"
)

// Whether jobs can be run is one question, and what there is on PATH another. So what
// doctor runs is looked for beyond PATH, and is our own binary where there is nothing.

// usualDirectories are where systems keep true, sh and sleep.
var usualDirectories = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// shortCommand is a command that is over at once, by its absolute path.
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

// widePath is our PATH, and then the usual directories.
func widePath() string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	return strings.Join(append(dirs, usualDirectories...), string(filepath.ListSeparator))
}

// isShort says whether something has run out that there could be more of.
func isShort(err error) bool { return adviceFor(err, "") != "" }

// shortages are the system's words for what has run out, and what to do about each.
var shortages = []struct {
	errno  syscall.Errno
	advice string
}{
	{syscall.EMFILE, "raise the limit on open files: ulimit -n 2560"},
	{syscall.ENFILE, "raise the system's limit on open files (sysctl fs.file-max), or end what holds them"},
	{syscall.EAGAIN, "raise the limits on processes: ulimit -u, and pids.max of the control group"},
	{syscall.ENOMEM, "make memory free, or raise what the control group may take"},
}

// adviceFor says what to do where something has run out, and else what is given.
func adviceFor(err error, otherwise string) string {
	call, _ := errors.AsType[*rpc.CallError](err)
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

// withoutProc says of a keeper that did not start where /proc is missing that this is
// why: it is started from there.
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

// verdict is whether jobs can be run, and what of them cannot.
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
		return "Jobs can be run here, but not as they should: see " + strings.Join(bad, ", ") + "."
	}
	return "Jobs can be run here."
}
