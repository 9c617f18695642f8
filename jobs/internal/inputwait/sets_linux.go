package inputwait

import "time"

// decodeSet is about a call that waits for several descriptors.
func (p *Prober) decodeSet(in *inspection, tid int, name callName, c call) {
	set := sources{}
	timeout := unknownTimeout
	ok := true
	switch name.kind {
	case callPoll:
		ok = p.pollSet(in, &set, c.args[0], int(min(c.args[1], maxFiles)))
		timeout = milliseconds(c.args[2])
	case callPpoll:
		ok = p.pollSet(in, &set, c.args[0], int(min(c.args[1], maxFiles)))
		timeout = p.timeoutAt(in, c.args[2], time.Nanosecond)
	case callSelect, callPselect:
		ok = p.selectSets(in, &set, int(min(c.args[0], maxFiles)), c.args[1:4])
		unit := time.Nanosecond
		if name.kind == callSelect {
			unit = time.Microsecond
		}
		timeout = p.timeoutAt(in, c.args[4], unit)
	case callEpoll:
		p.epollSet(in, &set, int(int32(c.args[0])), 0)
		timeout = milliseconds(c.args[3])
	case callEpoll2:
		p.epollSet(in, &set, int(int32(c.args[0])), 0)
		timeout = p.timeoutAt(in, c.args[3], time.Nanosecond)
	}
	switch {
	case !ok:
		in.denied = !p.asleep(in, tid) // The memory may not be read.
	case set.blocked:
		p.s.blocked = true
	}
	switch {
	case ok && set.input:
		w := wait{tid: tid, call: name.name, timeout: set.timeout(timeout), seen: full}
		if set.other != "" {
			w.others = "on " + set.other
		}
		in.add(&w)
	case ok && set.other != "":
		in.sleeper = "another of its threads waits for " + set.other
	}
}

// milliseconds is a timeout as poll takes it.
func milliseconds(arg uint64) time.Duration {
	if n := int32(arg); n >= 0 {
		return time.Duration(n) * time.Millisecond
	}
	return forever
}

// timeoutAt reads a timespec or timeval; there is no timeout where there is none.
func (p *Prober) timeoutAt(in *inspection, at uint64, unit time.Duration) time.Duration {
	if at == 0 {
		return forever
	}
	var b [16]byte
	if n, err := in.memory(b[:], at); err != nil || n < len(b) {
		return unknownTimeout
	}
	return duration(b[:], unit)
}

func (p *Prober) pollSet(in *inspection, set *sources, at uint64, count int) bool {
	if count <= 0 {
		return true
	}
	var few [32 * pollSize]byte
	b := few[:]
	if need := count * pollSize; need > len(b) {
		b = make([]byte, need)
	} else {
		b = b[:need]
	}
	n, err := in.memory(b, at)
	if err != nil {
		return false
	}
	for b = b[:n/pollSize*pollSize]; len(b) > 0; b = b[pollSize:] {
		p.addSource(in, set, pollEntry(b), 0)
	}
	return true
}

// selectSets reads the sets of what is read, written and exceptional.
func (p *Prober) selectSets(in *inspection, set *sources, count int, at []uint64) bool {
	var b [3][maxFiles / 8]byte
	size := (count + 63) / 64 * 8 // The kernel takes whole words.
	for i := range b {
		if at[i] == 0 || size == 0 {
			continue
		}
		if _, err := in.memory(b[i][:size], at[i]); err != nil {
			return false
		}
	}
	for fd := range count {
		i := interest{fd: fd, in: inSet(b[0][:], fd), out: inSet(b[1][:], fd)}
		if !i.in && !i.out && inSet(b[2][:], fd) {
			set.exceptional(p, in, fd)
			continue
		}
		p.addSource(in, set, i, 0)
	}
	return true
}

// epollSet follows an epoll, and what it watches that is one itself.
func (p *Prober) epollSet(in *inspection, set *sources, fd, depth int) {
	if depth > maxNested {
		set.other = "an epoll within others"
		return
	}
	text, err := in.file(1<<16, part{name: "fdinfo"}, part{number: fd})
	if err != nil {
		return
	}
	var few [32]watched
	list := few[:0] // The text is gone with the next read.
	for w, rest, ok := nextWatched(text); ok && len(list) < maxFiles; w, rest, ok = nextWatched(rest) {
		list = append(list, w)
	}
	for _, w := range list {
		if !w.in && !w.out {
			continue
		}
		st, err := in.stat(w.fd, 0)
		if err != nil || w.named && w.ino != st.Ino {
			set.other = "a file that it has no descriptor of any more"
			continue
		}
		p.addKind(in, set, w.interest, p.kindOfFile(in, w.fd, &st), depth+1)
	}
}

const maxNested = 2
