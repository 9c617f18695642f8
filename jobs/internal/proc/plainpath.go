package proc

import "strings"

// plainPath removes the prefix that Windows puts before the path that it returns for a handle: \\?\C:\x becomes C:\x,
// and \\?\UNC\server\share becomes \\server\share.
func plainPath(path string) string {
	if rest, ok := strings.CutPrefix(path, `\\?\UNC\`); ok {
		return `\\` + rest
	}
	return strings.TrimPrefix(path, `\\?\`)
}
