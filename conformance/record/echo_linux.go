package record

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// terminalEcho probes the terminal of a process on this machine; the suite requires that servers run here. It
// opens the terminal only for the probe.
func terminalEcho(pid int) echoState {
	name := terminalOf(pid)
	if name == "" {
		return echoUnknown
	}
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return echoUnknown
	}
	defer syscall.Close(fd)
	var t syscall.Termios
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TCGETS, uintptr(unsafe.Pointer(&t))); errno != 0 {
		return echoUnknown
	}
	switch {
	case t.Lflag&syscall.ECHO != 0:
		return echoOn
	case t.Lflag&syscall.ICANON != 0:
		return echoOff
	}
	return echoRaw
}

// terminalOf returns the path of a process's controlling terminal, or "".
func terminalOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "" // It has ended.
	}
	// pid (command) state parent group session terminal …; the command may contain any character.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 5 {
		return ""
	}
	dev, err := strconv.Atoi(string(fields[4]))
	if err != nil {
		return ""
	}
	major, minor := dev>>8&0xfff, dev&0xff|dev>>12&0xfff00
	const firstPty, lastPty = 136, 143 // the majors of Unix98 terminals, 256 minors each
	if major < firstPty || major > lastPty {
		return ""
	}
	return "/dev/pts/" + strconv.Itoa((major-firstPty)<<8+minor)
}
