package keeper

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// missingInterpreter explains ENOENT for a file that exists: what the kernel did
// not find is the interpreter that the file names. It returns "" for any other
// cause.
func missingInterpreter(path, dir string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	// Whatever it is now, opening must not wait for it.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	interpreter := namedInterpreter(f)
	if interpreter == "" {
		return ""
	}
	at := interpreter
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if _, err := os.Stat(at); !os.IsNotExist(err) {
		return ""
	}
	return interpreter
}

// namedInterpreter reads the #! line, or the program interpreter of an ELF file.
func namedInterpreter(f *os.File) string {
	head := make([]byte, 256) // as much as the kernel looks at
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	if rest, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ := strings.Cut(string(rest), "\n")
		if fields := strings.Fields(line); len(fields) > 0 {
			return strings.TrimRight(fields[0], "\x00")
		}
		return ""
	}
	image, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	for _, prog := range image.Progs {
		if prog.Type == elf.PT_INTERP {
			name, _ := io.ReadAll(io.LimitReader(prog.Open(), unix.PathMax))
			return string(bytes.TrimRight(name, "\x00"))
		}
	}
	return ""
}
