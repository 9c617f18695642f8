package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// System returns the probes of the kernel and of its configuration.
func System() []Probe {
	return []Probe{
		{"subreaper", subreaper},
		{"proc", procFiles},
		{"pidfd", pidfd},
		{"cgroup", func() Finding { return cgroup("/proc/self/cgroup", "/sys/fs/cgroup") }},
		{"files", files},
		{"processes", processes},
		{"addressSpace", addressSpace},
	}
}

// Kernel returns the kernel's name and release.
func Kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// subreaper makes this process a subreaper, as every server does at its start.
func subreaper() Finding {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return Finding{Grade: Missing, Found: "refused", Reason: err.Error(),
			Advice: "allow prctl(PR_SET_CHILD_SUBREAPER) in the seccomp filter: without it, the end of a job's daemons is not noticed"}
	}
	return Finding{Grade: OK, Found: "orphans of a job become children of its keeper"}
}

// procFiles reads the files that a kill reads: the lists of children.
func procFiles() Finding {
	if _, err := os.ReadFile("/proc/self/stat"); err != nil {
		return Finding{Grade: Missing, Found: "/proc cannot be read", Reason: err.Error(), Advice: "mount it: mount -t proc proc /proc"}
	}
	facts := map[string]any{"childrenLists": true, "othersVisible": true}
	f := Finding{Grade: OK, Found: "/proc has lists of children", Facts: facts}
	if _, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		facts["childrenLists"] = false
		f.Grade, f.Found = Limited, "/proc has no lists of children"
		f.Reason = "the kernel was built without CONFIG_PROC_CHILDREN"
		f.Advice = "no action needed: all processes are inspected instead, which is slower"
	}
	if _, err := os.ReadFile("/proc/1/stat"); err != nil {
		facts["othersVisible"] = false
		f.Found += ", and hides processes of other users (hidepid)"
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // Without it nothing is reported about hidepid.
	if mode := hidepid(string(mounts)); mode != "" && os.Geteuid() != 0 {
		facts["hidepid"] = mode
		f.hidesOwn(facts["childrenLists"] == true)
	}
	return f
}

// hidesOwn adds the effect of hidepid on the processes of this user.
func (f *Finding) hidesOwn(listed bool) {
	const who = "hidepid also hides processes of this user that make themselves undumpable, such as ssh-agent"
	if f.Grade = Limited; listed {
		f.Reason = who
		f.Advice = "no action needed: the keeper lists them as its children and ends them; reports show them as [?]"
		return
	}
	f.Reason += "; " + who + ": no keeper can list or end them"
	f.Advice = "mount /proc without hidepid, or use a kernel with CONFIG_PROC_CHILDREN"
}

// hidepid returns the mount option of /proc that hides processes, or "" if it hides none.
func hidepid(mountinfo string) (mode string) {
	for line := range strings.Lines(mountinfo) {
		mount, super, ok := strings.Cut(line, " - ")
		at := strings.Fields(mount)
		options := strings.Fields(super)
		if !ok || len(at) < 5 || at[4] != "/proc" || len(options) < 3 {
			continue
		}
		mode = "" // The last mount covers the others.
		for option := range strings.SplitSeq(options[2], ",") {
			if value, is := strings.CutPrefix(option, "hidepid="); is && value != "0" && value != "off" {
				mode = value
			}
		}
	}
	return mode
}

// pidfd opens a pidfd of this process, and checks whether it may be signalled.
func pidfd() Finding {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		err = unix.PidfdSendSignal(fd, 0, nil, 0)
		_ = unix.Close(fd) // Nothing was written.
	}
	if err != nil {
		return Finding{Grade: Limited, Found: "refused", Reason: "pidfd_open: " + err.Error(),
			Advice: "use kernel 5.3 or later, or allow it in the seccomp filter: without it, the end of orphans is noticed later"}
	}
	return Finding{Grade: OK, Found: "pidfd_open and pidfd_send_signal work"}
}

