package proc

import (
	"bytes"
	"io"
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
	if f.Command = arguments(f.Group); f.Command != "" {
		f.PID = f.Group
		return f, nil
	}
	if f.PID, f.Command = memberBelow(root, f.Group); f.PID == 0 {
		if st, ok := statOf(f.Group); ok && st.alive() { // it has taken its arguments away
			f.PID, f.Command = f.Group, "["+st.name+"]"
		}
	}
	return f, nil
}

// program is the file that a process executes; "" of one that has ended, or whose file may not be known.
func program(pid int) string {
	file, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(file, " (deleted)")
}

// CommandLine returns the arguments of a process joined by spaces, at most 256 bytes; ""
// of one that has ended.
func CommandLine(pid int) string { return arguments(pid) }

// arguments returns the command line of a process; "" of one that has ended.
func arguments(pid int) string {
	text := readSome(pid, "cmdline", maxCommand)
	text = bytes.ReplaceAll(bytes.TrimRight(text, "\x00"), []byte{0}, []byte{' '})
	return strings.ToValidUTF8(string(text), "?")
}

// A stat is what is needed of /proc/PID/stat.
type stat struct {
	name  string
	state byte
	group int
}

func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

// statOf reads it. A name may contain anything, also parentheses.
func statOf(pid int) (s stat, ok bool) {
	text := readSome(pid, "stat", 1024)
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return s, false
	}
	fields := bytes.Fields(text[end+1:]) // the state, the parent, the group, …
	if len(fields) < 3 {
		return s, false
	}
	group, err := strconv.Atoi(string(fields[2]))
	return stat{string(text[open+1 : end]), fields[0][0], group}, err == nil
}

// maxLooks bounds how many processes are looked at for a member of a group.
const maxLooks = 256

// memberBelow looks among the descendants of root, parents before their children.
func memberBelow(root, group int) (pid int, command string) {
	next := []int{root}
	for looks := 0; len(next) > 0 && looks < maxLooks; looks++ {
		pid, next = next[0], next[1:]
		if st, ok := statOf(pid); ok && st.group == group {
			if command = arguments(pid); command != "" {
				return pid, command
			}
		}
		// Threads other than the first are not asked: shells have none.
		children := readSome(pid, "task/"+strconv.Itoa(pid)+"/children", 16*maxLooks)
		for _, field := range bytes.Fields(children) {
			if kid, err := strconv.Atoi(string(field)); err == nil {
				next = append(next, kid)
			}
		}
	}
	return 0, ""
}

// readSome reads the beginning of a file of a process, as far as there is one.
func readSome(pid int, name string, limit int) []byte {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, int64(limit))) // What there is counts.
	return text
}
