package direct

import (
	"slices"
	"testing"
)

// TestFamily passes lists of processes to a family, one after another, and checks which processes are the job's.
func TestFamily(t *testing.T) {
	// pid, ppid, group, session, foreground, start
	p := func(pid, ppid, pgid, sid int) process {
		return process{pid: pid, ppid: ppid, pgid: pgid, sid: sid, start: uint64(pid) * 10}
	}
	reborn := func(p process) process { p.start++; return p }
	server, launchd, other := p(50, 1, 50, 40), p(1, 0, 1, 1), p(60, 1, 60, 60)
	leader := p(100, 50, 100, 100)
	for _, test := range []struct {
		name  string
		lists [][]process
		want  [][]int
	}{
		{"the command alone", [][]process{{launchd, server, other, leader}}, [][]int{{100}}},
		{"children, in whatever order", [][]process{{p(103, 102, 103, 100), p(102, 101, 101, 100), p(101, 100, 101, 100), leader}}, [][]int{{100, 101, 102, 103}}},
		{"another session below it", [][]process{{leader, p(101, 100, 101, 101), p(102, 101, 102, 101)}}, [][]int{{100, 101, 102}}},
		{"orphans of its session", [][]process{{launchd, p(101, 1, 101, 100)}}, [][]int{{101}}},
		{"an orphan that was seen before", [][]process{{leader, p(101, 100, 101, 101)}, {launchd, p(101, 1, 101, 101), p(102, 1, 102, 101), p(103, 102, 103, 103)}}, [][]int{{100, 101}, {101, 102, 103}}},
		{"a daemon that no probe saw", [][]process{{leader}, {leader, p(101, 1, 101, 101)}}, [][]int{{100}, {100}}},
		{"a pid that is another's now", [][]process{{leader, p(101, 100, 101, 101)}, {leader, reborn(p(101, 60, 60, 60)), other}}, [][]int{{100, 101}, {100}}},
		{"a session that had ended", [][]process{{leader, p(101, 100, 101, 101)}, {leader}, {leader, p(101, 60, 101, 101)}}, [][]int{{100, 101}, {100}, {100}}},
		{"the kernel's own", [][]process{{leader, p(2, 0, 0, 0), p(3, 2, 0, 0)}}, [][]int{{100}}},
		{"one that has just ended", [][]process{{leader, p(101, 100, 100, 0), p(102, 1, 0, 0)}}, [][]int{{100}}},
		{"the server and its session", [][]process{{leader, server, p(51, 50, 51, 40), p(40, 1, 40, 40)}}, [][]int{{100}}},
	} {
		f := newFamily(100, server)
		for i, list := range test.lists {
			var pids []int
			for _, p := range f.look(list) {
				pids = append(pids, p.pid)
			}
			if slices.Sort(pids); !slices.Equal(pids, test.want[i]) {
				t.Errorf("%s: list %d: %v, want %v", test.name, i, pids, test.want[i])
			}
		}
	}
}

// Once the command was reaped, its number is the job's only while a process has it.
func TestFamilyReaped(t *testing.T) {
	f := newFamily(100, process{pid: 50, sid: 40})
	member := process{pid: 101, ppid: 1, pgid: 100, sid: 100, start: 5}
	f.look([]process{{pid: 100, ppid: 50, pgid: 100, sid: 100}, member})
	f.leaderReaped()
	if found := f.look([]process{member}); len(found) != 1 {
		t.Fatalf("the session has %v", found)
	}
	f.look(nil)
	if found := f.look([]process{member}); len(found) != 1 {
		t.Errorf("who was missed by one look is missed by the next: %v", found)
	}
	f.look(nil)
	f.look(nil)
	if found := f.look([]process{{pid: 100, ppid: 60, pgid: 100, sid: 100, start: 9}}); len(found) != 0 {
		t.Errorf("a stranger's session is taken for the job's: %v", found)
	}
}
