package conformance

import (
	"os"
	"path/filepath"
	"strings"
)

// pathsFromHere makes those arguments absolute that name a file relative to the current directory, such as the
// script of an interpreter: the server runs in another directory. A word without separator and dot is unchanged,
// even if a file has that name.
func pathsFromHere(args []string) []string {
	paths := make([]string, len(args))
	for i, arg := range args {
		paths[i] = arg
		if strings.HasPrefix(arg, "-") || !strings.ContainsAny(arg, "."+string(os.PathSeparator)) {
			continue
		}
		info, err := os.Stat(arg)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if path, err := filepath.Abs(arg); err == nil {
			paths[i] = path
		}
	}
	return paths
}
