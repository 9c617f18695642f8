package proc

import (
	"os"
	"path/filepath"
	"testing"
)

// The counts are numbers in two files. If a file has no number, Terminals returns an error.
func TestTerminals(t *testing.T) {
	for _, c := range []struct {
		nr, max string
		inUse   int
		most    int
		ok      bool
	}{
		{"7\n", "4096\n", 7, 4096, true},
		{"0", "1048576\n", 0, 1048576, true},
		{"", "4096\n", 0, 0, false},
		{"7\n", "many\n", 0, 0, false},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"nr": c.nr, "max": c.max} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		inUse, most, err := Terminals(dir)
		if (err == nil) != c.ok || c.ok && (inUse != c.inUse || most != c.most) {
			t.Errorf("%q of %q: %d, %d, %v", c.nr, c.max, inUse, most, err)
		}
	}
	if _, _, err := Terminals(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := os.Stat(TerminalCounts); os.IsNotExist(err) {
		t.Skipf("this system has no %s", TerminalCounts)
	}
	if inUse, most, err := Terminals(TerminalCounts); err != nil || inUse < 0 || most <= 0 {
		t.Errorf("this machine: %d of %d, %v", inUse, most, err)
	}
}
