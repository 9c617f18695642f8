//go:build unix

package names

import "testing"

func TestSignalAdvice(t *testing.T) {
	for full, want := range map[string]string{
		"SIGTRM":  `; did you mean "SIGTERM"?`,
		"SIGKLIL": `; did you mean "SIGKILL"?`,
		"SIG9":    `; did you mean "SIGKILL"?`,
		"SIG999":  "",
		"SIGFOO":  "",
		"SIG":     "",
	} {
		if got := SignalAdvice(full); got != want {
			t.Errorf("%s: %q, not %q", full, got, want)
		}
	}
}
