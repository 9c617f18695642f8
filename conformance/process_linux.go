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

// servers are the children that are ours to wait for. Whoever else becomes a child of
// this process while it adopts orphans was started by one of them. The lock is held
// while a server is made, so that no child is seen before it is known.
var servers struct {
	sync.Mutex
	pids   map[int]bool
	before map[int]bool // children that were there before anything was adopted
}

// adoptOrphans makes this process the one to which processes go whose parent ends.
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

// reap takes a zombie away that was adopted.
func reap(pid int) {
	servers.Lock()
	defer servers.Unlock()
	if !servers.pids[pid] && !servers.before[pid] && servers.before != nil {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // It may be nobody's, or not ours.
	}
}

// killOrphans ends what a server has left behind: those of our children that have its
// directory in their environment, and, where no other server runs, all that we adopted.
// What they leave becomes our child in its turn, so it looks until there is none.
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
	alone := len(servers.pids) <= 1
	for _, pid := range children() {
		if servers.pids[pid] || servers.before[pid] {
			continue
		}
		// Nothing tells of one that has ended whose it was. Many sessions would leave hundreds
		// until one is alone.
		if ended, _ := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); ended == pid {
			found = true
			continue
		}
		if !alone && !knows(pid, dir) {
			continue
		}
		// It is our child: the pid is nobody else's. One of another user stays.
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			_, _ = syscall.Wait4(pid, nil, 0, nil) // A killed child ends.
			found = true
		}
	}
	return found
}

// knows says whether a directory is in a process's environment.
func knows(pid int, dir string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte("="+dir))
}

// children lists the processes whose parent this process is, zombies included.
func children() (pids []int) {
	entries, _ := os.ReadDir("/proc") // Without it there is nothing to find.
	self := []byte(strconv.Itoa(os.Getpid()))
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // It has ended meanwhile.
		}
		// pid (command) state parent …; the command may have anything in it.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && slices.Equal(fields[1], self) {
			pids = append(pids, pid)
		}
	}
	return pids
}
