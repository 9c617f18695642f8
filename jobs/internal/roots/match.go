package roots

import (
	"path"
	"runtime"
	"slices"
	"strings"
)

// Allows reports whether an entry of an allow list names a root. A name without a slash only matches that word: git
// does not allow ./git, which is another program. An entry with a slash only matches that path, in the same spelling.
func Allows(entry, root string) bool { return entry != "" && entry == root }

// Denies reports whether an entry of a deny list names a root. A name without a slash denies every path that ends in
// it. A path denies the bare word, by which a shell may find it, and each path with the same last name that may lead
// there: all except an absolute path that is different.
func Denies(entry, root string) bool {
	entry, root = folded(entry), folded(root)
	switch {
	case entry == "":
		return false
	case !strings.Contains(entry, "/"):
		return path.Base(root) == entry
	case !strings.Contains(root, "/"):
		return path.Base(entry) == root
	}
	if !fixed(entry) || !fixed(root) {
		return path.Base(path.Clean(entry)) == path.Base(path.Clean(root))
	}
	return path.Clean(entry) == path.Clean(root)
}

// fixed reports whether a path leads to the same file from every directory, if no links are followed: after a link, ..
// is another directory.
func fixed(name string) bool {
	volume := runtime.GOOS == "windows" && len(name) > 2 && name[1:3] == ":/"
	return (volume || path.IsAbs(name)) && !slices.Contains(strings.Split(name, "/"), "..")
}

// MovesDirectory reports whether a root may run other commands in another directory: a relative path among them need
// not be relative to the directory in which the line starts.
func MovesDirectory(root string) bool {
	return slices.Contains([]string{"cd", "chdir", "pushd", "popd", "env", "genv", "sudo", "su", "unshare", "nsenter", "find", "gfind", "fd", "fdfind"}, base(root))
}

// NotAllowed returns the first root that no entry allows.
func (f Found) NotAllowed(entries []string) (root string, found bool) {
	for _, root := range f.Roots {
		if !named(entries, root, Allows) {
			return root, true
		}
	}
	return "", false
}

// Denied returns the first root that an entry denies.
func (f Found) Denied(entries []string) (root string, found bool) {
	for _, root := range f.Roots {
		if named(entries, root, Denies) {
			return root, true
		}
	}
	return "", false
}

func named(entries []string, root string, names func(entry, root string) bool) bool {
	for _, entry := range entries {
		if names(entry, root) {
			return true
		}
	}
	return false
}

// folded returns a name in the form in which case-insensitive file systems compare it.
func folded(name string) string {
	switch runtime.GOOS {
	case "windows":
		name = strings.ReplaceAll(name, `\`, "/")
		if dir, file := path.Split(name); file != "" {
			name = dir + base(strings.ToLower(file))
		}
		return strings.ToLower(name)
	case "darwin":
		return strings.ToLower(name)
	}
	return name
}
