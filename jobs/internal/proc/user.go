package proc

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// userShell returns the shell of a user from a list like /etc/passwd, or "" if the user is not in it.
func userShell(file string, uid int) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(uid) {
			return strings.TrimSpace(fields[6])
		}
	}
	return ""
}
