//go:build linux

package conformance

import (
	"os"
	"path"
	"slices"
	"strings"
)

// directoryFaults are faults of a server that identifies directories only by their names.
var directoryFaults = []fault{
	{name: "resolves .. by name", word: "link/..", says: "expected|differs|no match", hooks: editRequest("job/run", func(params map[string]any) bool {
		cwd, _ := params["cwd"].(string)
		params["cwd"] = path.Clean(cwd)
		return strings.Contains(cwd, "/..") && path.Clean(cwd) == "."
	})},
	{name: "allows directories that do not exist", word: "allowedDirectories", says: "expected|is answered|error", hooks: editRequest("initialize", func(params map[string]any) bool {
		list, _ := params["allowedDirectories"].([]any)
		there := slices.DeleteFunc(slices.Clone(list), func(dir any) bool {
			name, _ := dir.(string)
			_, err := os.Stat(name)
			return path.IsAbs(name) && err != nil
		})
		if params["allowedDirectories"] = there; len(there) == 0 {
			delete(params, "allowedDirectories")
		}
		return len(there) < len(list)
	})},
	{name: "treats an empty allowedDirectories as absent", word: "allowedDirectories: []", says: "expected an error", hooks: editRequest("initialize", func(params map[string]any) bool {
		list, given := params["allowedDirectories"].([]any)
		delete(params, "allowedDirectories")
		return given && len(list) == 0
	})},
	{name: "ignores a misspelt restriction", word: "allowComands", says: "expected an error", hooks: editRequest("initialize", func(params map[string]any) bool {
		options, _ := params["options"].(map[string]any)
		_, misspelt := options["allowComands"]
		delete(options, "allowComands")
		return misspelt
	})},
	{name: "omits the restrictions", word: "policy: {", says: "/policy: expected", hooks: inside("result", result("initialize"), unset("policy"))},
	{name: "reports ask although the client cannot be asked", word: "policy: {", says: "/policy/confirm/start: expected", hooks: inside("result", result("initialize"), func(r map[string]any) {
		if confirm, ok := r["policy"].(map[string]any)["confirm"].(map[string]any); ok {
			confirm["start"] = "ask"
		}
	})},
	{name: "omits the ignored members", word: "warnings: [", says: "/warnings: expected", hooks: inside("result", result("initialize"), unset("warnings"))},
}
