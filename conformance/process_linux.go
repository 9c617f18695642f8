package conformance

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// servers are the children that this process started and waits for. Any other process that becomes its child
// while it adopts orphans is a descendant of one of them. The lock is held while a server is started, so that
// every child is registered before it is seen.
var servers struct {
	sync.Mutex
	pids   map[int]bool
	before map[int]bool // children from before orphans were adopted
	homes  map[string]bool
}

func homeBegins(dir string) {
	servers.Lock()
	defer servers.Unlock()
	if servers.homes == nil {
		servers.homes = map[string]bool{}
	}
	servers.homes[dir] = true
}

func homeEnds(dir string) {
	servers.Lock()
	defer servers.Unlock()
	delete(servers.homes, dir)
}

// adoptOrphans makes this process the subreaper: processes whose parent ends become its children.
func adoptOrphans() error {
	const prSetChildSubreaper = 36
	servers.Lock()
	defer servers.Unlock()
	if servers.before != nil {
		return nil
	}
	servers.before = map[int]bool{}
	for _, pid := range children() {
		servers.before[pid] = true
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

func startServer(cmd *exec.Cmd) error {
	servers.Lock()
	defer servers.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if servers.pids == nil {
		servers.pids = map[int]bool{}
	}
	servers.pids[cmd.Process.Pid] = true
	return nil
}

func serverGone(cmd *exec.Cmd) {
	servers.Lock()
	defer servers.Unlock()
	delete(servers.pids, cmd.Process.Pid)
}

// reap reaps an adopted zombie.
func reap(pid int) {
	servers.Lock()
	defer servers.Unlock()
	if !servers.pids[pid] && !servers.before[pid] && servers.before != nil {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // The pid may not exist, or be another process's child.
	}
}

// killOrphans kills the processes that the servers of a home have left behind: the children of this process that
// have the directory in their environment and, if there is no other home, all adopted ones. Their own children are
// adopted in turn, so it repeats until there is none, for at most 5 s.
func killOrphans(dir string) {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if !killAdopted(dir) {
			return
		}
	}
}

func killAdopted(dir string) (found bool) {
	servers.Lock()
	defer servers.Unlock()
	if servers.before == nil {
		return false
	}
	alone := len(servers.homes) <= 1
	for _, pid := range children() {
		if servers.pids[pid] || servers.before[pid] {
			continue
		}
		// An ended process does not show which server it belonged to, so it is reaped in any case. Otherwise
		// hundreds of zombies would pile up before only one server runs.
		if ended, _ := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); ended == pid {
			found = true
			continue
		}
		if !alone && !knows(pid, dir) {
			continue
		}
		// It is a child of this process, so the pid cannot have been reused. The kill fails for a process of
		// another user, which stays.
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			_, _ = syscall.Wait4(pid, nil, 0, nil) // A killed child ends.
			found = true
		}
	}
	return found
}

// adopted lists the living children of this process that have a directory in their environment and are not servers
// that it has started itself.
func adopted(dir string) (pids []int) {
	servers.Lock()
	defer servers.Unlock()
	if servers.before == nil {
		return nil
	}
	for _, pid := range children() {
		if servers.pids[pid] || servers.before[pid] {
			continue
		}
		if ended, _ := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); ended != pid && knows(pid, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// knows reports whether a process has a directory in its environment.
func knows(pid int, dir string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte("="+dir))
}

// children lists the children of this process, including zombies.
func children() (pids []int) {
	entries, _ := os.ReadDir("/proc") // Without /proc the list is empty.
	self := []byte(strconv.Itoa(os.Getpid()))
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // The process has ended meanwhile.
		}
		// pid (command) state parent …; the command may contain any character.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && slices.Equal(fields[1], self) {
			pids = append(pids, pid)
		}
	}
	return pids
}
