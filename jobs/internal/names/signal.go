package names

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"shelld.dev/shelld/jobs/internal/proc"
)

// Signals returns the names of the signals of this system, with SIG, sorted.
func Signals() []string {
	names := make([]string, 0, len(signals))
	for _, n := range signals {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// FindSignal returns the signal with a name, which must begin with SIG and be in capitals. ok is false if there is none.
func FindSignal(full string) (sig syscall.Signal, ok bool) {
	for sig, n := range signals {
		if n == full {
			return sig, true
		}
	}
	return 0, false
}

// Signal returns the name of a signal, with SIG. For a signal without a name it returns SIG and the number.
func Signal(sig syscall.Signal) string {
	if n := signals[sig]; n != "" {
		return n
	}
	return fmt.Sprintf("SIG%d", int(sig))
}

// SignalAdvice suggests the signal that was probably meant by an unknown name. Its text continues the error message; ""
// if no signal is close. The name must begin with SIG and be in capitals.
func SignalAdvice(full string) string {
	bare := strings.TrimPrefix(full, "SIG")
	if n, err := strconv.Atoi(bare); err == nil {
		if name, ok := signals[syscall.Signal(n)]; ok {
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
