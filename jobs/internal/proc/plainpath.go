package proc

import "strings"

// plainPath takes off a path what Windows puts before it where it is told by the handle
// of a file: \\?\C:\x is C:\x, and \\?\UNC\server\share is \\server\share.
func plainPath(path string) string {
	if rest, ok := strings.CutPrefix(path, `\\?\UNC\`); ok {
		return `\\` + rest
	}
	return strings.TrimPrefix(path, `\\?\`)
}
