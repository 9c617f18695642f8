package inputwait

import (
	"slices"

	"golang.org/x/sys/unix"
)

// An end is a descriptor of what a process wakes itself up by: an eventfd, or a pipe or pair
// of sockets of which it has both ends. A child that it has forked may have them all as
// well, and a program that it has started one of them.
type end struct{ pid, fd int }

// own notes that a process waits for one.
func (p *Prober) own(in *inspection, fd int) { p.ends = append(p.ends, end{in.pid, fd}) }

// shared says whether another process of the job has an end open that this one waits for.
// known is false where it would have to be seen of one that does not show what it has open.
func (p *Prober) shared(pid int) (shared, known bool) {
	known = true
	if len(p.seen) < 2 || !slices.ContainsFunc(p.ends, func(e end) bool { return e.pid == pid }) {
		return false, true
	}
	ids := p.endsOf(pid)
	for i := 0; i < len(p.seen) && len(ids) > 0; i++ {
		if p.seen[i].pid == pid {
			continue
		}
		holds, all := p.holds(p.seen[i].pid, ids)
		if holds {
			return true, true
		}
		known = known && all
	}
	return false, known
}

// endsOf tells which files the ends of a process are, and the other ends of its sockets.
func (p *Prober) endsOf(pid int) (ids []ID) {
	proc, err := p.r.open(pid)
	if err != nil {
		return nil // It has ended.
	}
	defer proc.close()
	in := inspection{process: proc}
	for _, e := range p.ends {
		if e.pid != pid {
			continue
		}
		st, err := in.stat(e.fd, 0)
		if err != nil {
			continue // It has closed it since, and so it runs.
		}
		id, ok := in.identity(e.fd, &st)
		if !ok || slices.Contains(ids, id) {
			continue
		}
		ids = append(ids, id)
		if st.mode&unix.S_IFMT == unix.S_IFSOCK {
			ids = append(ids, ID{Dev: id.Dev, Ino: p.peerOf(id.Ino)})
		}
	}
	return ids
}

// holds says whether a process has one of these files open, and whether all that it has was
// seen.
func (p *Prober) holds(pid int, ids []ID) (holds, all bool) {
	proc, st, ok := p.enter(pid)
	if !ok {
		return false, true // It has ended.
	}
	defer proc.close()
	if st.gone() {
		return false, true
	}
	in := inspection{process: proc}
	all = p.listFiles(&in)
	for _, f := range p.files.list {
		if slices.Contains(ids, f.id) {
			return true, true
		}
		anonymous := func(id ID) bool { return id.Rdev != 0 && id.Dev == f.id.Dev && id.Ino == f.id.Ino }
		if slices.ContainsFunc(ids, anonymous) {
			if id, ok := in.eventfd(f.fd, f.id); ok && slices.Contains(ids, id) {
				return true, true
			}
		}
	}
	return false, all
}

// identity tells a file from all others: also an eventfd, which shares its inode with all
// that has no place in any file system. ok is false where that is not known: before Linux
// 5.2, and of a signalfd, by which nobody else wakes the process up.
func (in *inspection) identity(fd int, st *status) (id ID, ok bool) {
	switch st.mode & unix.S_IFMT {
	case unix.S_IFIFO, unix.S_IFSOCK:
		return st.inode(), true
	}
	return in.eventfd(fd, st.inode())
}

// eventfd adds to an inode which eventfd it is.
func (in *inspection) eventfd(fd int, id ID) (_ ID, ok bool) {
	text, err := in.file(1024, part{name: "fdinfo"}, part{number: fd})
	if err != nil {
		return id, false
	}
	number, ok := statusNumber(text, "eventfd-id:")
	id.Rdev = uint64(number) + 1
	return id, ok
}
