//go:build linux || darwin

package direct

import "slices"

// A family is what is known of the processes of one job. It is a function of the lists
// of processes that it is shown.
type family struct {
	server   process        // which is in no job, nor is anybody of its session
	leader   int            // the command's pid, which is its session's number; 0 once it was reaped
	known    map[int]uint64 // start times of those that the last list had, by pid
	sessions map[int]bool   // numbers of sessions that are the job's
	missed   bool           // the last look has found nobody, and nothing was forgotten for it
}

func newFamily(leader int, server process) *family {
	return &family{server: server, leader: leader, known: map[int]uint64{}, sessions: map[int]bool{leader: true}}
}

// look picks the job's processes from a list of all, and remembers them.
//
// A session is entered by being born in it alone, and the command has begun one. So
// whoever is below a process of the job is the job's, and so is everybody in a session
// that a process of the job is in. That is repeated until there is nobody new.
//
// The number of a session is believed as long as each list has somebody in it. That it
// passes to somebody else between two looks, the second of which comes when the first's
// last process has ended, would take as many forks as there are pids.
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

// isForeign keeps a number that means something else by now from ever leading to the
// server, to its session, or to the kernel's own processes.
func (f *family) isForeign(p process) bool {
	return p.sid <= 0 || p.pid == f.server.pid || p.sid == f.server.sid
}

func (f *family) isOurs(p process) bool {
	start, ok := f.known[p.pid]
	return ok && start == p.start || f.sessions[p.sid]
}

// remember forgets everybody else, and the sessions that nobody is in. The command's own
// stays for as long as the command was not reaped.
func (f *family) remember(found []process) {
	if f.missed = len(found) == 0 && !f.missed; f.missed {
		return // One look may miss somebody: the next one is to know what this one did.
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

// leaderReaped says that the command's pid may be another's, once nobody is in its
// session any more.
func (f *family) leaderReaped() { f.leader = 0 }

// inGroup says whether one of the processes is in a group.
func inGroup(list []process, group int) bool {
	return slices.ContainsFunc(list, func(p process) bool { return p.pgid == group })
}
