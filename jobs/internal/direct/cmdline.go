//go:build linux || windows

package direct

import (
	"errors"
	"strings"
	"syscall"
	"unicode/utf16"
)

// Windows hands a program one string, which it takes apart itself. Nearly all do so by
// the rules of CommandLineToArgvW; cmd.exe does not, and neither do batch files, which it
// runs.

// maxCommandLine is what CreateProcess takes, in UTF-16 units, with the NUL at the end.
const maxCommandLine = 32767

// errBatch: there is no way to write a batch file's arguments that it cannot be made to
// run something else by.
var errBatch = errors.New("direct: a batch file must be run by cmd.exe")

// commandLine writes arguments down so that the program at path gets them as they are.
// The error is errBatch, or E2BIG.
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
			// With /s it takes off the first and the last quote, and leaves what is
			// between them alone: that is a line, and no argument.
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

// quote writes one argument: in quotes where it is empty or has blanks in it, with a
// backslash before each quote, and with backslashes doubled that stand before one.
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

// environmentBlock is an environment as CreateProcess takes it: each variable with a NUL
// behind it, and one more. One with a NUL in it is left out.
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
