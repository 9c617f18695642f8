package safedir

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// isUnmapped reports whether uid stands for users without a uid in this user namespace, as in a sandbox or a rootless
// container. There, files of the machine's root, such as /home and often /, appear to belong to the overflow uid
// (nobody), like the files of all other unmapped users. If the namespace maps that uid, as in a container that got
// 65536 uids, it is that of a real user, and isUnmapped returns false.
func isUnmapped(uid uint32) bool {
	overflow, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || strings.TrimSpace(string(overflow)) != strconv.FormatUint(uint64(uid), 10) {
		return false
	}
	mapped, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !isIn(string(mapped), uint64(uid))
}

// isIn reports whether a uid map contains a uid. If the map cannot be parsed, it returns true.
func isIn(mapped string, uid uint64) bool {
	for line := range strings.Lines(mapped) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return true
		}
		first, err := strconv.ParseUint(f[0], 10, 32)
		if err != nil {
			return true
		}
		count, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil || first <= uid && uid-first < count {
			return true
		}
	}
	return false
}

// rootsOwn are directories that belong to root on any machine.
var rootsOwn = []string{"/", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/run/user", "/srv", "/usr", "/var", "/var/home", "/var/lib"}

// isOfRoot reports whether a file of an unmapped user very likely belongs to the machine's root, and not to another
// user. This holds for directories that belong to root on any machine, for mount points and for symlinks, but not if
// the file or a directory above it has the sticky bit, such as /tmp.
func isOfRoot(path string, info fs.FileInfo) bool {
	if isLink := info.Mode()&fs.ModeSymlink != 0; !isLink && !slices.Contains(rootsOwn, path) && !isMountPoint(path) {
		return false
	}
	for info.Mode()&fs.ModeSticky == 0 {
		if path == "/" {
			return true
		}
		path = filepath.Dir(path)
		var err error
		if info, err = os.Lstat(path); err != nil {
			return false
		}
	}
	return false
}

// asMounted escapes a path as the kernel does in mountinfo.
var asMounted = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)

// isMountPoint reports whether a path is a mount point.
func isMountPoint(path string) bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	path = asMounted.Replace(path)
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == path {
			return true
		}
	}
	return false
}
