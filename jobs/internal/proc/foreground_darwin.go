package proc

import "golang.org/x/sys/unix"

// Foreground returns the foreground process group, with its leader or, if that has ended, another member. Only
// processes of this terminal's session can be in that group.
func (t *Terminal) Foreground(int) (f Foreground, err error) {
	if f.Group, err = t.ForegroundGroup(); err != nil || f.Group <= 0 {
		return f, err
	}
	members, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", f.Group)
	if err != nil {
		return f, nil // The group has ended: it has no members.
	}
	for i := range members {
		pid := int(members[i].Proc.P_pid)
		if members[i].Proc.P_stat == zombie || f.PID != 0 && pid != f.Group {
			continue
		}
		f.PID = pid
		if f.Command = CommandLine(pid); f.Command == "" {
			f.Command = "[" + unix.ByteSliceToString(members[i].Proc.P_comm[:]) + "]"
		}
	}
	return f, nil
}

// zombie is the state SZOMB, from sys/proc.h.
const zombie = 5

// program returns the name by which a process was executed, or "" if it is not known.
func program(pid int) string { return firstArgument(CommandLine(pid)) }

// CommandLine returns the arguments of a process joined by spaces, at most 256 bytes. It returns "" if the process has
// ended, or if its arguments must not be read.
func CommandLine(pid int) string {
	text, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return ""
	}
	return argumentsOf(text)
}
