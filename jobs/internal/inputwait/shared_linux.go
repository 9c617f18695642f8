package inputwait

import (
	"slices"

	"golang.org/x/sys/unix"
)

// An end is a descriptor by which a process wakes itself up: an eventfd, or a pipe or socket pair of which it has both
// ends. A forked child may have all of them as well, and a program that it starts may have one of them.
type end struct{ pid, fd int }

// own notes that a process waits for such a descriptor.
func (p *Prober) own(in *inspection, fd int) { p.ends = append(p.ends, end{in.pid, fd}) }

// shared reports whether another process of the job has open an end that this process waits for. known is false if a
// process whose descriptors cannot be seen might have one.
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

// endsOf returns the files of a process's ends, and the peers of those that are sockets.
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
			continue // The process has closed it since, so it runs.
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

// holds reports whether a process has one of these files open, and whether all its descriptors were seen.
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

// identity returns an ID that is unique even for an eventfd, which shares its inode with all other files outside file
// systems. ok is false if that is unknown: before Linux 5.2, and for a signalfd, through which no other process can
// wake this one.
func (in *inspection) identity(fd int, st *status) (id ID, ok bool) {
	switch st.mode & unix.S_IFMT {
	case unix.S_IFIFO, unix.S_IFSOCK:
		return st.inode(), true
	}
	return in.eventfd(fd, st.inode())
}

// eventfd adds the number of an eventfd to its inode.
func (in *inspection) eventfd(fd int, id ID) (_ ID, ok bool) {
	text, err := in.file(1024, part{name: "fdinfo"}, part{number: fd})
	if err != nil {
		return id, false
	}
	number, ok := statusNumber(text, "eventfd-id:")
	id.Rdev = uint64(number) + 1
	return id, ok
}
