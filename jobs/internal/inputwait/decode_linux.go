package inputwait

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// decimal parses an unsigned decimal number.
func decimal(text []byte) (n int, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// hexadecimal parses a hexadecimal number with or without 0x.
func hexadecimal(text []byte) (n uint64, ok bool) {
	text = bytes.TrimPrefix(text, []byte("0x"))
	if len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return n, true
}

// word splits off the first word.
func word(text []byte) (first, rest []byte) {
	text = bytes.TrimLeft(text, " \t\n")
	if end := bytes.IndexAny(text, " \t\n"); end >= 0 {
		return text[:end], text[end:]
	}
	return text, nil
}

// A stat holds the used fields of /proc/PID/stat.
type stat struct {
	name    [16]byte
	state   byte
	group   int
	tty     uint32 // device of the controlling terminal, 0: none
	threads int
	start   uint64

	headless bool // the first thread has ended
}

func (s *stat) gone() bool    { return (s.state == 'Z' || s.state == 'X') && s.threads <= 1 }
func (s *stat) stopped() bool { return s.state == 'T' || s.state == 't' }
func (s *stat) runs() bool    { return s.state == 'R' || s.state == 'D' }

// comm returns the process's name in printable form: a program can give itself any name, and the kernel cuts it off.
func (s *stat) comm() string {
	name := unix.ByteSliceToString(s.name[:])
	for i := range len(name) {
		if name[i] < ' ' || name[i] > '~' {
			return strings.Map(printable, name)
		}
	}
	return name
}

// printable returns r, or U+FFFD if it is not printable. Invalid UTF-8 has become U+FFFD already.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// parseStat parses /proc/PID/stat. It splits after the last parenthesis, since a name may contain anything.
func parseStat(text []byte) (s stat, ok bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return s, false
	}
	copy(s.name[:], text[open+1:end])
	rest := text[end+1:]
	var field []byte
	for i := 3; i <= 22; i++ { // numbered as in proc(5)
		if field, rest = word(rest); len(field) == 0 {
			return s, false
		}
		n, _ := decimal(field) // The used fields have no sign, except tty_nr of a very high device number.
		switch i {
		case 3:
			s.state = field[0]
		case 5:
			s.group = n
		case 7:
			s.tty = uint32(n)
			if field[0] == '-' {
				n, _ = decimal(field[1:])
				s.tty = uint32(-n)
			}
		case 20:
			s.threads = n
		case 22:
			s.start = uint64(n)
		}
	}
	return s, true
}

// A call is the content of /proc/PID/syscall.
type call struct {
	running bool
	number  int // -1: blocked, but not in a system call
	args    [6]uint64
	sp      uint64
}

func parseCall(text []byte) (c call, ok bool) {
	first, rest := word(text)
	if string(first) == "running" {
		return call{running: true}, true
	}
	if string(first) == "-1" {
		return call{number: -1}, true
	}
	if c.number, ok = decimal(first); !ok {
		return c, false
	}
	for i := range c.args {
		first, rest = word(rest)
		if c.args[i], ok = hexadecimal(first); !ok {
			return c, false
		}
	}
	first, _ = word(rest)
	c.sp, ok = hexadecimal(first)
	return c, ok
}

// interest is the events that a thread waits for on a descriptor.
type interest struct {
	fd      int
	in, out bool
	urgent  bool // hang-up or out-of-band data: typed input never causes it
}

// nothing reports whether it waits only for errors.
func (i *interest) nothing() bool { return !i.in && !i.out && !i.urgent }

// These values are the same on both architectures whose system calls are listed.
const (
	readNormal  = 0x40  // POLLRDNORM
	writeNormal = 0x100 // POLLWRNORM
)

// pollEntry decodes a struct pollfd.
func pollEntry(b []byte) interest {
	events := binary.LittleEndian.Uint16(b[4:])
	return interest{
		fd:     int(int32(binary.LittleEndian.Uint32(b))),
		in:     events&(unix.POLLIN|readNormal) != 0,
		out:    events&(unix.POLLOUT|writeNormal) != 0,
		urgent: events&(unix.POLLPRI|unix.POLLRDHUP) != 0,
	}
}

const pollSize = 8

// inSet reports whether a descriptor is in a set of select(2). A set that was not read is empty.
func inSet(set []byte, fd int) bool {
	return fd/8 < len(set) && set[fd/8]&(1<<(fd%8)) != 0
}

// duration decodes two 64-bit numbers: seconds, and a fraction in units of unit.
func duration(b []byte, unit time.Duration) time.Duration {
	s, parts := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))
	const most = 1 << 31 // seconds; longer times make no difference
	return time.Duration(min(max(s, 0), most))*time.Second + time.Duration(max(parts, 0))*unit
}

// A watched is a descriptor in an epoll's interest list.
type watched struct {
	interest
	ino   uint64
	named bool // the kernel shows the inode
}

// nextWatched parses the next line "tfd: 5 events: 19 data: … pos:0 ino:3 sdev:e" of an epoll's fdinfo.
func nextWatched(text []byte) (w watched, rest []byte, ok bool) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if first, tail := word(line); string(first) == "tfd:" {
			if w, ok = parseWatched(tail); ok {
				return w, text, true
			}
		}
	}
	return w, nil, false
}

func parseWatched(line []byte) (w watched, ok bool) {
	first, line := word(line)
	if w.fd, ok = decimal(first); !ok {
		return w, false
	}
	for len(line) > 0 {
		first, line = word(line)
		switch {
		case string(first) == "events:":
			first, line = word(line)
			events, hex := hexadecimal(first)
			if !hex {
				return w, false
			}
			w.in = events&(unix.EPOLLIN|readNormal) != 0
			w.out = events&(unix.EPOLLOUT|writeNormal) != 0
			w.urgent = events&(unix.EPOLLPRI|unix.EPOLLRDHUP) != 0
			if events&unix.EPOLLET != 0 && w.in { // Go always does this: its one notification of room has already come.
				w.out = false
			}
		case bytes.HasPrefix(first, []byte("ino:")):
			w.ino, w.named = hexadecimal(first[len("ino:"):])
		}
	}
	return w, true
}

// parseTimer parses the lines "it_value: (1, 500000000)" and "it_interval: (0, 0)" of a timer's fdinfo, which are
// seconds and nanoseconds.
func parseTimer(text []byte) (value, interval time.Duration, ok bool) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		name, rest := word(line)
		first, rest := word(rest)
		second, _ := word(rest)
		s, okS := decimal(bytes.Trim(first, "(,"))
		ns, okNS := decimal(bytes.Trim(second, ")"))
		const most = 1 << 31 // seconds; longer times make no difference
		d := time.Duration(min(s, most))*time.Second + time.Duration(ns)
		switch string(name) {
		case "it_value:":
			value, ok = d, okS && okNS
		case "it_interval:":
			interval = d
		}
	}
	return value, interval, ok
}

// statusNumber returns a number from /proc/PID/status, or from a file of the same format.
func statusNumber(text []byte, name string) (int, bool) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if first, rest := word(line); string(first) == name {
			first, _ = word(rest)
			return decimal(first)
		}
	}
	return 0, false
}
