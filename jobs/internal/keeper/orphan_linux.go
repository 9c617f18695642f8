package keeper

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// cleanScans is the number of scans in a row that must find no orphan. There is no ECHILD here, because living
	// keepers are children as well, and one scan can miss a process that forks and exits in a loop.
	cleanScans = 5
	// orphanPatience is the maximum time to wait for orphans that cannot be ended.
	orphanPatience = 5 * time.Second
)

// endOrphans kills the processes that a lost keeper has left to this process, its parent, and returns when no scan
// finds any more.
//
// An orphan is a child in another session than ours that is not a keeper: each keeper has a session of its own, and its
// descendants are in that one or in newer ones. Children that other code has started in our session are left alone.
// Orphans of other keepers that were lost at the same time are ended as well.
func (p *Pool) endOrphans() Report {
	p.sweeping.Lock()
	defer p.sweeping.Unlock()
	began := time.Now()
	op := &killOp{began: began, force: true, seen: make(map[int]*seenProc)}
	var unread error // of the last scan
	for clean := 0; clean < cleanScans && time.Since(began) < orphanPatience; clean++ {
		var list []node
		if list, unread = p.orphans(); unread != nil {
			clean = -1
		}
		for _, n := range list {
			clean = 0
			endOrphan(op, n)
		}
		// This waits for no event: it leaves the processor to the dying processes.
		time.Sleep(50 * time.Microsecond)
	}
	if len(op.order) > 0 {
		op.signals = []SignalSent{{Name: "KILL"}}
	}
	r := op.report()
	if unread != nil {
		r.Survivors = append(r.Survivors, Survivor{
			Proc: Proc{PID: os.Getpid(), Comm: "shelld", Command: "[shelld]"},
			Why:  "the keeper was lost, and its orphans cannot be listed: " + unread.Error(),
		})
	}
	return r
}

// endOrphan kills an orphan and all processes below it, which become orphans of their own in the next scans, and reaps
// it if it is dead. No other code reaps orphans, so that their pids are safe.
func endOrphan(op *killOp, n node) {
	self := os.Getpid()
	below, _ := descendants(n.pid) // A missing process becomes an orphan of its own.
	op.killEach(newKin(self), append([]node{n}, below...))
	// A process that forks and exits without end is still in its group, whose number is not reused while this orphan
	// exists.
	if st, err := readStat(n.pid); err == nil && st.ppid == self && st.pgid > 1 && st.pgid != unix.Getpgrp() {
		_ = unix.Kill(-st.pgid, unix.SIGKILL)
	}
	var ws unix.WaitStatus
	if pid, err := unix.Wait4(n.pid, &ws, unix.WNOHANG|unix.WALL, nil); err == nil && pid == n.pid {
		op.reaped(pid, ws)
	}
}

// endBelow kills the processes below a keeper that is stopped for good, and therefore reaps none of them.
func (p *Pool) endBelow(keeper int) Report {
	p.sweeping.Lock()
	defer p.sweeping.Unlock()
	op := &killOp{began: time.Now(), force: true, seen: make(map[int]*seenProc)}
	list, _ := descendants(keeper) // The caller goes on until the keeper has ended, and then ends its orphans.
	op.killEach(newKin(keeper), list)
	if len(op.order) > 0 {
		op.signals = []SignalSent{{Name: "KILL"}}
	}
	return op.report()
}

// killEach kills each listed process that is alive.
func (op *killOp) killEach(below *kin, list []node) {
	for _, n := range list {
		st, err := readStat(n.pid)
		if err != nil || !st.alive() {
			continue
		}
		p := op.see(st)
		err = below.signal(n, unix.SIGKILL)
		p.killed = p.killed || err == nil
		p.denied = err == unix.EPERM
	}
}

// orphans lists the children of this process that are orphans, including zombies. With an error some may be missing.
func (p *Pool) orphans() (list []node, err error) {
	p.spawning.Lock()
	defer p.spawning.Unlock()
	session, err := unix.Getsid(0)
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	kids, err := p.kids.list()
	for _, pid := range kids {
		st, err := readStat(pid) // This works for a child even if no file can be opened.
		if err == nil && st.ppid == self && st.sid != session && p.keepers[pid] == nil {
			list = append(list, node{pid, self})
		}
	}
	return list, err
}
