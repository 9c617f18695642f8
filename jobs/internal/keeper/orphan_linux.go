package keeper

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// cleanScans is how many scans in a row must find no orphan. There is no
	// ECHILD here, since living keepers are children as well, and a process that
	// forks and exits in a loop can be missed by one scan.
	cleanScans = 5
	// orphanPatience bounds the wait for orphans that cannot be ended.
	orphanPatience = 5 * time.Second
)

// endOrphans kills what a lost keeper has left to this process, its parent, and
// returns when nothing of it is found any more.
//
// An orphan is a child in another session than ours that is no keeper: each
// keeper has a session of its own, and its descendants are in that one or in
// newer ones. Children that others have started in our session are left alone.
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
		// Not a wait for anything: it leaves the processor to the dying.
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

// endOrphan kills an orphan and all below it, which come up as orphans of their
// own in the next scans, and reaps it if it is dead. Nobody else reaps orphans,
// so that their pids are safe.
func endOrphan(op *killOp, n node) {
	self := os.Getpid()
	below, _ := descendants(n.pid) // What is missing in it becomes an orphan of its own.
	op.killEach(newKin(self), append([]node{n}, below...))
	// One that forks and exits without end is still in its group, of which this one keeps
	// the number from being anybody else's.
	if st, err := readStat(n.pid); err == nil && st.ppid == self && st.pgid > 1 && st.pgid != unix.Getpgrp() {
		_ = unix.Kill(-st.pgid, unix.SIGKILL)
	}
	var ws unix.WaitStatus
	if pid, err := unix.Wait4(n.pid, &ws, unix.WNOHANG|unix.WALL, nil); err == nil && pid == n.pid {
		op.reaped(pid, ws)
	}
}

// endBelow kills what is below a keeper that is stopped for good, and so reaps nobody.
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

// killEach kills each of these that is alive.
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

// orphans lists those children of ours that are orphans, zombies included. With an error some
// may be missing.
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
		st, err := readStat(pid) // A child has one, whatever can be opened.
		if err == nil && st.ppid == self && st.sid != session && p.keepers[pid] == nil {
			list = append(list, node{pid, self})
		}
	}
	return list, err
}
