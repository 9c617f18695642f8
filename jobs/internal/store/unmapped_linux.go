package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// isUnmapped says whether a user is one of those who have no number in this user namespace,
// as in a sandbox or a container without root: there what belongs to the machine's root looks
// like nobody's, /home and often / itself among it. All of them look alike. Where somebody
// has that number himself, as in a container to which 65536 numbers were given, it is his.
func isUnmapped(uid uint32) bool {
	overflow, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || strings.TrimSpace(string(overflow)) != strconv.FormatUint(uint64(uid), 10) {
		return false
	}
	mapped, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !isIn(string(mapped), uint64(uid))
}

// isIn says whether a map of numbers has this one. What cannot be read has all of them.
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

// isOfRoot says whether what belongs to a user without a number is in all likelihood the
// machine's root's, and not another user's: a directory that always is, or that something was
// mounted on; or a link. In a place such as /tmp nothing is.
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

// asMounted is how the system writes a path in a list of mounts.
var asMounted = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)

// isMountPoint says whether something was mounted there.
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
