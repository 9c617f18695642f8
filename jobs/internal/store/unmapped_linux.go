package store

import (
	"os"
	"strconv"
	"strings"
)

// isUnmapped says whether a user is one of those who have no number in this user namespace,
// as in a sandbox or a container without root: there what belongs to the machine's root looks
// like nobody's, /home and often / itself among it.
func isUnmapped(uid uint32) bool {
	overflow, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || strings.TrimSpace(string(overflow)) != strconv.FormatUint(uint64(uid), 10) {
		return false
	}
	mapped, err := os.ReadFile("/proc/self/uid_map")
	const all = "0 0 4294967295"
	return err == nil && strings.Join(strings.Fields(string(mapped)), " ") != all
}
