package keeper

import (
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// For every program of this system, the result is the same as that of the library for such files.
func TestELFInterpreter(t *testing.T) {
	files, err := filepath.Glob("/usr/bin/[a-m]*")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range append(files, self) {
		image, err := elf.Open(name)
		if err != nil {
			continue // a script, or another file that is not a program
		}
		want := ""
		for _, p := range image.Progs {
			if p.Type == elf.PT_INTERP {
				text, err := io.ReadAll(p.Open())
				if err != nil {
					t.Fatal(err)
				}
				want = strings.TrimRight(string(text), "\x00")
			}
		}
		_ = image.Close() // It was only read.
		if got := interpreterOf(t, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		seen++
	}
	if seen == 0 {
		t.Error("there is no program to look at")
	}
}

// Headers that refer to more data than the file has, of each kind, yield no interpreter.
func TestELFInterpreterMalformed(t *testing.T) {
	for class := range byte(4) {
		for order := range byte(4) {
			for _, fill := range []byte{0, 1, 0x7f, 0xff} {
				head := append([]byte("\x7fELF"), class, order)
				for len(head) < 256 {
					head = append(head, fill)
				}
				for _, n := range []int{6, 63, 64, 120, 256} {
					name := filepath.Join(t.TempDir(), "program")
					if err := os.WriteFile(name, head[:n], 0o600); err != nil {
						t.Fatal(err)
					}
					if got := interpreterOf(t, name); got != strings.Repeat(string([]byte{fill}), len(got)) {
						t.Errorf("class %d, order %d, %d times %#x: %q", class, order, n, fill, got)
					}
				}
			}
		}
	}
}

func interpreterOf(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	return namedInterpreter(f)
}
