//go:build linux || darwin

package direct

import "slices"

// A family is the knowledge about the processes of one job. It is a function of the process lists that are passed to
// look.
type family struct {
	server   process        // is in no job, and neither is any process of its session
	leader   int            // the command's pid, which is also its session's number; 0 once the command was reaped
	known    map[int]uint64 // start times of those in the last list, by pid
	sessions map[int]bool   // numbers of the job's sessions
	missed   bool           // the last scan has found no process, and nothing was forgotten because of it
}

func newFamily(leader int, server process) *family {
	return &family{server: server, leader: leader, known: map[int]uint64{}, sessions: map[int]bool{leader: true}}
}

// look picks the job's processes from a list of all, and remembers them.
//
// A process enters a session only by being born in it, and the command has begun one. So every process below a process
// of the job belongs to the job, and so does every process in a session that a process of the job is in. look repeats
// this until it finds no new process.
//
// The number of a session is trusted as long as each list has a process in it. For the number to be reused between two
// scans, the second of which comes when the first one's last process has ended, it would take as many forks as there
// are pids.
func (f *family) look(all []process) []process {
	var found []process
	picked := map[int]bool{}
	for before := -1; before < len(found); {
		before = len(found)
		for _, p := range all {
			if picked[p.pid] || f.isForeign(p) || !f.isOurs(p) && !picked[p.ppid] {
				continue
			}
			picked[p.pid] = true
			f.sessions[p.sid] = true
			found = append(found, p)
		}
	}
	f.remember(found)
	return found
}

// isForeign reports whether a process cannot belong to the job: a number that has been reused must never lead to the
// server, to its session, or to the kernel's own processes.
func (f *family) isForeign(p process) bool {
	return p.sid <= 0 || p.pid == f.server.pid || p.sid == f.server.sid
}

func (f *family) isOurs(p process) bool {
	start, ok := f.known[p.pid]
	return ok && start == p.start || f.sessions[p.sid]
}

// remember forgets all other processes, and the sessions that have no process. The command's own session stays until
// the command was reaped.
func (f *family) remember(found []process) {
	if f.missed = len(found) == 0 && !f.missed; f.missed {
		return // One scan may miss a process: the next one needs the knowledge that this one had.
	}
	clear(f.known)
	clear(f.sessions)
	for _, p := range found {
		f.known[p.pid] = p.start
		f.sessions[p.sid] = true
	}
	if f.leader != 0 {
		f.sessions[f.leader] = true
	}
}

// leaderReaped records that the command's pid may be reused once no process is in its session any more.
func (f *family) leaderReaped() { f.leader = 0 }

// inGroup reports whether one of the processes is in a group.
func inGroup(list []process, group int) bool {
	return slices.ContainsFunc(list, func(p process) bool { return p.pgid == group })
}
