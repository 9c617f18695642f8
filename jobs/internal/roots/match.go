package roots

import (
	"path"
	"runtime"
	"slices"
	"strings"
)

// Allows says whether an entry of a list of what is allowed names a root. A name
// without a slash is that of a word alone: git does not allow ./git, which is another
// program. An entry with a slash is that path and no other way to write it.
func Allows(entry, root string) bool { return entry != "" && entry == root }

// Denies says whether an entry of a list of what is denied names a root. A name
// without a slash denies every path that ends in it. A path denies the bare word, by which a shell may find
// it, and each path of the same last name that may lead there: all but an absolute one that is another path.
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

// fixed reports whether a path leads to the same place from every directory, as far as no links are followed:
// behind a link, .. is another directory.
func fixed(name string) bool {
	volume := runtime.GOOS == "windows" && len(name) > 2 && name[1:3] == ":/"
	return (volume || path.IsAbs(name)) && !slices.Contains(strings.Split(name, "/"), "..")
}

// MovesDirectory says whether a root may have others run in another directory: a relative path
// among them need not be that of the directory in which the line starts.
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

// folded is a name as file systems compare it that tell no large letters from
// small ones.
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
