package direct

import (
	"log/slog"
	"syscall"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A darwinSystem asks the kernel by sysctl, and gets reports of the end of processes from kqueue.
type darwinSystem struct {
	parent
	watcher *watcher
}

func newSystem(log *slog.Logger) system { return darwinSystem{watcher: newWatcher(log)} }

// States of a process, from sys/proc.h.
const (
	stateStopped = 4 // SSTOP
	stateZombie  = 5 // SZOMB
)

func statusOf(ws syscall.WaitStatus) status { return bsdStatus(uint32(ws)) }

func (darwinSystem) processes() ([]process, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	all := make([]process, 0, len(list))
	for i := range list {
		if p, alive := processOf(&list[i]); alive {
			all = append(all, p)
		}
	}
	return all, nil
}

func (darwinSystem) find(pid int) (process, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, false
	}
	return processOf(info)
}

// processOf selects the needed fields. The session's number is not in the list: it is read separately, and is 0 if the
// process has ended meanwhile.
func processOf(info *unix.KinfoProc) (p process, alive bool) {
	pid := int(info.Proc.P_pid)
	if info.Proc.P_stat == stateZombie || pid <= 0 {
		return p, false
	}
	sid, _ := unix.Getsid(pid)
	start := info.Proc.P_starttime
	return process{
		pid: pid, ppid: int(info.Eproc.Ppid), pgid: int(info.Eproc.Pgid), sid: sid, foreground: int(info.Eproc.Tpgid),
		start: uint64(start.Sec)*1e6 + uint64(start.Usec), name: unix.ByteSliceToString(info.Proc.P_comm[:]),
		stopped: info.Proc.P_stat == stateStopped,
	}, true
}

func (darwinSystem) command(pid int) string { return proc.CommandLine(pid) }

func (s darwinSystem) watch(p process, ended func()) (forget func(), err error) {
	if forget, err = s.watcher.add(p.pid, ended); err != nil {
		return nil, err
	}
	// The pid may have been reused between the scan and the watch.
	if now, ok := s.find(p.pid); !ok || now.start != p.start {
		forget()
		return nil, unix.ESRCH
	}
	return forget, nil
}

func (s darwinSystem) close() { s.watcher.close() }
