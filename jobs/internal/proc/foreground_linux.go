package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Foreground tells what runs in the foreground: the leader of its group, or, where
// that has ended, another of its members below the process root. It reads /proc,
// which may take as long as a process that is stuck in the kernel likes.
func (t *Terminal) Foreground(root int) (f Foreground, err error) {
	if f.Group, err = t.ForegroundGroup(); err != nil || f.Group <= 0 {
		return f, err
	}
	if command, ok := commandOf(f.Group); ok {
		f.PID, f.Command = f.Group, command
		return f, nil
	}
	f.PID, f.Command = memberBelow(root, f.Group)
	return f, nil
}

// maxCommand is how much is told of a command line.
const maxCommand = 256

// commandOf returns the command line of a process that has not ended.
func commandOf(pid int) (command string, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	text, err := readSome(dir+"/cmdline", maxCommand)
	if err != nil {
		return "", false
	}
	if text = bytes.TrimRight(text, "\x00"); len(text) > 0 {
		return strings.ToValidUTF8(string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})), "?"), true
	}
	// One that has ended has no arguments any more; some take theirs away.
	name, state, _, ok := statOf(dir)
	return "[" + name + "]", ok && state != 'Z' && state != 'X'
}

// statOf returns what is needed of /proc/PID/stat. A name may contain anything, also
// parentheses.
func statOf(dir string) (name string, state byte, group int, ok bool) {
	text, err := readSome(dir+"/stat", 1024)
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if err != nil || open < 0 || end < open {
		return "", 0, 0, false
	}
	fields := bytes.Fields(text[end+1:]) // the state, the parent, the group, …
	if len(fields) < 3 {
		return "", 0, 0, false
	}
	group, err = strconv.Atoi(string(fields[2]))
	return string(text[open+1 : end]), fields[0][0], group, err == nil
}

// maxLooks bounds how many processes are looked at for a member of a group.
const maxLooks = 256

// memberBelow looks among the descendants of root, the oldest first.
func memberBelow(root, group int) (pid int, command string) {
	next := []int{root}
	for looks := 0; len(next) > 0 && looks < maxLooks; looks++ {
		at := next[0]
		next = next[1:]
		dir := "/proc/" + strconv.Itoa(at)
		if _, _, g, ok := statOf(dir); ok && g == group {
			if command, ok := commandOf(at); ok {
				return at, command
			}
		}
		// Threads other than the first are not asked: shells have none.
		children, err := readSome(dir+"/task/"+strconv.Itoa(at)+"/children", 16*maxLooks)
		if err != nil {
			continue // it has ended, or the kernel does not tell
		}
		for _, field := range bytes.Fields(children) {
			if kid, err := strconv.Atoi(string(field)); err == nil {
				next = append(next, kid)
			}
		}
	}
	return 0, ""
}

// readSome reads the beginning of a file.
func readSome(name string, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, limit)
	n := 0
	for n < limit {
		m, err := f.Read(buf[n:])
		n += m
		if err != nil || m == 0 {
			break // what there is counts
		}
	}
	return buf[:n], nil
}
