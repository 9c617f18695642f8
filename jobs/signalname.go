package jobs

import (
	"strconv"
	"strings"
	"syscall"

	"shelld/jobs/internal/proc"
)

// signalAdvice is which signal may have been meant by a name that is none, to follow
// the word of it; "" where nobody knows. The name comes with SIG, in capitals.
func signalAdvice(full string) string {
	bare := strings.TrimPrefix(full, "SIG")
	if n, err := strconv.Atoi(bare); err == nil {
		if name, ok := signalNames[syscall.Signal(n)]; ok {
			return "; did you mean \"" + name + "\"?"
		}
		return ""
	}
	var names []string
	for _, name := range Signals() {
		names = append(names, strings.TrimPrefix(name, "SIG"))
	}
	if near := proc.Nearest(bare, names); near != "" {
		return "; did you mean \"SIG" + near + "\"?"
	}
	return ""
}