// cgroup reports whether a group of our own could be created and killed as one.
func cgroup(self, root string) Finding {
	unused := "no action needed: keepers end all processes of a job, with or without cgroups"
	limited := func(found, reason string) Finding {
		return Finding{Grade: Limited, Found: found, Reason: reason, Advice: unused}
	}
	text, err := os.ReadFile(self)
	if err != nil {
		return limited("not readable", err.Error())
	}
	own, ok := "", false
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); is {
			own, ok = rest, true
		}
	}
	dir := filepath.Join(root, own)
	if !ok || !exists(filepath.Join(dir, "cgroup.procs")) {
		dir = filepath.Join(root, "unified", own)
	}
	switch {
	case !ok || !exists(filepath.Join(dir, "cgroup.procs")):
		return limited("no cgroup v2", "the unified hierarchy is not mounted")
	case !exists(filepath.Join(dir, "cgroup.kill")) && own != "/":
		return limited("no cgroup.kill in "+dir, "the kernel is older than 5.14")
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return limited("cgroup.kill exists, but "+dir+" is not writable", err.Error())
	}
	return Finding{Grade: OK, Found: "groups can be created in " + dir}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// The minimum resources of one job: its streams, its keeper's socket, and the files that are open while it starts; its
// keeper and its leader.
const (
	filesPerJob     = 5
	processesPerJob = 2
	usualJobs       = 512 // the default of limits.maxJobs
)

func files() Finding {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return Finding{Grade: Limited, Found: "not known", Reason: err.Error(), Advice: "look at ulimit -n"}
	}
	f := Finding{Grade: OK, Found: fmt.Sprintf("%s open files", amount(l.Cur)), Facts: map[string]any{"soft": limitFact(l.Cur), "hard": limitFact(l.Max)}}
	if l.Cur < usualJobs*filesPerJob {
		f.Grade, f.Reason = Limited, fmt.Sprintf("that is enough for about %d jobs at once", l.Cur/filesPerJob)
		f.Advice = fmt.Sprintf("raise it if that is too few: ulimit -n %d", usualJobs*filesPerJob)
	}
	return f
}

func processes() Finding {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil {
		return Finding{Grade: Limited, Found: "not known", Reason: err.Error(), Advice: "look at ulimit -u"}
	}
	f := Finding{Grade: OK, Found: fmt.Sprintf("%s processes of this user", amount(l.Cur)), Facts: map[string]any{"soft": limitFact(l.Cur), "hard": limitFact(l.Max)}}
	if os.Geteuid() == 0 {
		f.Found += ", which does not bind root"
		return f
	}
	if l.Cur < usualJobs*processesPerJob {
		f.Grade, f.Reason = Limited, fmt.Sprintf("that is enough for about %d jobs at once, if nothing else runs", l.Cur/processesPerJob)
		f.Advice = fmt.Sprintf("raise it if that is too few: ulimit -u %d", usualJobs*processesPerJob*2)
	}
	return f
}

// enoughAddresses is the address space with which a process of shelld can always start. It uses a few megabytes of it,
// but Go reserves some 1.4 GB before any code of ours runs.
const enoughAddresses = 2 << 30

func addressSpace() Finding {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &l); err != nil {
		return Finding{Grade: Limited, Found: "not known", Reason: err.Error(), Advice: "look at ulimit -v"}
	}
	f := Finding{Grade: OK, Found: "no limit", Facts: map[string]any{"soft": limitFact(l.Cur), "hard": limitFact(l.Max)}}
	if l.Cur == unix.RLIM_INFINITY {
		return f
	}
	f.Found = fmt.Sprintf("%d MiB of address space for each process", l.Cur>>20)
	if l.Cur < enoughAddresses {
		f.Grade, f.Reason = Limited, "a server or a keeper may crash at its start with an error of the Go runtime (failed to reserve page summary memory, out of memory)"
		f.Advice = "raise it: ulimit -v 2097152; to limit a job's memory, use limits.memoryBytes"
	}
	return f
}

func amount(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "any number of"
	}
	return strconv.FormatUint(n, 10)
}

// limitFact returns nil, which becomes null, if there is no limit.
func limitFact(n uint64) any {
	if n == unix.RLIM_INFINITY {
		return nil
	}
	return n
}
