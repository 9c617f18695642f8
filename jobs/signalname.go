package jobs

import (
	"strconv"
	"strings"
	"syscall"

	"shelld/jobs/internal/proc"
)

// signalAdvice suggests the signal that was probably meant by an unknown name. Its text continues the error message; ""
// if no signal is close. The name must begin with SIG and be in capitals.
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
