package proc

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// maxCommand is the maximum length of a reported command line, in bytes.
const maxCommand = 256

// JoinArguments returns the result of CommandLine for a process that was started with these arguments.
func JoinArguments(argv []string) string {
	line := strings.Join(argv, " ")
	return strings.ToValidUTF8(line[:min(len(line), maxCommand)], "?")
}

// argumentsOf returns the arguments in the data that macOS keeps of an execve (KERN_PROCARGS2): the number of arguments
// in the machine's byte order, the path, NULs, and the arguments with a NUL behind each. It ignores the environment,
// which follows.
func argumentsOf(text []byte) string {
	if len(text) < 4 {
		return ""
	}
	count := binary.NativeEndian.Uint32(text)
	_, rest, _ := bytes.Cut(text[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	var line []byte
	for i := range count {
		arg, after, found := bytes.Cut(rest, []byte{0})
		if !found || len(line) > maxCommand {
			break
		}
		if i > 0 {
			line = append(line, ' ')
		}
		line, rest = append(line, arg...), after
	}
	return strings.ToValidUTF8(string(line[:min(len(line), maxCommand)]), "?")
}
