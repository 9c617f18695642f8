package conformance

import (
	"os"
	"path/filepath"
	"strings"
)

// pathsFromHere makes those arguments absolute that name a file as seen from here, such as
// the script of an interpreter: the server has another directory. A word without separator
// and dot stays a word, although there may be a file of that name.
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
