//go:build linux || windows

package direct

import (
	"errors"
	"strings"
	"syscall"
	"unicode/utf16"
)

// Windows passes one string to a program, which splits it itself. Nearly all programs do so by the rules of
// CommandLineToArgvW; cmd.exe does not, and neither do batch files, which it runs.

// maxCommandLine is the limit of CreateProcess, in UTF-16 units, including the NUL at the end.
const maxCommandLine = 32767

// errBatch means that the program is a batch file: no quoting of its arguments is safe from making it run another
// command.
var errBatch = errors.New("direct: a batch file must be run by cmd.exe")

// commandLine quotes arguments so that the program at path gets them unchanged. The error is errBatch, or E2BIG.
func commandLine(path string, argv []string) (string, error) {
	name := strings.ToLower(path[strings.LastIndexAny(path, `\/`)+1:])
	if strings.HasSuffix(name, ".bat") || strings.HasSuffix(name, ".cmd") {
		return "", errBatch
	}
	var b strings.Builder
	for i, arg := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i > 0 && name == "cmd.exe" && strings.EqualFold(argv[i-1], "/c") {
			// With /s, cmd.exe removes the first and the last quote, and leaves the text between them alone: that is a
			// line, not an argument.
			b.WriteString(`"` + strings.Join(argv[i:], " ") + `"`)
			break
		}
		quote(&b, arg)
	}
	line := b.String()
	if len(utf16.Encode([]rune(line))) >= maxCommandLine {
		return "", syscall.E2BIG
	}
	return line, nil
}

// quote writes one argument: in quotes if it is empty or contains blanks, with a backslash before each quote, and with
// doubled backslashes before a quote.
func quote(b *strings.Builder, arg string) {
	quoted := arg == "" || strings.ContainsAny(arg, " \t\n\v\"")
	if !quoted {
		b.WriteString(arg)
		return
	}
	b.WriteByte('"')
	slashes := 0
	for i := range len(arg) {
		switch arg[i] {
		case '\\':
			slashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteByte(arg[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes) + `"`)
}

// environmentBlock returns an environment in the form for CreateProcess: each variable with a NUL after it, and one
// more NUL. A variable that contains a NUL is left out.
func environmentBlock(env []string) []uint16 {
	var block []uint16
	for _, v := range env {
		if v == "" || strings.ContainsRune(v, 0) {
			continue
		}
		block = append(append(block, utf16.Encode([]rune(v))...), 0)
	}
	if len(block) == 0 {
		block = append(block, 0)
	}
	return append(block, 0)
}
