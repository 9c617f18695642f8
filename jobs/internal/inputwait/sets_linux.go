package inputwait

import "time"

// decodeSet examines a call that waits for several descriptors.
func (p *Prober) decodeSet(in *inspection, tid int, name callName, c call) {
	set := sources{}
	timeout := unknownTimeout
	ok := true
	switch name.kind {
	case callPoll:
		ok = p.pollSet(in, &set, c.args[0], c.args[1])
		timeout = milliseconds(c.args[2])
	case callPpoll:
		ok = p.pollSet(in, &set, c.args[0], c.args[1])
		timeout = p.timeoutAt(in, c.args[2], time.Nanosecond)
	case callSelect, callPselect:
		ok = p.selectSets(in, &set, c.args[0], c.args[1:4])
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
	if !ok { // The memory may not be read.
		if !p.asleep(in, tid) {
			in.denied = true
		}
		return
	}
	p.s.blocked = p.s.blocked || set.blocked
	switch {
	case set.input:
		w := wait{tid: tid, call: name.name, timeout: set.timeout(timeout), seen: full}
		if set.other != "" {
			w.others = "on " + set.other
		}
		in.add(&w)
	case set.other != "":
		in.besides("another of its threads waits for " + set.other)
	default: // It waits only for a time, as for the timers of an event loop.
		in.timed = in.timed || set.timeout(timeout) != forever
	}
}

// milliseconds converts a timeout argument of poll.
func milliseconds(arg uint64) time.Duration {
	if n := int32(arg); n >= 0 {
		return time.Duration(n) * time.Millisecond
	}
	return forever
}

// timeoutAt reads a timespec or timeval. A null pointer means no timeout.
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

// pollSet reads the descriptor list of a poll, in pieces, because it may be long.
func (p *Prober) pollSet(in *inspection, set *sources, at, count uint64) bool {
	if count > maxSources {
		set.add(unseen)
		count = maxSources
	}
	var few [32 * pollSize]byte
	b := few[:]
	for read := uint64(0); count > 0; count -= read {
		if read > 0 && len(b) == len(few) {
			b = make([]byte, 128*len(few))
		}
		read = min(count, uint64(len(b)/pollSize))
		n, err := in.memory(b[:read*pollSize], at)
		if err != nil {
			return false
		}
		for entry := b[:n/pollSize*pollSize]; len(entry) > 0; entry = entry[pollSize:] {
			p.addSource(in, set, pollEntry(entry), 0)
		}
		if uint64(n) < read*pollSize || set.input && set.other != "" {
			break
		}
		at += read * pollSize
	}
	return true
}

// selectSets reads the three sets of a select: read, write and exceptional.
func (p *Prober) selectSets(in *inspection, set *sources, most uint64, at []uint64) bool {
	count := int(min(most, maxFiles))
	if most > maxFiles && p.tableOf(in) > maxFiles {
		set.add(unseen)
	}
	var b [3][maxFiles / 8]byte
	size := (count + 63) / 64 * 8 // The kernel copies whole words.
	for i := range b {
		if at[i] == 0 || size == 0 {
			continue
		}
		if _, err := in.memory(b[i][:size], at[i]); err != nil {
			return false
		}
	}
	for fd := range count {
		p.addSource(in, set, interest{fd, inSet(b[0][:], fd), inSet(b[1][:], fd), inSet(b[2][:], fd)}, 0)
	}
	return true
}

// tableOf returns the size of a process's descriptor table: select examines no more descriptors, whatever number it is
// given.
func (p *Prober) tableOf(in *inspection) int {
	text, err := in.file(4096, part{name: "status"})
	if size, ok := statusNumber(text, "FDSize:"); err == nil && ok {
		return size
	}
	return maxFiles + 1
}

// epollSet adds the sources of an epoll, and of the epolls that it watches.
func (p *Prober) epollSet(in *inspection, set *sources, fd, depth int) {
	switch {
	case depth > maxNested:
		set.add("a deeply nested epoll")
		return
	case p.r.spent():
		set.add(unseen)
		return
	}
	text, err := in.file(maxWatched, part{name: "fdinfo"}, part{number: fd})
	if err != nil {
		set.add("an epoll that cannot be read")
		return
	}
	if len(text) >= maxWatched {
		set.add(unseen)
	}
	var few [32]watched
	list := few[:0] // The next read overwrites the text.
	for w, rest, ok := nextWatched(text); ok; w, rest, ok = nextWatched(rest) {
		switch {
		case w.nothing():
		case w.named && w.ino == p.id.Ino && p.isInput(in, w.fd):
			p.addKind(in, set, w.interest, isInput, depth+1) // The input is found however many descriptors there are.
		case len(list) < maxFiles:
			list = append(list, w)
		default:
			set.add(unseen)
		}
	}
	for _, w := range list {
		if !p.worth(set, w.interest) {
			continue
		}
		st, err := in.stat(w.fd, 0)
		if err != nil || w.named && w.ino != st.Ino {
			set.add("a file whose descriptor it closed")
			continue
		}
		p.addKind(in, set, w.interest, p.kindOfFile(in, w.fd, &st), depth+1)
	}
}

func (p *Prober) isInput(in *inspection, fd int) bool {
	st, err := in.stat(fd, 0)
	return err == nil && st.is(p.id)
}

const (
	maxNested  = 2
	maxWatched = 1 << 20 // bytes of an epoll's fdinfo
)
