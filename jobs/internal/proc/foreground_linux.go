package proc

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
)

// Foreground returns the foreground process group, with its leader or, if that has ended, another member that descends
// from the process root. It reads /proc, which may block for any time if a process is stuck in the kernel.
func (t *Terminal) Foreground(root int) (f Foreground, err error) {
	if f.Group, err = t.ForegroundGroup(); err != nil || f.Group <= 0 {
		return f, err
	}
	if f.Command = arguments(f.Group); f.Command != "" {
		f.PID = f.Group
		return f, nil
	}
	if f.PID, f.Command = memberBelow(root, f.Group); f.PID == 0 {
		if st, ok := statOf(f.Group); ok && st.alive() { // The leader has erased its arguments.
			f.PID, f.Command = f.Group, "["+st.name+"]"
		}
	}
	return f, nil
}

// program returns the file that a process executes. It returns "" if the process has ended, or if the server has no
// permission to see its file.
func program(pid int) string {
	file, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(file, " (deleted)")
}

// CommandLine returns the arguments of a process joined by spaces, at most 256 bytes. It returns "" if the process has
// ended.
func CommandLine(pid int) string { return arguments(pid) }

// arguments returns the command line of a process, or "" if it has ended.
func arguments(pid int) string {
	text := readSome(pid, "cmdline", maxCommand)
	text = bytes.ReplaceAll(bytes.TrimRight(text, "\x00"), []byte{0}, []byte{' '})
	return strings.ToValidUTF8(string(text), "?")
}

// A stat holds some of the fields of /proc/PID/stat.
type stat struct {
	name  string
	state byte
	group int
}

func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

// statOf reads the stat of a process. The name may contain any bytes, even parentheses.
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

// maxLooks bounds the number of processes examined in the search for a member of a group.
const maxLooks = 256

// memberBelow searches for a member of a group among root and its descendants, parents before their children. It
// returns 0 if it finds none.
func memberBelow(root, group int) (pid int, command string) {
	next := []int{root}
	for looks := 0; len(next) > 0 && looks < maxLooks; looks++ {
		pid, next = next[0], next[1:]
		if st, ok := statOf(pid); ok && st.group == group {
			if command = arguments(pid); command != "" {
				return pid, command
			}
		}
		// Only the children of the first thread are searched: shells have no other threads.
		children := readSome(pid, "task/"+strconv.Itoa(pid)+"/children", 16*maxLooks)
		for _, field := range bytes.Fields(children) {
			if kid, err := strconv.Atoi(string(field)); err == nil {
				next = append(next, kid)
			}
		}
	}
	return 0, ""
}

// readSome returns at most limit bytes from the beginning of a file of a process, or nil if it cannot be opened.
func readSome(pid int, name string, limit int) []byte {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, int64(limit))) // After an error, the bytes read before it are used.
	return text
}
