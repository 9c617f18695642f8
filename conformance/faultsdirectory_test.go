//go:build linux

package conformance

import (
	"os"
	"path"
	"slices"
	"strings"
)

// directoryFaults are those of a server that knows directories by their names alone.
var directoryFaults = []fault{
	{name: "takes .. off the name of a directory", word: "link/..", says: "expected|differs|no match", hooks: editRequest("job/run", func(params map[string]any) bool {
		cwd, _ := params["cwd"].(string)
		params["cwd"] = path.Clean(cwd)
		return strings.Contains(cwd, "/..") && path.Clean(cwd) == "."
	})},
	{name: "allows directories that are not there yet", word: "allowedDirectories", says: "expected|is answered|error", hooks: editRequest("initialize", func(params map[string]any) bool {
		list, _ := params["allowedDirectories"].([]any)
		there := slices.DeleteFunc(slices.Clone(list), func(dir any) bool {
			name, _ := dir.(string)
			_, err := os.Stat(name)
			return path.IsAbs(name) && err != nil
		})
		params["allowedDirectories"] = there
		return len(there) < len(list)
	})},
}
